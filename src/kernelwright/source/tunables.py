"""The tunables of a source text, each with its position in the text.

It only reads; `rewrite.py` writes. One literal is one tunable, even if several launches use it. A literal whose uses
need different kinds of values is not a tunable.
"""

from __future__ import annotations

import ast
import functools
from dataclasses import dataclass, field

import msgspec

from kernelwright.source import parse as syntax
from kernelwright.source.bindings import names_in
from kernelwright.source.kernels import Kernel, LaunchCall, is_constexpr, read_kernels, read_launch
from kernelwright.source.names import (
    AUTOTUNE,
    DEFAULT_NUM_STAGES,
    DEFAULT_NUM_WARPS,
    NUM_STAGES_CHOICES,
    NUM_WARPS_CHOICES,
    Tunable,
    TunableKind,
    constexpr_choices,
    is_never_name,
    is_tunable_name,
    with_default,
)
from kernelwright.source.scopes import Origin, Reader, Scope

KEPT = 32
"""Number of sources whose AST is cached: a search writes many configs into the same few sources."""


@dataclass(frozen=True)
class Place:
    """A tunable and its node: the literal, or the launch that lacks the keyword `option`."""

    tunable: Tunable
    node: ast.Constant | ast.Call | None
    option: str | None = None


@dataclass
class Feed:
    """All uses of one literal."""

    origin: Origin
    key: str
    smallest: int = 1
    kinds: set[TunableKind] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    kernels: set[str] = field(default_factory=set)
    blocked: bool = False
    pipelined: bool = False
    """Whether it is the `num_stages` of a kernel that has a loop to pipeline."""


def find_tunables(source: str) -> tuple[Tunable, ...]:
    """The tunables of `source`, in source order; none where it does not parse."""
    reader = parse(source)
    return () if reader is None else tuple(place.tunable for place in find_places(reader))


def default_config(source: str) -> dict[str, int]:
    """The config of `source` as written. Kernels under `triton.autotune` have no key here."""
    return {tunable.key: tunable.default for tunable in find_tunables(source) if tunable.kind != "autotune"}


@functools.lru_cache(maxsize=KEPT)
def parse(source: str) -> Reader | None:
    """The analysed source; None where it is not Python (ValueError: null bytes or lone surrogates).

    The AST is shared between callers and must not be changed.
    """
    try:
        return Reader(syntax.parse(source))
    except (SyntaxError, ValueError):
        return None


@functools.lru_cache(maxsize=KEPT)
def find_places(reader: Reader) -> tuple[Place, ...]:
    """Every tunable with its position, in source order, with unique keys."""
    kernels = read_kernels(reader)
    launches = [launch for call, scope in reader.calls if (launch := read_launch(reader, kernels, call, scope))]
    feeds: dict[int, Feed] = {}
    places: list[Place] = []
    for launch in launches:
        if launch.kernel.autotuned is None and launch.kernel.computed is not None:
            places += read_options(reader, launch, feeds)
            read_constexprs(reader, launch, feeds)
    read_signatures(reader, kernels, launches, feeds)
    read_constants(reader, kernels, feeds)
    places += [place for feed in feeds.values() if (place := place_of(feed)) is not None]
    places += [place for kernel in kernels.values() if (place := autotune_place(reader, kernel)) is not None]
    return with_unique_keys(sorted(places, key=position))


def position(place: Place) -> tuple[int, int, str]:
    """The sort key of a place. Autotuned kernels, which are not rewritten, come last."""
    if place.node is None:
        return 1 << 30, 0, place.tunable.key
    if isinstance(place.node, ast.Call):
        return place.node.end_lineno or 0, place.node.end_col_offset or 0, place.tunable.key
    return place.node.lineno, place.node.col_offset, place.tunable.key


def with_unique_keys(places: list[Place]) -> tuple[Place, ...]:
    seen: dict[str, int] = {}
    unique: list[Place] = []
    for place in places:
        key = place.tunable.key
        seen[key] = count = seen.get(key, 0) + 1
        tunable = place.tunable
        if count > 1:
            tunable = msgspec.structs.replace(tunable, key=f"{key}#{count}")
        unique.append(Place(tunable, place.node, place.option))
    return tuple(unique)


