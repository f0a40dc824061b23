"""A confirmation on another GPU than the seed's counts by its ratio to the seed there."""

from __future__ import annotations

import msgspec
import pytest

from fakes import FakeWorker, evaluation_of
from kernelwright.errors import WorkerError
from kernelwright.journal import fold
from kernelwright.model import Candidate, CaseResult, Evaluation, Status
from running import Create, run


def on(gpu: str, slow: float, evaluation: Evaluation) -> Evaluation:
    """The same on a GPU that takes `slow` times as long."""

    def slowed(result: CaseResult) -> CaseResult:
        if result.timing is None or result.timing.ci95_us is None:
            return result
        low, high = result.timing.ci95_us
        timing = msgspec.structs.replace(
            result.timing, median_us=slow * result.timing.median_us, ci95_us=(slow * low, slow * high)
        )
        return msgspec.structs.replace(result, timing=timing)

    score_us = None if evaluation.score_us is None else slow * evaluation.score_us
    results = tuple(slowed(result) for result in evaluation.results)
    return msgspec.structs.replace(evaluation, results=results, score_us=score_us, gpu=gpu)


@pytest.mark.parametrize("slow", [0.2, 1.0, 5.0])
def test_the_confirmed_time_does_not_depend_on_the_gpu(create: Create, slow: float) -> None:
    def answer(candidate: Candidate, purpose: str) -> Evaluation:
        found = evaluation_of(candidate, purpose)
        return on("second", slow, found) if purpose == "confirm" else on("first", 1.0, found)

    journal = create(strategy_options={"rounds": 3})
    worker = FakeWorker(answer=answer)
    outcome = run(journal, worker=worker)
    assert outcome.best not in (None, outcome.seed)
    (number,) = fold(journal.events()).confirmations
    there = fold(journal.events()).confirmations[number]
    plain_us = {purpose: evaluation_of(Candidate(source="BLOCK = 64\n"), purpose).score_us for purpose in
                ("search", "confirm")}  # fmt: skip
    best = next(trial for trial in journal.trials() if trial.number == number)
    assert best.proposal.candidate is not None
    own_us = evaluation_of(best.proposal.candidate, "confirm").score_us
    assert own_us is not None
    assert plain_us["search"] is not None
    assert plain_us["confirm"] is not None
    assert there.score_us == pytest.approx(own_us * plain_us["search"] / plain_us["confirm"])
    assert there.gpu == "second"
    timing = next(result.timing for result in there.results if result.timing is not None)
    assert timing.clock_us == pytest.approx(slow * own_us)
    assert [purpose for _, purpose in worker.calls].count("confirm") == 2


def test_a_gain_that_is_the_other_gpus_is_none(create: Create) -> None:
    """On the second GPU everything takes half as long, and the candidate no less than the seed."""

    def answer(candidate: Candidate, purpose: str) -> Evaluation:
        if purpose == "confirm":
            return on("second", 0.5, evaluation_of(Candidate(source="BLOCK = 64\n"), purpose))
        return on("first", 1.0, evaluation_of(candidate, purpose))

    outcome = run(create(strategy_options={"rounds": 3}), worker=FakeWorker(answer=answer))
    assert outcome.best == outcome.seed


def test_where_the_seed_does_not_pass_on_the_other_gpu_nothing_is_confirmed(create: Create) -> None:
    def answer(candidate: Candidate, purpose: str) -> Evaluation:
        if purpose == "confirm" and "BLOCK = 64" in candidate.source and not candidate.config:
            return Evaluation(status=Status.WRONG, reason="off by much", gpu="second")
        found = evaluation_of(candidate, purpose)
        return on("second", 0.5, found) if purpose == "confirm" else on("first", 1.0, found)

    journal = create(strategy_options={"rounds": 3})
    assert run(journal, worker=FakeWorker(answer=answer)).best == 0
    assert fold(journal.events()).confirmations
    for confirmation in fold(journal.events()).confirmations.values():
        assert confirmation.status is Status.NOT_VERIFIED
        assert confirmation.reason.endswith("so times cannot be compared: off by much")


def test_a_gpu_that_is_lost_between_the_two_ends_the_session(create: Create) -> None:
    gpus = iter(("second", "third"))

    def answer(candidate: Candidate, purpose: str) -> Evaluation:
        gpu = next(gpus) if purpose == "confirm" else "first"
        return on(gpu, 1.0, evaluation_of(candidate, purpose))

    journal = create(strategy_options={"rounds": 3})
    with pytest.raises(WorkerError, match="lost between"):
        run(journal, worker=FakeWorker(answer=answer))
    assert fold(journal.events()).confirmations == {}
