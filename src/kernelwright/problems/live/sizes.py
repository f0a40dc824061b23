"""Finds which sizes of a written problem can vary alone and which only together, by running it with other sizes.

A size is a dimension of an input, or a number that the live module's constructor takes. Sizes of one are not varied:
they broadcast.
"""

from __future__ import annotations

import contextlib
import copy
import importlib
import inspect
import operator
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kernelwright.errors import ProblemError
from kernelwright.problems.live.compare import said
from kernelwright.problems.live.inputs import Place, places_of

Size = Place | str
"""A size of an input by its place, or a number of the constructor by its name."""

MOST_REAL_ELEMENTS = 1 << 22
"""Elements of inputs and parameters with which a problem is run on real tensors; a larger one is run on fake ones."""


def constructor_of(module: Any, given: Mapping[str, Any], differs: Callable[[Any], str]) -> dict[str, Any]:
    """Arguments with which the module's class makes the same module again: those in `given`, and attributes of their
    names; none if these do not. differs: how another module's answer differs. Raises `ProblemError` where that makes
    arguments in `given` useless."""
    found: dict[str, Any] = {}
    try:
        for name, parameter in inspect.signature(type(module)).parameters.items():
            value = getattr(module, name, parameter.default)
            is_flag = isinstance(parameter.default, bool) and not isinstance(value, bool)  # bias=True
            found |= {} if value is parameter.empty else {name: value is not None if is_flag else value}
        with sys.modules["torch"].random.fork_rng(devices=[]):
            made = type(module)(**copy.deepcopy(found | dict(given)))
        state = module.state_dict()
        for name, one in made.state_dict(keep_vars=True).items():
            one.data = one.data.to(state[name])
        made.load_state_dict(state)
        why = differs(made)
    except Exception as error:  # noqa: BLE001 - the class is of the caller's program and may raise anything
        why = said(error)
    if why and given:
        raise ProblemError(f"{type(module).__name__} does not give this module again: {why}", "change arguments={…}")
    return {} if why else found | dict(given)


def numbers_of(arguments: Mapping[str, Any]) -> dict[str, int]:
    """The arguments that are sizes."""
    return {name: value for name, value in arguments.items() if type(value) is int and value > 1}


def tied_names(found: Mapping[str, Any], tensors: Mapping[str, Any], numbers: Mapping[str, int]) -> dict[Place, str]:
    """The names of the sizes that can vary, by place; a place that cannot has none. Places of one name vary together,
    and with the constructor's number where it is a name of `numbers`.

    Sizes of one value are tied only if one of them cannot vary alone: the module fails, or a size of an output falls as
    it grows. found: what the written problem defines, with the names of `places_of`.
    """
    torch, own = sys.modules["torch"], places_of(tensors)
    sizes: dict[Size, int] = {(name, dim): int(tensors[name].shape[dim]) for name, dim in own}
    sizes.update(numbers)
    models: dict[tuple[int, ...], Any] = {}
    fakes: Any = contextlib.nullcontext()
    held = found["Model"]().parameters()
    if sum(one.numel() for one in (*tensors.values(), *held)) > MOST_REAL_ELEMENTS:
        fakes = importlib.import_module("torch._subclasses.fake_tensor").FakeTensorMode(allow_non_fake_inputs=True)

    def outputs(group: Sequence[Size], size: int) -> list[int] | None:
        """The sizes of the outputs with another size in these places; None if the module fails."""
        init = tuple(size if name in group else value for name, value in numbers.items())
        with contextlib.suppress(Exception), torch.no_grad(), fakes:
            if init not in models:
                models[init] = found["Model"](*init).eval()
            given = found["get_inputs"](**{own[one]: size for one in group if isinstance(one, tuple)})
            result = models[init](*given)
            return [int(size) for one in (result if isinstance(result, tuple) else (result,)) for size in one.shape]
        return None

    def varies(group: Sequence[Size]) -> bool:
        """Whether the module takes double and half of a size."""
        size = sizes[group[0]]
        for other, follows in ((size * 2, operator.ge), (size // 2, operator.le)):
            made = outputs(group, other) if other > 1 else base  # a size of one would broadcast
            if made is None or len(made) != len(base) or not all(map(follows, made, base)):
                return False
        return True

    base = outputs((), 0) or []
    groups: list[set[Size]] = []
    for place in own:
        if any(place in group for group in groups):
            continue
        others = [one for one, size in sizes.items() if size == sizes[place] and one != place]
        tried: list[list[Size]] = [[place], *[[place, one] for one in others], [place, *others]]
        group = next((one for one in tried if varies(one)), [])
        for unit in [*groups, *({one} for one in others)] if len(group) > 2 else ():
            fewer = [one for one in group if one not in unit]
            group = fewer if len(fewer) < len(group) and varies(fewer) else group
        joined = [one for one in groups if one & {*group}]
        groups = [one for one in groups if one not in joined] + [{*group}.union(*joined)]
    known = [[*(one for one in numbers if one in tied), *(own[one] for one in own if one in tied)] for tied in groups]
    return {place: names[0] for place in own for tied, names in zip(groups, known, strict=True) if place in tied}
