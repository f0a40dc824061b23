"""Wrong kernels that ordinary values do not show: every one is refused, every honest counterpart accepted.

`corpus.py` holds them by family. What survives is named here with its reason; a survivor that is refused one day fails
this test, so that the list stays true.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluated import Evaluations, StartedWorker, Submission
from kernelwright.model import Status
from wrong.corpus import HONEST, SUBJECTS, WRONG, Kernel

pytest.importorskip("torch", reason="the worker needs torch: pip install -e '.[worker]'")
pytest.importorskip("triton", reason="the worker needs Triton: pip install -e '.[worker]'")

SURVIVORS: dict[str, str] = {}
"""subject/name of a wrong kernel that passes: why no draw shows it."""


def named(kernel: Kernel) -> str:
    return f"{kernel.subject}/{kernel.name}"


def submission(kernel: Kernel) -> Submission:
    return Submission(kernel.problem, kernel.source)


def parameters(kernels: tuple[Kernel, ...]) -> list[object]:
    """By subject, so that each problem is loaded once."""
    return [pytest.param(kernel, id=named(kernel)) for kernel in sorted(kernels, key=named)]


@pytest.fixture(scope="module")
def evaluations(request: pytest.FixtureRequest, shared_worker: StartedWorker) -> Evaluations:
    """Of the kernels that pytest was asked for, not of all."""
    chosen = [item.callspec.params["kernel"] for item in request.session.items if hasattr(item, "callspec")
              and isinstance(item.callspec.params.get("kernel"), Kernel)]  # fmt: skip
    return Evaluations(shared_worker(), [submission(kernel) for kernel in chosen])


def test_there_are_many_and_no_two_are_the_same() -> None:
    assert len(WRONG) >= 40
    assert len(HONEST) >= 15 + len(SUBJECTS)
    assert len({(kernel.subject, kernel.source) for kernel in (*WRONG, *HONEST)}) == len(WRONG) + len(HONEST)
    assert SURVIVORS.keys() <= {named(kernel) for kernel in WRONG}
    assert all(Path(kernel.problem).exists() for kernel in WRONG)


@pytest.mark.parametrize("kernel", parameters(WRONG))
def test_a_wrong_kernel_is_refused(evaluations: Evaluations, kernel: Kernel) -> None:
    found = evaluations.of(submission(kernel))
    if named(kernel) in SURVIVORS:
        assert found.status is Status.PASSED, "it is refused now: take it from the list of survivors"
        pytest.xfail(SURVIVORS[named(kernel)])
    assert found.status is Status.WRONG, found.reason


@pytest.mark.parametrize("kernel", parameters(HONEST))
def test_an_honest_counterpart_is_accepted(evaluations: Evaluations, kernel: Kernel) -> None:
    found = evaluations.of(submission(kernel))
    assert found.status is Status.PASSED, found.reason
