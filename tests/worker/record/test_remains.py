"""What outlives a call: a candidate that changes none of it is recorded, whatever the first call made."""

from __future__ import annotations

import array
import sys
import types
from collections import OrderedDict
from importlib.machinery import ModuleSpec
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
import triton
from torch import nn

from kernelwright.worker.record.remains import Remains
from kernelwright.worker.record.trace import Refused
from recorded import HEAD, plan_of


class Holder:
    """Something with attributes."""

    def __init__(self, held: Any) -> None:
        self.held = held


@pytest.mark.parametrize(
    "held",
    [(1, "a"), [1, [2]], {"a": {"b": {3}}}, Holder([1]), nn.Linear(2, 2), lambda: 1, torch.Generator(), bytearray(2)],
)
def test_what_is_only_read_is_the_same(held: object) -> None:
    Remains(held).refuse_changed(Remains(held))


class Unfolding(types.ModuleType):
    """A module that makes its dict anew each time it is asked for it. After a hundred all are let go."""

    made: ClassVar[list[dict[str, Any]]] = []

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        if len(self.made) == 100:
            self.made.clear()
        self.made.append({"name": 1})
        return self.made[-1]


def test_a_dict_that_a_module_made_for_the_asking_hides_no_dict_that_takes_its_place_in_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held = [Holder([n]) for n in range(100)]
    with monkeypatch.context() as patched:
        patched.setattr(sys, "modules", {f"unfolding_{n}": Unfolding("unfolding") for n in range(101)})
        before = Remains(held)
    assert all(id(one.held) in before.found for one in held)
    before.refuse_changed(Remains(held))


def grow_list(held: Any) -> None:
    held[0][0].append(1)


def write_attribute(held: Any) -> None:
    held[1].held += 1


def write_bytes(held: Any) -> None:
    held[2][0] += 1


def reseed(held: Any) -> None:
    held[3].manual_seed(7)


def flag(held: Any) -> None:
    held[4].weight.requires_grad_(False)


def add_module(held: Any) -> None:
    held[4].add_module("another", nn.Identity())


def patch(held: Any) -> None:
    held[5].mark = 1


def reorder(held: Any) -> None:
    held[6].move_to_end("a")


def convert(held: Any) -> None:
    held[4].to(torch.float16)


CHANGES = [grow_list, write_attribute, write_bytes, reseed, flag, add_module, patch, reorder, convert]


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_found_wherever_it_is(change: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nn, "mark", 0, raising=False)
    held = ([[0]], Holder(1 << 70), bytearray(1), torch.Generator().manual_seed(3), nn.Linear(1, 1), nn,
            OrderedDict(a=1, b=2))  # fmt: skip
    before = Remains(held)
    change(held)
    with pytest.raises(Refused, match="the second call changed an object that outlives it"):
        before.refuse_changed(Remains(held))


def test_arrays_are_compared_by_their_bytes_and_may_hold_no_objects() -> None:
    held = array.array("d", [0.0, 1.0])
    before = Remains(held)
    before.refuse_changed(Remains(held))
    held[1] = 2.0
    with pytest.raises(Refused, match="the second call changed an object"):
        before.refuse_changed(Remains(held))
    with pytest.raises(Refused, match="ndarray of objects could keep results"):
        Remains(np.array([held], dtype=object))


def test_a_function_of_the_candidate_that_says_it_is_another_s_is_looked_into(monkeypatch: pytest.MonkeyPatch) -> None:
    candidate = types.ModuleType("candidate")
    monkeypatch.setitem(sys.modules, "candidate", candidate)
    exec("def made(held):\n    def own():\n        return held\n    return own", vars(candidate))
    held: list[int] = []
    own = candidate.made(held)
    own.__module__ = "torch"
    before = Remains(own)
    held.append(1)
    with pytest.raises(Refused):
        before.refuse_changed(Remains(own))


def test_a_number_that_takes_the_place_of_another_in_memory_is_found() -> None:
    held = [1 << 70]
    for _ in range(50):
        before = Remains(held)
        held[0] += 1
        held[0] += 1
        with pytest.raises(Refused):
            before.refuse_changed(Remains(held))


def test_what_other_modules_hold_is_not_looked_at() -> None:
    found = [one for one, _, _ in Remains(triton.cdiv, nn, nn.Linear).found.values()]
    assert triton.cdiv in found
    assert not {id(vars(nn)["Linear"].forward), id(triton.cdiv.fn.__globals__["jit"])} & set(map(id, found))


def test_an_allocator_imported_by_its_name_may_be_set_in_each_call() -> None:
    call = "set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device='cuda'))\n"
    x = torch.empty(4)
    assert plan_of(
        HEAD + "from triton import set_allocator\n\n\ndef kernel_function(x):\n"
        f"    {call}    y = torch.empty_like(x)\n    copy[(1,)](x, y, 4, BLOCK=4)\n    return y\n", {"x": x}
    ).launches  # fmt: skip


def test_what_python_notes_of_an_import_is_not_the_candidate_s() -> None:
    module = types.ModuleType("candidate")
    module.__spec__ = spec = ModuleSpec("candidate", None, origin="candidate.py")
    spec.has_location = True
    before, noted = Remains(vars(module)), dict(vars(spec))
    assert spec.cached is not None
    assert vars(spec) != noted
    before.refuse_changed(Remains(vars(module)))


def test_an_iterator_is_refused() -> None:
    with pytest.raises(Refused, match="an iterator keeps its place"):
        Remains(Holder([iter((1, 2))]))
