"""Maxima and minima of elements with the same index, in a kernel."""

from __future__ import annotations

from pathlib import Path

from evaluated import StartedWorker
from kernelwright.inductor import candidate_texts
from kernelwright.model import Candidate, Status
from problem_text import problem_text

FORWARD = """
        below = torch.full_like(x, -torch.inf)
        least = x.sum(1, keepdim=True).expand_as(x).scatter_reduce(1, place, -x, "amin")
        return below.scatter_reduce_(0, place % x.shape[0], x, reduce="amax"), least"""


def test_a_scatter_by_maxima_and_minima_is_atomics_in_a_kernel(shared_worker: StartedWorker, tmp_path: Path) -> None:
    text = problem_text(
        FORWARD, "rows=512, features=1000",
        {"x": "torch.randn(rows, features)", "place": "torch.randint(0, features, (rows, features))"},
        numbers="features=1000", small="rows=3, features=37",
    )  # fmt: skip
    (tmp_path / "problem.py").write_text(text)
    shared_worker().load(str(tmp_path / "problem.py"))
    found = shared_worker().generate()
    assert found.captures[0].library_calls == ()
    source = candidate_texts(found, "none")[0]
    assert "tl.atomic_max" in source
    assert "tl.atomic_min" in source
    result = shared_worker().evaluate(Candidate(source=source), "verify")
    assert {case.case: case.status for case in result.results}["small"] is Status.PASSED, result.reason
