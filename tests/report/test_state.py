"""The state of a run."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from kernelwright.model import CaseResult, LibraryMode, Status
from kernelwright.report.several import Line, totals
from kernelwright.report.state import State, state_of
from samples import case_info, passed, run_view, short_run


def of(status: Status, library: LibraryMode = "none", device: str | None = "NVIDIA H200") -> State:
    """The state of a run whose best was confirmed, and at a derived size got this status."""
    given = case_info("derived", 0.1, small=True)
    small = msgspec.structs.replace(given, case=msgspec.structs.replace(given.case, params={"rows": 3}))
    results = (CaseResult(case="derived", status=status), CaseResult(case="square", status=Status.PASSED))
    view = run_view(
        short_run(), {4: msgspec.structs.replace(passed(20.0, measured=True), results=results)}, device=device
    )
    problem = msgspec.structs.replace(view.info.problem, library=library, cases=(*view.info.problem.cases, small))
    return state_of(replace(view, info=msgspec.structs.replace(view.info, problem=problem)))


def test_a_kernel_that_passed_at_the_timed_size_only_counts_apart() -> None:
    assert of(Status.PASSED) is State.OWN
    assert of(Status.NOT_VERIFIED) is State.CAPTURED


def test_a_kernel_of_a_search_that_allows_library_calls_counts_apart() -> None:
    assert of(Status.PASSED, "any") is of(Status.NOT_VERIFIED, "any") is State.ANY
    assert of(Status.PASSED, "finish") is State.OWN


def test_nothing_is_confirmed_without_a_gpu() -> None:
    assert of(Status.PASSED, device=None) is State.PLAUSIBLE


@pytest.mark.parametrize("other", [State.CAPTURED, State.ANY])
def test_kernels_of_two_states_are_not_averaged_together(other: State) -> None:
    lines = [
        Line(name="one", state=State.OWN, library="finish", share=0.9),
        Line(name="two", state=other, library="any" if other is State.ANY else "finish", share=0.1),
    ]
    assert [(total.problems, total.share) for total in totals(lines)] == [(1, 0.9), (1, pytest.approx(0.1))]
