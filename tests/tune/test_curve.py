"""The learning curve and the failures by kind."""

from __future__ import annotations

from kernelwright.model import Status
from kernelwright.tune.curve import Generation, failures, learning_curve
from kernelwright.tune.records import Found, Tried
from tuned import DEFAULT, passed


def tried(number: int, generation: int, time_us: float | None, reason: str = "", launched: bool = True) -> Tried:
    found = (
        Found(status=Status.WRONG if launched else Status.COMPILE_ERROR, reason=reason)
        if time_us is None
        else passed(DEFAULT, ("big",), lambda config, case: time_us)
    )
    return Tried(
        number=number, name=f"gen_{generation}_var_{number}", generation=generation, origin="sampler",
        config=DEFAULT, found=found, at="2026-01-01T00:00:00+00:00", launched=launched,
    )  # fmt: skip


SHORT = [
    tried(0, 0, 100.0),
    tried(1, 0, None, "off by 3"),
    tried(2, 0, 120.0),
    tried(3, 1, None, "off by 3"),
    tried(4, 1, None, "too large", launched=False),
    tried(5, 2, 90.0),
]


def row(found: Generation) -> tuple[object, ...]:
    return found.tried, found.failures, found.median_us, round(found.best_us or 0), round(found.best_so_far_us or 0)


def test_each_generation_has_its_failures_its_median_and_its_best() -> None:
    rows = learning_curve(SHORT)
    assert [one.generation for one in rows] == [0, 1, 2]
    assert row(rows[0])[:2] == (3, 1)
    assert abs((rows[0].median_us or 0) - 110.0) < 1e-9
    assert (rows[1].median_us, rows[1].best_us) == (None, None)
    assert [round(one.best_so_far_us or 0) for one in rows] == [100, 100, 90]


def test_while_nothing_passed_there_is_no_best() -> None:
    assert learning_curve(SHORT[3:5])[0].best_so_far_us is None
    assert learning_curve([]) == []


def test_failures_are_counted_by_status_with_examples_of_different_reasons() -> None:
    wrong, refused = failures(SHORT)
    assert (wrong.status, wrong.count, wrong.launched) == ("wrong", 2, 2)
    assert wrong.examples == (("gen_0_var_1", "off by 3"),)
    assert (refused.status, refused.count, refused.launched) == ("compile_error", 1, 0)