# --- uses ---------------------------------------------------------------------------------------------------


def feed_of(feeds: dict[int, Feed], origin: Origin, key: str) -> Feed:
    return feeds.setdefault(id(origin.node), Feed(origin, origin.name or key))


def read_options(reader: Reader, launch: LaunchCall, feeds: dict[int, Feed]) -> list[Place]:
    """`num_warps` and `num_stages`: a written value feeds its literal; an absent one becomes a place for insertion."""
    kernel, absent = launch.kernel, []
    options: tuple[tuple[TunableKind, int, tuple[int, ...]], ...] = (
        ("num_warps", DEFAULT_NUM_WARPS, NUM_WARPS_CHOICES),
        ("num_stages", DEFAULT_NUM_STAGES, NUM_STAGES_CHOICES),
    )
    for option, default, choices in options:
        if option in kernel.parameters or option in (kernel.computed or ()):
            continue
        key = f"{kernel.name}.{option}"
        if option in launch.given:
            origin = reader.origin(launch.given[option], launch.scope)
            if origin is not None:
                feed = feed_of(feeds, origin, key)
                feed.kinds.add(option)
                feed.kernels.add(kernel.name)
                feed.pipelined = feed.pipelined or kernel.pipelined
        elif launch.given and not any(keyword.arg is None for keyword in launch.call.keywords):
            idle = option == "num_stages" and not kernel.pipelined
            tunable = Tunable(key=key, default=default, choices=choices, kind=option, idle=idle, kernels=(kernel.name,))
            absent.append(Place(tunable, launch.call, option))
    return absent


def read_constexprs(reader: Reader, launch: LaunchCall, feeds: dict[int, Feed]) -> None:
    """Reads the arguments of a launch for constexpr parameters into `feeds`."""
    kernel = launch.kernel
    for parameter in sorted((kernel.constexprs & launch.given.keys()) - (kernel.computed or frozenset())):
        for origin in origins(reader, launch.given[parameter], launch.scope):
            use_constexpr(feed_of(feeds, origin, f"{kernel.name}.{parameter}"), parameter, kernel)
            if repeats_in_grid(reader, launch, origin):
                feeds[id(origin.node)].blocked = True


def origins(reader: Reader, value: ast.expr, scope: Scope) -> list[Origin]:
    """The literals that a constexpr is computed from: a literal itself, or the named ones in `min`, `max` and `//`."""
    origin = reader.origin(value, scope)
    if origin is not None:
        return [origin]
    if isinstance(value, ast.Name):
        found = scope.value_of(value.id)
        if found is None:
            return []
        scope, value = found
    parts: list[ast.expr] = []
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in ("min", "max"):
        parts = value.args
    elif isinstance(value, ast.BinOp) and isinstance(value.op, ast.FloorDiv):
        parts = [value.left, value.right]
    return [found for part in parts for found in origins(reader, part, scope) if found.name is not None]


def read_signatures(
    reader: Reader, kernels: dict[str, Kernel], launches: list[LaunchCall], feeds: dict[int, Feed]
) -> None:
    """Reads defaults of constexpr parameters, where all launches are known and at least one uses the default."""
    called = {call.func.id for call, _ in reader.calls if isinstance(call.func, ast.Name)}
    for kernel in kernels.values():
        own = [launch for launch in launches if launch.kernel is kernel]
        if kernel.autotuned or kernel.computed is None or kernel.name in called or any(one.opaque for one in own):
            continue
        for parameter in sorted((kernel.constexprs & kernel.defaults.keys()) - kernel.computed):
            relying = [launch for launch in own if parameter not in launch.given]
            origin = reader.origin(kernel.defaults[parameter], reader.module)
            if origin is None or not relying:
                continue
            feed = feed_of(feeds, origin, f"{kernel.name}.{parameter}")
            use_constexpr(feed, parameter, kernel)
            feed.blocked = feed.blocked or any(repeats_in_grid(reader, launch, origin) for launch in relying)


