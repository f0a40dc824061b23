"""Progress, as a view of events."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelwright.cli.display import wants_live
from kernelwright.cli.progress import Progress
from kernelwright.journal import Event, Journal
from kernelwright.model import Budget, Operator, Request, Usage
from samples import passed, run_info, short_run, trial


def events(folder: Path) -> list[Event]:
    """A seed, then a wrong candidate, a better one whose confirmation passes, and a request under way."""
    with Journal.create(folder, run_info()) as journal:
        journal.append_started(Budget(trials=10))
        seed, better, wrong = short_run()[:3]
        for one in (seed, wrong, better):
            journal.append_asked(one.request)
            journal.append_proposed(one.number, one.proposal)
            assert one.evaluation is not None
            journal.append_evaluated(one.number, one.evaluation)
            journal.append_told(one.number)
        journal.append_asked(Request(number=3, operator=Operator.IMPROVE, round=2, parents=(1,)))
        return journal.events()


def test_each_event_but_a_telling_is_one_line(tmp_path: Path) -> None:
    progress = Progress(run_info(), Budget(trials=10))
    lines = [progress.take(event) for event in events(tmp_path)]
    assert lines[0] == "search starts; budget left: 10 of 10 trials"
    assert lines[1:5] == [
        "trial 0 asked: seed, round 0",
        "trial 0 proposed by starter: note 0",
        "trial 0 evaluation: passed, 40.00 µs (estimate); leads: 40.00 µs (estimate) (trial 0), 40 % of the bound",
        None,
    ]
    assert lines[7] == "trial 2 evaluation: wrong: tiny: element (0, 3) is off by 0.5"
    assert lines[11] == (
        "trial 1 evaluation: passed, 30.00 µs (estimate); leads: 30.00 µs (estimate) (trial 1), "
        "1.33x as fast as trial 0, 53 % of the bound"
    )
    assert not any("\n" in line for line in lines if line)


def test_rows_show_best_tally_running_and_what_is_left(tmp_path: Path) -> None:
    progress = Progress(run_info(), Budget(trials=10, minutes=2, usd=1.5), spent_s=30.0)
    for event in events(tmp_path):
        progress.take(event)
    rows = dict(progress.rows(elapsed_s=60.0))
    assert rows["search"] == "softmax, beam with builtin, 60 s"
    assert rows["best so far"].startswith("30.00 µs (estimate) (trial 1)")
    assert rows["trials"] == "2 passed, 1 wrong"
    assert rows["running"] == "3 improve (proposing)"
    assert rows["budget left"] == "6 of 10 trials, 0.5 of 2 minutes, 1.50 of 1.5 USD"


def test_tokens_and_money_of_earlier_sessions_count(tmp_path: Path) -> None:
    costly = trial(0, passed(40.0), usage=Usage(input_tokens=600, output_tokens=100, cost_usd=0.4, requests=1))
    with Journal.create(tmp_path, run_info()) as journal:
        journal.append_started(Budget())
        journal.append_asked(costly.request)
        journal.append_proposed(0, costly.proposal)
        earlier = journal.events()
    rows = dict(Progress(run_info(), Budget(tokens=1000, usd=1.0), earlier).rows(0.0))
    assert rows["budget left"] == "300 of 1000 tokens, 0.60 of 1 USD"
    assert rows["running"] == "0 improve (evaluating)"


def test_after_the_last_telling_what_was_found_is_being_confirmed(tmp_path: Path) -> None:
    with Journal.create(tmp_path, run_info()) as journal:
        seed = short_run()[0]
        journal.append_started(Budget())
        progress = Progress(run_info(), Budget(), journal.events())
        assert dict(progress.rows(0.0))["running"] == "nothing"
        journal.append_asked(seed.request)
        journal.append_proposed(0, seed.proposal)
        journal.append_told(0)
        for event in journal.events():
            progress.take(event)
        assert dict(progress.rows(0.0))["running"] == "confirming what was found"
        assert progress.take(journal.append_confirmed(0, passed(41.0))) == (
            "trial 0 confirmation: passed, 41.00 µs (estimate)"
        )
        assert progress.take(journal.append_stopped("finished", 2.0)) == "search stops: finished"
        assert dict(progress.rows(0.0))["running"] == "nothing"


@pytest.mark.parametrize(
    ("is_terminal", "environment", "live"),
    [
        (True, {"TERM": "xterm"}, True),
        (False, {"TERM": "xterm"}, False),
        (True, {"TERM": "dumb"}, False),
        (True, {}, False),
        (True, {"TERM": "xterm", "NO_COLOR": "1"}, False),
        (True, {"TERM": "xterm", "NO_COLOR": ""}, True),
    ],
)
def test_only_a_willing_terminal_gets_a_live_display(
    is_terminal: bool, environment: dict[str, str], live: bool
) -> None:
    assert wants_live(is_terminal, environment) is live
