"""The ledger: one line a trial, with what changed, what came of it and which counters moved."""

from __future__ import annotations

import msgspec

from kernelwright.model import CaseResult, Evaluation, KernelResources, Operator, Status, Timing, Trial
from kernelwright.propose import changes
from kernelwright.propose.tried import history
from proposing import KERNEL, OTHER, failed, passed, starter, trial


def took(score_us: float, registers: int) -> Evaluation:
    timing = Timing(kind="measured", median_us=score_us, ci95_us=(score_us - 1, score_us + 1))
    kernel = KernelResources(
        kernel="k",
        target="sm_90",
        registers=registers,
        spill_bytes=0,
        shared_bytes=0,
        num_warps=4,
        num_stages=3,
        occupancy=0.5,
        limited_by="registers",
        cubin_sha="0",
    )
    return msgspec.structs.replace(
        passed(score_us),
        results=(CaseResult(case="big", status=Status.PASSED, timing=timing),),
        kernels=(kernel,),
    )


def row(text: str, number: int) -> str:
    return next(line for line in text.splitlines() if line.startswith(f"| {number} |"))


def test_a_line_has_the_change_the_interval_and_the_counters_that_moved() -> None:
    child = trial(1, OTHER, {"BLOCK": 512}, took(80, 64), parents=(0,), note="adds instead")
    line = row(history([starter(took(100, 40)), child]), 1)
    assert line == (
        "| 1 | improve | 0 | test | adds instead | +1 −1 lines, BLOCK as written → 512 "
        "| 80 µs (79 to 81), 1.25× as fast as trial 0 | registers 40 → 64 |"
    )


def test_a_repair_is_compared_with_what_its_failed_version_was_made_from_and_its_change_is_from_that_version() -> None:
    broken = trial(1, OTHER, evaluation=failed(), parents=(0,))
    repair = trial(2, OTHER + "x = 1\n", evaluation=took(50, 40), operator=Operator.REPAIR, parents=(1, 0))
    line = row(history([starter(took(100, 40)), broken, repair]), 2)
    assert "+1 −0 lines" in line
    assert "2.00× as fast as trial 0" in line


def test_tunings_share_a_line_with_what_they_were_worth() -> None:
    def tuning(number: int, block: int, parent: int, evaluation: Evaluation) -> Trial:
        return trial(number, KERNEL, {"BLOCK": block}, evaluation, Operator.TUNE, (parent,))

    text = history(
        [starter(took(100, 40)), tuning(1, 512, 0, took(90, 40)), tuning(2, 1024, 1, took(95, 40)),
         tuning(3, 64, 1, failed())]
    )  # fmt: skip
    assert "- trial 0: 3 configs tried, best trial 1, 90 µs (89 to 91), 1.11× as fast as trial 0" in text
    assert "| 1 |" not in text
    assert "Best so far: trial 1." in text


def test_the_writer_is_told_that_repeats_are_refused() -> None:
    assert "Code that is in this run already, comments and layout aside, is refused." in history([starter()])
    assert history([]) == ""


def test_a_seed_that_failed_is_no_diff() -> None:
    broken = trial(0, OTHER, operator=Operator.SEED, evaluation=failed())
    mended = trial(1, KERNEL, operator=Operator.REPAIR, parents=(0,), evaluation=passed(90.0))
    assert changes.change(mended, (broken, mended)) == ""
    assert changes.attempts(mended, (broken, mended)) == ""
    (row,) = [line for line in history((broken, mended)).splitlines() if line.startswith("| 1 |")]
    assert "lines" not in row
    sound = trial(0, OTHER, operator=Operator.SEED, evaluation=passed(100.0))
    assert "```diff" in changes.change(mended, (sound, mended))


def test_the_lowest_estimate_is_not_called_the_best() -> None:
    assert "\n\nLowest estimate so far: trial 0." in history((starter(passed(100.0, "estimate")),))
    assert "\n\nBest so far: trial 0." in history((starter(passed(100.0)),))
