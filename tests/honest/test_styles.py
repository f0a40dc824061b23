"""Thirty more honest kernels, on the problems of the attacks: how they are written is not held against them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from evaluated import LIMITS, PROBLEMS, Evaluations, header
from kernelwright.model import Status
from kernelwright.pool import start_worker

pytest.importorskip("torch", reason="the worker needs torch: pip install -e '.[worker]'")
pytest.importorskip("triton", reason="the worker needs Triton: pip install -e '.[worker]'")

FILES = sorted((Path(__file__).parent / "styles").glob("*.py"), key=lambda file: (header(file)["problem"], file))


@pytest.fixture(scope="module")
def evaluations() -> Iterator[Evaluations]:
    with start_worker(limits=LIMITS) as worker:
        yield Evaluations(worker, FILES)


def test_there_are_many_styles() -> None:
    headers = [header(file) for file in FILES]
    assert len(FILES) >= 25
    assert all(set(head) == {"problem", "style"} for head in headers)
    assert len({head["style"] for head in headers}) == len(FILES)
    assert {head["problem"] for head in headers} <= {file.stem for file in PROBLEMS.glob("*.py")}


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_an_honest_kernel_passes(evaluations: Evaluations, file: Path) -> None:
    evaluation = evaluations.of(file)
    assert evaluation.status is Status.PASSED, evaluation.reason
    small = {result.case: result for result in evaluation.results}["small"]
    assert small.status is Status.PASSED
    assert evaluation.kernels
