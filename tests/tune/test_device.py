"""Configs on a worker: what each races against."""

from __future__ import annotations

from fakes import FakeWorker
from kernelwright.model import Candidate, CaseResult, Evaluation, Incumbent, Status, Timing
from kernelwright.source import apply_config, kernel_configs
from kernelwright.tune import LiveDevice
from tuned import DEFAULT, SOURCE, problem, time_us


def block_of(candidate: Candidate) -> int:
    return kernel_configs(apply_config(candidate.source, candidate.config))["k"].kwargs["BLOCK"]


def evaluated(candidate: Candidate, purpose: str) -> Evaluation:
    """A block of 32 is wrong; of the others 256 is the fastest."""
    if block_of(candidate) == 32:
        return Evaluation(status=Status.WRONG)
    us = time_us(DEFAULT | {"BLOCK": block_of(candidate)}, "big")
    result = CaseResult(case="big", status=Status.PASSED, timing=Timing(kind="measured", median_us=us))
    return Evaluation(status=Status.PASSED, score_us=us, timing_kind="measured", results=(result,))


def test_a_config_is_timed_against_the_fastest_so_far() -> None:
    worker = FakeWorker(evaluated)
    device = LiveDevice(worker, SOURCE, problem("big"))
    for block in (32, 64, 256, 128, 512):
        device.measure(DEFAULT | {"BLOCK": block})

    def raced(given: Incumbent | None) -> tuple[int, float] | None:
        return None if given is None else (block_of(given.candidate), given.times_us["big"])

    slow, fast = (64, time_us(DEFAULT | {"BLOCK": 64}, "big")), (256, time_us(DEFAULT | {"BLOCK": 256}, "big"))
    assert [raced(given) for given in worker.incumbents] == [None, None, slow, fast, fast]
