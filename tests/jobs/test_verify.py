"""Verifying a candidate, called from Python."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import PROBLEM
from fakes import FakeWorker, evaluation_of
from kernelwright.errors import WorkerError
from kernelwright.jobs.verify import verify, verify_all
from kernelwright.jobs.worker import Desk
from kernelwright.model import Candidate, Evaluation, Status
from started import starting

KERNEL = Candidate(source="BLOCK = 512\n")
WRONG = Candidate(source="BLOCK = 512\n# fails: wrong\n")


@pytest.fixture
def problem(tmp_path: Path) -> Path:
    (tmp_path / "double.py").write_text(PROBLEM)
    return tmp_path / "double.py"


FATAL = Candidate(source="BLOCK = 512\n# ends its worker\n")


class Mortal:
    """A worker that ends where a candidate says so; `deaths` of them in all, and every later call fails too."""

    def __init__(self, deaths: int) -> None:
        self.deaths = deaths
        self.started: list[FakeWorker] = []

    def __call__(self, target: str | None) -> FakeWorker:
        ended = False

        def answer(candidate: Candidate, purpose: str) -> Evaluation:
            nonlocal ended
            if candidate == FATAL and self.deaths > 0:
                self.deaths -= 1
                ended = True
            if ended:
                raise WorkerError("the worker ended without an answer")
            return evaluation_of(candidate, purpose)

        self.started.append(FakeWorker(answer=answer))
        return starting(self.started[-1])(target)


def test_many_candidates_share_one_worker_and_come_back_in_their_order(problem: Path) -> None:
    worker = FakeWorker()
    seen: list[int] = []
    found = verify_all(
        problem,
        [WRONG, KERNEL, WRONG],
        on_verified=lambda position, one: seen.append(position),
        desk=Desk(pytest.fail, starting(worker)),
    )
    assert [one.evaluation.status for one in found] == [Status.WRONG, Status.PASSED, Status.WRONG]
    assert (seen, worker.dtypes) == ([0, 1, 2], [None])


def test_a_candidate_that_ends_every_worker_is_crashed_and_the_next_is_judged(problem: Path) -> None:
    workers = Mortal(deaths=9)
    told: list[str] = []
    found = verify_all(problem, [KERNEL, FATAL, KERNEL], desk=Desk(told.append, workers))
    assert [one.evaluation.status for one in found] == [Status.PASSED, Status.CRASHED, Status.PASSED]
    assert "ended" in found[1].evaluation.reason
    assert len(workers.started) == 3
    assert all(worker.closed for worker in workers.started)


def test_a_worker_that_is_lost_once_is_not_blamed_on_the_candidate(problem: Path) -> None:
    workers = Mortal(deaths=1)
    told: list[str] = []
    found = verify(problem, FATAL, desk=Desk(told.append, workers))
    assert found.evaluation.status is Status.PASSED
    assert told == ["the worker ended without an answer: it is started again"]