def read_constants(reader: Reader, kernels: dict[str, Kernel], feeds: dict[int, Feed]) -> None:
    """Reads `NAME = tl.constexpr(64)` of the module and `NAME: tl.constexpr = 64` of a kernel, where a kernel uses
    them."""
    for use, scope, function in reader.uses:
        kernel = kernels.get(function.name) if function is not None else None
        if kernel is None or kernel.node is not function or kernel.autotuned:
            continue
        found = scope.value_of(use.id)
        if found is None:
            continue
        owner, value = found
        in_module = owner is reader.module
        wrapped = isinstance(value, ast.Call) and reader.is_triton(value.func, "constexpr") and in_module
        if not wrapped and not is_constexpr(reader.annotations.get(id(value)), reader.paths):
            continue
        origin = reader.origin(use, scope)
        if origin is not None:
            key = use.id if in_module else f"{kernel.name}.{use.id}"
            feed = feed_of(feeds, Origin(origin.node, origin.value, key), key)
            use_constexpr(feed, use.id, kernel)


def use_constexpr(feed: Feed, name: str, kernel: Kernel) -> None:
    feed.kinds.add("constexpr")
    feed.names.add(name)
    feed.kernels.add(kernel.name)
    feed.smallest = max(feed.smallest, kernel.smallest_block)


def repeats_in_grid(reader: Reader, launch: LaunchCall, origin: Origin) -> bool:
    """Whether the grid repeats the number as a literal instead of using its name."""
    grid = launch.grid
    if isinstance(grid, ast.Name) and (found := launch.scope.value_of(grid.id)) is not None:
        grid = found[1]
    if origin.value == 1 or origin.name in names_in(grid):
        return False
    return any(isinstance(part, ast.Constant) and part.value == origin.value for part in ast.walk(grid))


def autotune_place(reader: Reader, kernel: Kernel) -> Place | None:
    """The index of the `triton.autotune` config, where the configs are a literal list."""
    configs = autotune_list(reader, kernel)
    if configs is None:
        return None
    choices = tuple(range(len(configs.elts)))
    one = (kernel.name,)
    return Place(Tunable(key=AUTOTUNE + kernel.name, default=0, choices=choices, kind="autotune", kernels=one), None)


def autotune_list(reader: Reader, kernel: Kernel) -> ast.List | ast.Tuple | None:
    """The configs of `triton.autotune`; None where they are not a literal list."""
    configs = autotune_argument(kernel)
    if isinstance(configs, ast.Name) and (found := reader.module.value_of(configs.id)) is not None:
        configs = found[1]
    if not isinstance(configs, ast.List | ast.Tuple) or not configs.elts:
        return None
    return None if any(isinstance(element, ast.Starred) for element in configs.elts) else configs


def autotune_argument(kernel: Kernel) -> ast.expr | None:
    """The argument of `triton.autotune` with the configs; None where a kernel is not autotuned."""
    if kernel.autotuned is None:
        return None
    named = [keyword.value for keyword in kernel.autotuned.keywords if keyword.arg == "configs"]
    return next(iter(named + kernel.autotuned.args), None)


def place_of(feed: Feed) -> Place | None:
    """The tunable of a literal, from all its uses; None where it is not a tunable."""
    value = feed.origin.value
    if feed.blocked or len(feed.kinds) != 1:
        return None
    (kind,) = feed.kinds
    if kind == "num_warps":
        choices = with_default(NUM_WARPS_CHOICES, value) if 1 <= value <= 32 and not value & (value - 1) else ()
    elif kind == "num_stages":
        choices = with_default(NUM_STAGES_CHOICES, value) if 0 <= value <= 16 else ()
    else:
        names = tuple(sorted({*feed.names, *((feed.origin.name,) if feed.origin.name else ())}))
        bare = tuple(name.rsplit(".", 1)[-1] for name in names)
        allowed = any(map(is_tunable_name, bare)) and not any(map(is_never_name, bare))
        choices = constexpr_choices(bare, value, feed.smallest) if allowed else ()
    if not choices:
        return None
    idle = kind == "num_stages" and not feed.pipelined
    kernels = tuple(sorted(feed.kernels))
    tunable = Tunable(key=feed.key, default=value, choices=choices, kind=kind, idle=idle, kernels=kernels)
    return Place(tunable, feed.origin.node)
