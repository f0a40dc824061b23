"""Construction of candidates from the code that Inductor generated for one problem at several sizes."""

from __future__ import annotations

import ast
import functools
import traceback
from ast import literal_eval
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from kernelwright import codec
from kernelwright.inductor.compare import Holes, compared, structure
from kernelwright.inductor.faults import NotConverted, UnknownText
from kernelwright.inductor.host import Host
from kernelwright.inductor.launches import Kernels
from kernelwright.inductor.left import whole_call
from kernelwright.inductor.offsets import guard
from kernelwright.inductor.products import WAYS, Way, is_splittable
from kernelwright.inductor.reading import Module, read_module
from kernelwright.inductor.sizes import Sizes
from kernelwright.model import Capture, Generated, LibraryMode, TensorSpec
from kernelwright.source.parameter_names import as_argument

IMPORTS = "import torch\nimport triton\nimport triton.language as tl"

LIBDEVICE = "from triton.language.extra import libdevice"
"""Where a kernel calls a function that `triton.language` does not have."""

HALF = ("float16", "bfloat16")

KEPT = 4
"""Number of conversions that are kept: of one run, and without its templates or of other sizes."""

CAPTURED_ONLY = "captured sizes only"
"""In the text of a candidate whose sizes are constants."""


def candidate_text(generated: Generated, library: LibraryMode = "any", split: bool = False) -> str:
    """The first of `candidate_texts`."""
    return candidate_texts(generated, library, split)[0]


def candidate_texts(generated: Generated, library: LibraryMode = "any", split: bool = False) -> list[str]:
    """The sources of candidates, the one that serves the most sizes first.

    The others are Inductor's variants for sizes that divide, which refuse all other sizes, reduce rows in one piece, or
    have Triton templates in place of library calls; after these come the same kernels with the other configs that
    Inductor would time. library: the library steps that the problem allows. Where products and convolutions are not
    allowed, or are the whole computation, only candidates with templates in their place are returned. split: whether
    templates come with split float32 products first, see `products`.
    Where the sizes do not agree, and the problem states one case only, its sizes become constants: all others are
    refused.
    Raises `NotConverted` where no code can be converted completely.
    """
    with _in_words(generated):
        return _texts(generated, library, split)


def library_call(generated: Generated) -> str | None:
    """The library calls that are the whole computation of the timed case, in words; None where kernels compute some of
    it. Raises `NotConverted`."""
    if not generated.captures:
        return None
    with _in_words(generated):
        return whole_call(read_module(generated.captures[0].text), generated.captures[0], generated.precision)


@contextmanager
def _in_words(generated: Generated) -> Iterator[None]:
    """Make `NotConverted` of every error inside, with the version of torch or the place in this package."""
    try:
        yield
    except UnknownText as error:
        raise NotConverted(f"{error}, in the text of torch {generated.torch}") from error
    except NotConverted:
        raise
    except Exception as error:  # the text is Inductor's own, in whatever form
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(frame.filename).name}:{frame.lineno}"
        raise NotConverted(
            f"text of torch {generated.torch} in an unknown form ({type(error).__name__}: {error}; {where})"
        ) from error


def _texts(generated: Generated, library: LibraryMode, split: bool) -> list[str]:
    """See `candidate_texts`."""
    if not generated.captures:
        raise NotConverted(generated.reason)
    made, call, failures = _conversions(codec.encode(generated), split)
    allowed = [one.texts for one in made if not one.library or (library == "any" and call is None)]
    if allowed:
        return list(dict.fromkeys([*(texts[0] for texts in allowed), *(one for texts in allowed for one in texts)]))
    if generated.is_only_case and len(generated.captures) > 1:
        first = {"captures": generated.captures[:1], "templates": generated.templates[:1], "rows": ()}
        return _texts(msgspec.structs.replace(generated, **first), library, split)
    fault = f"; {generated.reason}" if generated.reason else ""
    if call is not None:
        why = f": {failures[0]}" if failures else fault
        raise NotConverted(f"{call}, and there is no Triton template in its place{why}")
    if failures:
        raise failures[0]
    called = list(dict.fromkeys(made[0].library))
    needs = "needs" if len(called) == 1 else "need"
    raise NotConverted(f"it calls {', '.join(called)}, which {needs} LIBRARY = 'any' (--library any){fault}")


