"""What steers kernels on a stated case and was at most 1 on every case that was judged."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kernelwright.model import Case, CaseResult, Status
from kernelwright.worker.plan.plan import Argument, Launch, Plan, Tuple, Value
from kernelwright.worker.plan.steering import Exercised, steering
from kernelwright.worker.plan.work import Work
from kernelwright.worker.stages.exercised import exercise
from kernelwright.worker.stages.subject import Subject

LOOP = "for i in range(n):"


@dataclass
class FakeSubject:
    """On a machine with a GPU, which derives no cases."""

    plans: dict[str, Plan]
    unjudged: list[str] = field(default_factory=list)
    processes: Any = field(default_factory=lambda: SimpleNamespace(on_gpu=True))
    derived: bool = False

    @property
    def session(self) -> Any:
        cases = (Case(name="small", small=True), Case(name="timed", derived=self.derived))
        return SimpleNamespace(loaded=lambda: SimpleNamespace(cases=[SimpleNamespace(case=one) for one in cases]))

    def work(self, launch: Launch) -> Work | None:
        return None


def launch(kernel: str = "k", grid: tuple[int, ...] = (4,), **arguments: Argument) -> Launch:
    return Launch(kernel=kernel, grid=grid, arguments=arguments, options={})


def whole(number: int) -> Value:
    return Value(kind="int", text=str(number))


def plan(*launches: Launch) -> Plan:
    return Plan(buffers=(), steps=launches, outputs=(), single=True)


def named(small: Plan, timed: Plan, judged: Status = Status.NOT_VERIFIED, **more: Any) -> list[str]:
    """What is named of these plans, where the timed case ended with this status."""
    subject = FakeSubject({"small": small, "timed": timed}, **more)
    results = [CaseResult(case="small", status=Status.PASSED), CaseResult(case="timed", status=judged)]
    assert exercise(cast(Subject, subject), results) is None
    return [text.removeprefix("never exercised: ") for text in subject.unjudged]


AT_MOST = "on case timed, at most 1 where it was judged)"


def test_a_number_that_was_1_and_is_more_on_a_stated_case_is_named_with_all_that_equals_it() -> None:
    timed = plan(launch(grid=(4, 3), splits=whole(3), rows=whole(9)))
    assert named(plan(launch(grid=(4, 1), splits=whole(1), rows=whole(2))), timed) == [
        f"k: axis y of the grid, splits (3 {AT_MOST}"
    ]
    assert named(plan(launch(grid=(4, 2), splits=whole(2), rows=whole(2))), timed) == [], "two show how one follows"


def test_a_flag_and_an_item_of_a_tuple_count() -> None:
    off, on = (launch(FLAG=Value(kind="bool", text=text), t=Tuple(items=(whole(one),)))
               for text, one in (("False", 0), ("True", 1)))  # fmt: skip
    assert named(plan(off), plan(on)) == [f"k: FLAG, t.0 (1 {AT_MOST}"]
    assert named(plan(on), plan(off)) == []


def test_a_kernel_that_no_judged_case_launches_is_named_once_and_another_number_of_launches_too() -> None:
    never = "big: launches (1 on case timed, none where it was judged)"
    assert named(plan(launch()), plan(launch(), launch("big", splits=whole(7)))) == [never]
    assert named(plan(launch()), plan(*[launch()] * 3)) == [f"k: launches (3 {AT_MOST}"]


def test_a_loop_of_one_iteration_counts_as_none_and_one_without_a_limit_as_exercised() -> None:
    trips = {"once": (1, 1), "often": (5, 5), "loaded": (0, float("inf"))}
    found = steering(plan(*map(launch, trips)), lambda one: Work(trips={LOOP: trips[one.kernel]}))
    assert [found[name, f"`{LOOP}`"] for name in ("once", "often", "loaded")] == [(0, 0), (5, 5), (0, float("inf"))]


def test_what_was_judged_or_derived_or_has_no_plan_names_nothing() -> None:
    small, timed = plan(launch(n=whole(1))), plan(launch(n=whole(5)))
    assert named(small, timed, Status.PASSED) == []
    assert named(small, timed, derived=True) == []
    assert named(small, timed) == [f"k: n (5 {AT_MOST}"]


def test_what_several_cases_have_is_named_once() -> None:
    exercised = Exercised(lambda launch: None)
    exercised.add(plan(launch(n=whole(1), m=whole(1))))
    plans = {"one": plan(launch(n=whole(5), m=whole(1))), "two": plan(launch(n=whole(7), m=whole(7)))}
    found = sorted(text.removeprefix("never exercised: ") for text in exercised.texts(plans))
    assert found == [
        "k: m (7 on case two, at most 1 where it was judged)",
        "k: n (5 on case one, at most 1 where it was judged)",
    ]


@pytest.mark.parametrize(("other", "beyond"), [
    ({"grid": (40, 1, 6), "n": whole(30)}, 0),
    ({"grid": (4, 1, 6), "n": whole(30)}, 10),
    ({"grid": (8, 1, 6), "n": whole(30)}, 5),
    ({"grid": (40, 1, 1), "n": whole(3)}, 0),
    ({"grid": (4, 1, 6), "n": whole(5)}, 0),
    ({"grid": (4, 3, 6), "n": whole(3)}, 3),
    ({"grid": (4, 1, 6), "n": whole(3), "FLAG": whole(2)}, 2),
])  # fmt: skip
def test_more_programs_alone_exercise_nothing_unless_there_was_one(other: dict[str, Any], beyond: float) -> None:
    exercised = Exercised(lambda launch: None)
    exercised.add(plan(launch(grid=(4, 1, 6), n=whole(3), FLAG=whole(1))))
    assert exercised.beyond(plan(launch(**other)), lambda launch: None)[0] == beyond


def test_a_number_that_is_larger_with_more_programs_for_it_is_counted_apart() -> None:
    exercised = Exercised(lambda launch: None)
    exercised.add(plan(launch(grid=(4,), n=whole(3))))
    assert exercised.beyond(plan(launch(grid=(40,), n=whole(30))), lambda launch: None) == (0, 10)


@pytest.mark.parametrize(("used", "beyond"), [(9, 0), (3, 2)])
def test_numbers_that_differ_where_they_were_equal_exercise_more(used: int, beyond: float) -> None:
    exercised = Exercised(lambda launch: None)
    exercised.add(plan(launch(grid=(4,), columns=whole(9), used=whole(9))))
    exercised.add(plan(launch(grid=(4,), columns=whole(8), used=whole(8)), launch(columns=whole(7), used=whole(7))))
    assert (
        exercised.beyond(plan(launch(grid=(40,), columns=whole(9), used=whole(used))), lambda launch: None)[0] == beyond
    )


def test_iterations_count_for_each_program_and_those_without_a_limit_exercise_nothing() -> None:
    exercised = Exercised(lambda launch: Work(trips={LOOP: (2, 2)}))
    exercised.add(plan(launch()))
    assert exercised.beyond(plan(launch(grid=(40,))), lambda launch: Work(trips={LOOP: (0, 8)}))[0] == 4
    assert exercised.beyond(plan(launch()), lambda launch: Work(trips={LOOP: (0, float("inf"))})) == (0, 0)
    assert exercised.beyond(plan(launch()), lambda launch: Work(trips={LOOP: (0, 8)}))
