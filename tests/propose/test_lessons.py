"""Lesson cards: which lessons become one, what is on it, and that people's edits stay."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from fakes import ENVIRONMENT, PROBLEM
from kernelwright.errors import RunFolderError
from kernelwright.model import Claim, Evaluation, Reflection, Trial
from kernelwright.propose.lessons import MOST_CARDS, read_cards, write_cards
from proposing import OTHER, passed, starter, trial

HOLDS = Claim(counter="registers", direction="up", holds=True)
LESSON = Reflection(trial=1, lesson="Adding loads twice.", claims=(HOLDS,))


def told(reflection: Reflection = LESSON, evaluation: Evaluation | None = None) -> list[Trial]:
    slower = trial(1, OTHER, evaluation=evaluation or passed(300.0), parents=(0,))
    later = trial(2, OTHER + "x = 1\n", evaluation=passed(90.0), parents=(0,))
    later = msgspec.structs.replace(later, proposal=msgspec.structs.replace(later.proposal, reflection=reflection))
    return [starter(), slower, later]


def written(folder: Path, *trials: Trial) -> tuple[Path, ...]:
    return write_cards(folder, trials or told(), PROBLEM, ENVIRONMENT, "double-1")


def test_a_card_says_what_was_learned_where_when_and_by_which_figures(tmp_path: Path) -> None:
    (path,) = written(tmp_path)
    lines = path.read_text().splitlines()
    assert lines[0] == "# Adding loads twice."
    assert "- problem: double" in lines
    assert "- device: Fake GPU (sm_90)" in lines
    assert "- library: none" in lines
    assert "- by: test" in lines
    assert "- evidence: trial 1 of trial 0: 100 µs → 300 µs; no compiler counter moved" in lines
    assert "- claims: registers up" in lines
    assert "- run: double-1" in lines
    date = path.name[:10]
    assert f"- date: {date}" in lines
    assert read_cards(tmp_path) == (
        f"Adding loads twice. ({date}, double, Fake GPU (sm_90), library steps: none). "
        "Evidence: trial 1 of trial 0: 100 µs → 300 µs; no compiler counter moved.",
    )


def test_a_card_that_is_there_is_left_as_people_edited_it(tmp_path: Path) -> None:
    (path,) = written(tmp_path)
    path.write_text("# Adding loads twice, on old compilers.\n")
    assert written(tmp_path) == ()
    assert read_cards(tmp_path) == ("Adding loads twice, on old compilers. (no date).",)


@pytest.mark.parametrize(
    "reflection",
    [
        Reflection(trial=1, lesson="An opinion."),
        Reflection(trial=1, lesson="Wrong.", claims=(HOLDS, Claim(counter="x", direction="up", holds=False))),
        Reflection(trial=1, lesson="Unknown.", claims=(Claim(counter="x", direction="up", holds=None),)),
        Reflection(trial=9, lesson="About nothing.", claims=(HOLDS,)),
    ],
    ids=["no claim", "a false claim", "a claim nobody can check", "an unknown trial"],
)
def test_a_lesson_that_does_not_stand_becomes_no_card(tmp_path: Path, reflection: Reflection) -> None:
    assert written(tmp_path, *told(reflection)) == ()


def test_what_was_only_estimated_becomes_no_card(tmp_path: Path) -> None:
    assert written(tmp_path, *told(evaluation=passed(300.0, "estimate"))) == ()


def test_a_folder_that_is_not_there_holds_no_cards_and_of_many_the_latest_are_read(tmp_path: Path) -> None:
    assert read_cards(tmp_path / "nowhere") == ()
    for day in range(10, 10 + MOST_CARDS + 5):
        (tmp_path / f"{day}.md").write_text(f"# Day {day}.\n- date: 2026-01-{day}\n\nFor people.\n")
    cards = read_cards(tmp_path)
    assert len(cards) == MOST_CARDS
    assert cards[0] == f"Day {10 + MOST_CARDS + 4}. (2026-01-{10 + MOST_CARDS + 4})."


def test_a_card_without_a_title_is_a_fault_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "x.md").write_text("- date: 2026-01-01\n")
    with pytest.raises(RunFolderError, match=r"x\.md has no title"):
        read_cards(tmp_path)