@functools.lru_cache(maxsize=KEPT)
def _conversions(generated_text: bytes, split: bool) -> tuple[list[_Made], str | None, list[NotConverted]]:
    """Everything that can be converted, the library calls that are the whole computation, and what failed.

    A run asks several times: before it begins, for each of its first kernels, and at its end for mode `any`."""
    generated = codec.decode(generated_text, Generated)
    timed = generated.captures[0]
    call = whole_call(read_module(timed.text), timed, generated.precision)
    made: list[_Made] = []
    failures: list[NotConverted] = []

    def convert(captures: Sequence[Capture], *ways: Way | None) -> None:
        try:
            for way in ways:
                made.extend(_converted(generated, captures, way))
        except NotConverted as failure:
            failures.append(failure)

    if call is None:
        convert(generated.captures, None)
    if made and generated.rows:
        with suppress(NotConverted):
            made += _converted(generated, generated.rows)
    if generated.templates:
        convert(generated.templates, *(WAYS if split and is_splittable(generated) else ()), None)
    return made, call, failures


def _converted(generated: Generated, captures: Sequence[Capture], way: Way | None = None) -> list[_Made]:
    """A candidate for each code structure that several captures share, the one that serves the most sizes first.
    way: to split products; None: exact products."""
    modules = [read_module(one.text) for one in captures]
    alike: dict[str, list[int]] = {}
    for number, module in enumerate(modules):
        alike.setdefault(structure(module), []).append(number)
    if all(len(group) == 1 for group in alike.values()) and len(modules) > 1:
        raise NotConverted("the generated code has another structure at every size")
    found: list[_Made] = []
    failed: list[NotConverted] = []
    for group in sorted(alike.values(), key=len, reverse=True):
        if len(group) == 1 and len(modules) > 1:
            continue
        try:
            kept = tuple(captures[number] for number in group)
            others = [one for number, one in enumerate(captures) if number not in group]
            found.append(_candidate(generated, kept, [modules[number] for number in group], captures[0], way, others))
        except NotConverted as reason:
            failed.insert(0 if 0 in group else len(failed), reason)  # that of the timed case's structure first
    if not found:
        raise failed[0]
    # Inductor may omit masks where a size is a round number or a multiple of another: fewest restrictions first.
    return sorted(found, key=lambda made: made.restrictions)


@dataclass(frozen=True)
class _Made:
    """A converted candidate. texts: with each config. restrictions: number of sizes that the host code restricts.
    library: operators of its library steps."""

    texts: list[str]
    restrictions: int
    library: list[str]


def _candidate(
    generated: Generated, captures: Sequence[Capture], modules: Sequence[Module], timed: Capture, way: Way | None,
    others: Sequence[Capture],
) -> _Made:  # fmt: skip
    """captures: those with the same code structure; others: with another. timed: the capture of the timed case, which
    may have another structure."""
    module, holes = compared(modules)
    first = captures[0]
    if len(module.arguments) != len(first.names):
        raise NotConverted(f"the module takes {len(module.arguments)} tensors, and forward has {len(first.names)}")
    names = [as_argument(name) for name in first.names]
    tensors = dict(zip(names, zip(*(one.tensors for one in captures), strict=True), strict=True))
    inputs = [as_argument(name) for name, _ in generated.inputs]
    read = {one.id for step in module.steps for one in ast.walk(step) if isinstance(one, ast.Name)}
    used = [name for name, own in zip(names, module.arguments, strict=True) if own in read]
    if not used:
        raise NotConverted("it reads no argument")
    dense = [_dense(name, tensors[name][0]) for name in used]
    constants = {n.value for tree in (*module.steps, *(k.main for k in module.kernels.values()))
                 for n in ast.walk(tree) if isinstance(n, ast.Constant) and type(n.value) is int}  # fmt: skip
    shapes = {name: [one.shape for one in tensors[name]] for name in used}
    elsewhere = [(dict(zip(names, (one.shape for one in other.tensors), strict=True)), other.outputs)
                 for other in others]  # fmt: skip
    results, splits = [one.outputs for one in captures], [one.splits for one in captures]
    sizes = Sizes(shapes, [one.numbers for one in captures], constants, results, elsewhere, splits)
    wanted = dict(zip(names, timed.tensors, strict=True))
    if not sizes.serve({name: wanted[name].shape for name in used}):
        raise NotConverted("the kernels that several sizes share do not serve the timed case")
    found = sizes.solve(_needed(module, holes))
    half = next((name for name in used if tensors[name][0].dtype in HALF), None)
    dtypes = {f"torch.{tensors[half][0].dtype}": f"{half}.dtype"} if half else {}
    renamed = dict(zip(module.arguments, names, strict=True))
    dimensions = {own: sizes.dimensions[name] for own, name in renamed.items() if name in used}
    device, returns = f"{used[0]}.device", literal_eval(generated.returns) if generated.returns else None
    host = Host(module, holes, found, renamed, dimensions, dtypes, device, len(captures), returns)
    host.convert(module.steps)
    spelled = {hole: sizes.spelled(text) for hole, text in found.items()}
    kernels = Kernels(host, holes, spelled, _configs(first, timed), way)
    arguments = literal_eval(generated.arguments) if generated.arguments else inputs
    signature = [*arguments, *(name for name in used if name not in inputs)]
    functions, after = kernels.functions, _main(generated, signature, dense, sizes, host)
    before = [_header(generated.torch, len(captures), host, functions), *functions]
    made = ["\n\n\n".join(part for part in (*before, one, after) if part) + "\n" for one in kernels.tunables]
    return _Made(made, sizes.restrictions, host.library)


