"""Which parameter of the reference a candidate's ModelNew means by each of its own.

The recorder uses this module, and exported packages have a copy of it.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def as_argument(name: str) -> str:
    """A parameter's name as an argument of a function: `linear_weight` for "linear.weight", `_0_weight` for "0.weight",
    as `nn.Sequential` names it."""
    spelled = name.replace(".", "_")
    return spelled if spelled.isidentifier() and not keyword.iskeyword(spelled) else f"_{spelled}"


SPELLINGS: tuple[Callable[[str], str], ...] = (str, as_argument, lambda name: name.rpartition(".")[2])
"""Parameters with the same shape that are the same in one of these spellings belong together, earlier ones first: the
name, the name as an argument (`linear_weight`), and its last part (`weight`)."""


def matched(own: Mapping[str, tuple[int, ...]], given: Mapping[str, tuple[int, ...]]) -> dict[str, str]:
    """The reference's parameter for each of a candidate's, by name. own, given: the shapes of the candidate's and of
    the reference's parameters and buffers by name. Parameters without a unique match are left out."""
    found: dict[str, str] = {}
    for spelling in SPELLINGS:
        mine = [(spelling(name), shape, name) for name, shape in own.items() if name not in found]
        theirs = [(spelling(name), shape, name) for name, shape in given.items() if name not in found.values()]
        for *key, name in mine:
            same = [other for *known, other in theirs if known == key]
            if len(same) == 1 and sum(known == key for *known, _ in mine) == 1:
                found[name] = same[0]
    return found


def meant(own: Sequence[tuple[str, Any]], given: Mapping[str, tuple[int, ...]]) -> dict[str, str]:
    """The reference's parameter for each name of a candidate's: several names of one tensor mean the same, except those
    that the reference has, too. own: names and tensors. given: shapes by name."""
    known = {id(tensor): name for name, tensor in reversed(own) if name in given}
    parts = {name.rpartition(".")[2] for name in given}
    likely = sorted(own, key=lambda one: one[0].rpartition(".")[2] in parts)
    others = {id(tensor): name for name, tensor in likely if id(tensor) not in known}
    shapes = {name: tuple(tensor.shape) for name, tensor in own if name in others.values()}
    found = matched(shapes, {name: shape for name, shape in given.items() if name not in known.values()})
    known |= {number: found[name] for number, name in others.items() if name in found}
    return {name: name if name in given else known[id(tensor)] for name, tensor in own if id(tensor) in known}
