"""An evaluation as text."""

from __future__ import annotations

import msgspec

from kernelwright.model import Evaluation, Status
from kernelwright.report.evaluation import evaluation_text, headline, kernels_grid, verifications_table
from samples import failed, passed, problem_info, resources


def test_an_estimate_is_called_one_and_the_interpreter_is_named() -> None:
    text = evaluation_text(passed(32.0), problem_info().cases)
    assert "32.00 µs (estimate)" in text
    assert "interpreter, small cases only" in text
    assert "time (µs, estimate)" in text
    square = next(line for line in text.splitlines() if line.startswith("square"))
    assert square.split() == ["square", "passed", "-", "-", "-", "32.00", "16.00", "-"], "no share of the bound"


def test_a_time_below_its_derived_bound_is_explained() -> None:
    found = passed(12.0, measured=True)
    remark = "below the derived bound of 16 µs: state work()"
    tiny, square = found.results
    flagged = msgspec.structs.replace(found, results=(tiny, msgspec.structs.replace(square, below_bound=remark)))
    assert f"square: {remark}" in evaluation_text(flagged, problem_info().cases).splitlines()
    assert "derived" not in evaluation_text(found, problem_info().cases)


def test_a_failure_shows_its_case_and_reason_and_no_time() -> None:
    text = evaluation_text(failed())
    assert text.startswith("wrong: tiny: element (0, 3)")
    assert "  tiny: tiny: element (0, 3) is off by 0.5" in text
    assert "µs" not in text


def test_what_was_not_verified_is_never_called_verified() -> None:
    text = headline(Evaluation(status=Status.NOT_VERIFIED, reason="bf16 matrix product in the interpreter"))
    assert text == "not_verified: bf16 matrix product in the interpreter"


def test_what_was_not_judged_of_a_candidate_that_passed_is_named() -> None:
    named = "autotune:softmax_kernel=2 (BLOCK=64): not chosen"
    text = headline(msgspec.structs.replace(passed(32.0), unjudged=(named,)))
    others = f"not judged (other branches and configs are left out of files and exports): {named}"
    assert others in text.splitlines()
    raises = "raises where gradients are recorded: call it under torch.no_grad() (line 3: ValueError)"
    assert raises in headline(msgspec.structs.replace(passed(32.0), unjudged=(named, raises))).splitlines()
    more = [f"never exercised: k{number}: splits" for number in range(8)]
    text = headline(msgspec.structs.replace(passed(32.0), unjudged=(named, *more)))
    listed = "; ".join(f"k{number}: splits" for number in range(6))
    assert {others, f"never exercised: {listed}; and 2 more"} <= {*text.splitlines()}


def test_what_no_draw_varied_is_said_of_one_candidate_and_of_several() -> None:
    found = msgspec.structs.replace(passed(32.0), constant=("input mask",))
    said = "the same in every draw, so a kernel may have it built in: input mask"
    assert said in headline(found).splitlines()
    assert verifications_table([("one.py", found), ("two.py", found)]).splitlines()[-1] == said
    assert "built in" not in headline(passed(32.0)) + verifications_table([("one.py", passed(32.0))])


def test_kernels_that_look_alike_share_a_row() -> None:
    grid = kernels_grid([resources(40), resources(40), resources(48)])
    assert [row[0] for row in grid.rows] == ["softmax_kernel x2", "softmax_kernel"]


def test_resources_and_confinement_are_shown() -> None:
    text = evaluation_text(passed(32.0))
    kernel = next(line for line in text.splitlines() if line.startswith("softmax_kernel"))
    assert " ".join(kernel.split()) == "softmax_kernel sm_90 40 0 B 2.05 kB 4 3 75 % registers"
    assert "confinement:\n  network  none\n  gpu      not visible" in text