def _dense(name: str, spec: TensorSpec) -> str:
    """Host code that gives an input the captured strides, which are dense in some order of its sides."""
    order = sorted(range(len(spec.shape)), key=lambda side: -spec.stride[side])
    expected = 1
    for side in reversed(order):
        if spec.shape[side] != 1 and spec.stride[side] != expected:
            raise NotConverted(f"the input {name} has strides {spec.stride}")
        expected *= spec.shape[side]
    long = [side for side in order if spec.shape[side] != 1]
    if long == sorted(long):
        return f"{name} = {name}.contiguous()"
    back = [order.index(side) for side in range(len(order))]
    return f"{name} = {name}.permute({', '.join(map(str, order))}).contiguous().permute({', '.join(map(str, back))})"


def _configs(first: Capture, timed: Capture) -> dict[str, Sequence[Mapping[str, int]]]:
    """Configs of the timed case, by kernel; the first's where the kernel of that name has other blocks there."""
    found: dict[str, Sequence[Mapping[str, int]]] = {}
    for name, own in first.configs.items():
        listed = timed.configs.get(name, own)
        found[name] = listed if listed[0].keys() == own[0].keys() else own
    return found


def _needed(module: Module, holes: Holes) -> dict[str, tuple[int | float, ...]]:
    """The holes that must become expressions. Not needed are the widths of persistent reductions, which follow from
    extents, and strides along sides of length 1."""
    nodes: list[ast.AST] = [*module.shapes.values()]
    for step in module.steps:
        match step:
            case ast.Assign(value=ast.Call(func=ast.Name(id="empty_strided_cuda"), args=[shape, stride, _])):
                lengths = shape.elts if isinstance(shape, ast.Tuple) else []
                nodes += [shape]
                # The stride of a side of length 1 is arbitrary; other strides are products of known lengths.
                if isinstance(stride, ast.Tuple):
                    nodes += [s for n, s in zip(lengths, stride.elts, strict=True) if ast.unparse(n) != "1"]
            case _:
                nodes.append(step)
    for kernel in module.kernels.values():
        nodes += [*kernel.grid, *(one for one in kernel.main.body if not isinstance(one, ast.AnnAssign))]
    used = {one.id for node in nodes for one in ast.walk(node) if isinstance(one, ast.Name)}
    return {name: values for name, values in holes.values.items() if name in used}


def _header(torch: str, sizes: int, host: Host, functions: Sequence[str]) -> str:
    """torch: its version. sizes: how many were compared."""
    more = f"\n{LIBDEVICE}" if any("libdevice." in one for one in functions) else ""
    library = f" Library steps: {', '.join(dict.fromkeys(host.library))}." if host.library else ""
    compared = (
        "Their texts at several sizes were compared: numbers that follow from shapes are computed, and sizes\n"
        "that they do not serve are refused."
    )
    return (
        f'"""Converted from the kernels that torch.compile of torch {torch} generates for the reference.\n\n'
        f'{compared if sizes > 1 else f"They serve the {CAPTURED_ONLY}: all others are refused."}{library}\n"""\n\n'
        f"{IMPORTS}{more}"
    )


def _reads(structure: Any, read: str = "") -> list[str]:
    """Expressions that read the leaves of nested arguments, in order. structure: of all arguments, by name."""
    if isinstance(structure, int):
        return [read]
    items = structure.items() if isinstance(structure, dict) else enumerate(structure)
    return [leaf for key, one in items for leaf in _reads(one, f"{read}[{key!r}]" if read else str(key))]


def _main(generated: Generated, signature: list[str], dense: list[str], sizes: Sizes, host: Host) -> str:
    lines, guarded = [], guard(host.reached)
    inputs = [(as_argument(name), literal) for name, literal in generated.inputs]
    if generated.arguments:
        reads = _reads(literal_eval(generated.arguments))
        lines += [f"{name} = {read}" for (name, _), read in zip(inputs, reads, strict=True) if name != read]
    for name, literal in inputs:
        if literal is not None:
            test = f"{name} is not {literal}" if literal in ("None", "True", "False") else f"{name} != {literal}"
            lines += [
                f"if {test}:",
                f'    raise ValueError("the kernels are generated for {name} = {literal.replace(chr(34), "")}")',
            ]
    lines += sizes.lines("\n".join([*guarded, *host.lines]))
    lines += guarded
    lines += dense
    body = "\n    ".join([*lines, *host.lines])
    return f"def kernel_function({', '.join(signature)}):\n    {body}"
