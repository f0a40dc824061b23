"""The log in words: hypothesis, result and lesson of every trial, per generation."""

from __future__ import annotations

import msgspec
import pytest

from kernelwright.model import Claim, Operator, Reflection, Trial
from kernelwright.report.evolution import evolution_log
from samples import failed, passed, run_view, short_run, trial


def noted(one: Trial, **changes: object) -> Trial:
    return msgspec.structs.replace(one, proposal=msgspec.structs.replace(one.proposal, **changes))


SEED = trial(0, passed(40.0), round=0, operator=Operator.SEED, parents=())
RUN = (
    noted(SEED, note=""),
    noted(trial(1, passed(30.0)), note="wider rows", expected=1.2, author="anthropic:m"),
    noted(trial(2, failed()), note="fewer passes."),
    trial(3, passed(60.0), operator=Operator.REPAIR, parents=(2, 0)),
    trial(4, passed(25.0), operator=Operator.TUNE, parents=(1,)),
    trial(5, failed(), operator=Operator.TUNE, parents=(4,)),
    trial(6, None, round=2, parents=(4,), error="the reply has no code"),
    trial(7, passed(25.0), round=2, operator=Operator.MERGE, parents=(4, 3)),
    trial(8, passed(26.0), round=2, operator=Operator.TUNE, parents=(4,)),
)


def section(text: str, title: str) -> str:
    return text.partition(title)[2].partition("\n##")[0]


def test_each_trial_has_its_hypothesis_result_and_lesson() -> None:
    text = evolution_log(run_view(RUN))
    first = section(text, "### Trial 1: improve of 0, by anthropic:m")
    assert "- Hypothesis: wider rows. Expected: 1.20x.\n" in first
    assert "- Result: 30.00 µs (estimate).\n" in first
    assert "- Tuning: 2 configs of trial 1, best 25.00 µs (estimate) (trial 4).\n" in first
    broken = section(text, "### Trial 2: improve of 0")
    assert "- Hypothesis: fewer passes.\n- Result: wrong: tiny: element (0, 3) is off by 0.5\n" in broken
    assert "- Lesson: it was repaired (trial 3)." in broken
    assert "- Result: 60.00 µs (estimate).\n" in section(text, "### Trial 3: repair of 2 and 0")
    assert "- Hypothesis: as it was given." in section(text, "### Trial 0: seed")
    assert "- Result: no candidate: the reply has no code" in section(text, "### Trial 6")
    assert "it became the parent of 1 trial" in section(text, "### Trial 3")


def test_each_generation_says_what_it_began_with_and_whether_it_gained() -> None:
    text = evolution_log(run_view(RUN))
    assert "## Generation 0: what it started from" in text
    first = text.partition("## Generation 1")[2].partition("## Generation 2")[0]
    assert "Best before it: 40.00 µs (estimate) (trial 0)." in first
    assert "**It gained**: best now 25.00 µs (estimate) (trial 4)." in first
    second = text.partition("## Generation 2")[2]
    assert "**It gained nothing**." in second
    assert "Tuned further:\n- 1 config of trial 1, best 26.00 µs (estimate) (trial 8)." in second
    assert "1 of 2 generations gained something." in text
    assert "Every time is an estimate: nothing was timed." in text


@pytest.mark.parametrize(
    ("holds", "words"),
    [
        (True, "rows spill. (registers up holds; by test.)"),
        (False, "registers up does not hold; by test.) Not passed on."),
    ],
)
def test_a_lesson_is_given_with_the_checks_of_its_claims(holds: bool, words: str) -> None:
    reflection = Reflection(
        trial=1, lesson="rows spill.", claims=(Claim(counter="registers", direction="up", holds=holds),)
    )
    told = (*RUN[:7], noted(RUN[7], reflection=reflection, author="test"), RUN[8])
    assert words in section(evolution_log(run_view(told)), "### Trial 1:")


def test_a_run_of_nothing_has_a_log_too() -> None:
    assert "no kernel passed" in evolution_log(run_view(()))


def test_what_somebody_wrote_begins_no_heading_link_or_tag_of_the_log() -> None:
    hostile = "wider\n\n## Generation 9: the end\n\n<img src=x> ![seen](http://127.0.0.1/x)"
    trials = [
        msgspec.structs.replace(
            one, proposal=msgspec.structs.replace(one.proposal, note=hostile, diagnosis=hostile, author=f"a\n# {n}")
        )
        for n, one in enumerate(short_run())
    ]
    log = evolution_log(run_view(tuple(trials)))
    assert [line for line in log.splitlines() if line.startswith("#") and "Generation 9" in line] == []
    assert [line for line in log.splitlines() if line.startswith("# ")] == ["# How one went"]
    assert "<img" not in log
    assert "](" not in log
