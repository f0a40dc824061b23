"""What programs of a launch share without atomics, and the orders in which they run."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from kernelwright.worker.interpret.sharing import MOST_BYTES, Sharing
from worker.interpreted import Interpreted, interpreted


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Interpreted]:
    with interpreted(tmp_path_factory.mktemp("interpreted")) as made:
        yield made


TOGETHER = {
    "a store of another program is loaded": (
        ["p = tl.program_id(0)", "tl.store(y + p, 1.0)", "tl.store(i + p, tl.load(y).to(tl.int64))"],
        "`tl.store(i + p, tl.load(y).to(tl.int64))` in k",
    ),
    "what another program loads is stored": (
        ["p = tl.program_id(0)", "before = tl.load(y + p + 1)", "tl.store(y + p, before)"],
        "`tl.store(y + p, before)` in k",
    ),
    "a sum without an atomic": (["total = tl.load(y)", "tl.store(y, total + 1.0)"], "`total = tl.load(y)` in k"),
}
APART = {
    "an atomic": ["tl.atomic_add(y, 1.0)"],
    "own elements": ["p = tl.program_id(0)", "tl.store(y + p, tl.load(y + p) + 1)", "tl.store(i + p, p)"],
    "stores alone": ["tl.store(y, 1.0)"],
    "masked lanes": ["p = tl.program_id(0)", "at = tl.arange(0, BLOCK)",
                     "tl.store(y + at, tl.load(y + at, mask=at == p, other=0.0) + 1, mask=at == p)"],
    "a lock": ["free = tl.full((), 0, tl.int64)", "while tl.atomic_cas(i, free, free + 1) == 1:", "    pass",
               "tl.store(y, tl.load(y) + 1.0)", "tl.atomic_xchg(i, free)"],
    "the last one of a count": ["p = tl.program_id(0)", "tl.store(y + p, 1.0)", "count = tl.atomic_add(i, 1)",
                                "if count == 2:", "    total = tl.load(y) + tl.load(y + 1) + tl.load(y + 2)",
                                "    tl.store(x, total)"],
}  # fmt: skip


@pytest.mark.parametrize(("body", "line"), TOGETHER.values(), ids=TOGETHER)
def test_a_load_and_a_store_of_one_element_by_two_programs_are_named(
    machine: Interpreted, body: list[str], line: str
) -> None:
    ran = machine.run(*body, grid=3)
    assert (ran.status, ran.said) == ("passed", line)


@pytest.mark.parametrize("body", APART.values(), ids=APART)
def test_programs_in_order_or_on_elements_of_their_own_share_nothing(machine: Interpreted, body: list[str]) -> None:
    ran = machine.run(*body, grid=3)
    assert (ran.status, ran.said) == ("passed", "")


def test_one_program_shares_nothing(machine: Interpreted) -> None:
    assert machine.run("tl.store(y, tl.load(y) + 1)").said == ""


MIRRORED = "tl.load(y + BLOCK - 1 - at)"


@pytest.mark.parametrize(
    ("between", "line"),
    [("pass", f"`tl.store(x + at, {MIRRORED})` in k"), ("tl.debug_barrier()", ""), ("tl.sum(at)", "")],
    ids=["nothing", "barrier", "sum"],
)
def test_what_another_lane_of_a_program_stored_is_named_without_a_barrier(
    machine: Interpreted, between: str, line: str
) -> None:
    body = ["at = tl.arange(0, BLOCK)", "tl.store(y + at, at * 1.0)", between, f"tl.store(x + at, {MIRRORED})"]
    assert machine.run(*body).said == line


def test_what_a_lane_stored_itself_it_may_load() -> None:
    sharing, at = Sharing(), np.array([4, 8], dtype=np.uint64)
    sharing.watch(0, 16)
    sharing.begin_launch()
    sharing.begin_program()
    lanes = np.array([2, 7])
    assert not sharing.access(at, lanes, is_store=True)
    assert not sharing.access(at, lanes, is_store=False)
    assert sharing.access(at, lanes[::-1], is_store=False)
    sharing.barrier()
    assert not sharing.access(at, lanes[::-1], is_store=False)


def test_what_follows_an_atomic_is_not_in_order() -> None:
    sharing, at = Sharing(), np.array([4], dtype=np.uint64)
    sharing.watch(0, 16)
    sharing.begin_launch()
    for _ in range(2):
        sharing.begin_program()
        sharing.atomic()
        assert sharing.access(at, np.zeros(1, dtype=np.int64), is_store=False) == (sharing.program == 2)
        sharing.access(at, np.zeros(1, dtype=np.int64), is_store=True)


def test_each_launch_begins_anew_and_large_memory_is_not_watched() -> None:
    sharing, at = Sharing(), np.array([4], dtype=np.uint64)
    for nbytes in (16, MOST_BYTES + 1):
        sharing.watch(0, nbytes)
        for is_store in (True, False):
            sharing.begin_launch()
            sharing.begin_program()
            assert not sharing.access(at, np.zeros(1, dtype=np.int64), is_store)
    sharing.begin_program()
    assert not sharing.access(at, np.zeros(1, dtype=np.int64), is_store=True), "too large"


PLACE = ["p = tl.program_id(0)", "tl.store(y + tl.atomic_add(i, 1), p.to(tl.float32))"]


def test_programs_run_in_other_orders(machine: Interpreted) -> None:
    assert machine.run(*PLACE, grid=4).y[:4] == [0, 1, 2, 3]
    assert machine.run(*PLACE, grid=4, order="reversed").y[:4] == [3, 2, 1, 0]
    shuffled = machine.run(*PLACE, grid=4, order="shuffled").y[:4]
    assert shuffled != sorted(shuffled)
    assert sorted(shuffled) == [0, 1, 2, 3]


def test_where_one_program_waits_for_another_they_run_in_the_usual_order(machine: Interpreted) -> None:
    waits = ["p = tl.program_id(0)", "while tl.atomic_add(i, 0) < p:", "    pass", "tl.atomic_add(y, 1.0)",
             "tl.atomic_add(i, 1)"]  # fmt: skip
    ran = machine.run(*waits, grid=4, order="reversed")
    assert (ran.status, ran.y[0], ran.i[0]) == ("passed", 4.0, 4)
