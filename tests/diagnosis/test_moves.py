"""Every move is Triton, and every limit that something can be done about has moves."""

from __future__ import annotations

import ast

import pytest

from kernelwright.diagnosis import MOVES, move, moves_against
from kernelwright.diagnosis.moves import Move
from kernelwright.model import Limit

NOT_TRITON = (
    "__shared__",
    "threadIdx",
    "__syncthreads",
    "shfl",
    "asm",
    "cudaStream",
    "CUDAGraph",
    "warp_id",
    "tl.shared",
)
"""What CUDA has and Triton does not: a move that asks for it can only be repeated in vain."""


@pytest.mark.parametrize("one", MOVES, ids=lambda one: one.name)
def test_a_sketch_is_python_and_asks_for_nothing_that_triton_lacks(one: Move) -> None:
    assert ast.parse(one.sketch).body
    assert not [word for word in NOT_TRITON if word in one.sketch]


@pytest.mark.parametrize("one", MOVES, ids=lambda one: one.name)
def test_what_a_sketch_takes_from_triton_is_there(one: Move) -> None:
    tl = pytest.importorskip("triton.language")
    used = [node for node in ast.walk(ast.parse(one.sketch)) if isinstance(node, ast.Attribute)]
    names = [node.attr for node in used if isinstance(node.value, ast.Name) and node.value.id == "tl"]
    assert [name for name in names if not hasattr(tl, name)] == []


@pytest.mark.parametrize("one", MOVES, ids=lambda one: one.name)
def test_a_move_says_when_and_when_not(one: Move) -> None:
    assert one.what
    assert one.when
    assert one.when_not
    assert one.against


@pytest.mark.parametrize("limit", [limit for limit in Limit if limit not in (Limit.NONE, Limit.UNKNOWN)])
def test_there_is_something_to_do_about_every_limit(limit: Limit) -> None:
    assert moves_against(limit)


def test_names_are_unique() -> None:
    assert [move(one.name) for one in MOVES] == list(MOVES)
