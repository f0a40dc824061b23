"""Masked lanes of loads without `other`: named by their line, and given other values where that is asked."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest

from worker.interpreted import Interpreted, interpreted

AT = "at = tl.arange(0, BLOCK)"
LOAD = "v = tl.load(x + at, mask=at < 4)"
LINE = f"`{LOAD}` in k"


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Interpreted]:
    with interpreted(tmp_path_factory.mktemp("interpreted")) as made:
        yield made


def test_lanes_without_a_value_are_named_and_filled_where_that_is_asked(machine: Interpreted) -> None:
    body = (AT, LOAD, "w = tl.load(i + at, mask=at < 8)", "tl.store(y + at, v)", "tl.store(i + at, w)")
    ran = machine.run(*body)
    assert ran.undefined == (LINE, "`w = tl.load(i + at, mask=at < 8)` in k")
    assert ran.y == [0.0, 1.0, 2.0, 3.0] + [0.0] * 12
    ran = machine.run(*body, filled=(LINE,))
    assert ran.y[:4] == [0.0, 1.0, 2.0, 3.0]
    assert all(map(math.isnan, ran.y[4:]))
    assert ran.i == [0] * 16
    assert machine.run(*body, filled=ran.undefined).i[8:] == [85] * 8


@pytest.mark.parametrize("load", [
    "tl.load(x + at)", "tl.load(x + at, mask=at < 16)", "tl.load(x + at, mask=at < 4, other=0.0)",
])  # fmt: skip
def test_other_loads_leave_nothing_open(machine: Interpreted, load: str) -> None:
    assert machine.run(AT, f"tl.store(y + at, {load})").undefined == ()
