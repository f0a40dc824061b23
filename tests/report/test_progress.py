"""Progress, as a view of events."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from kernelwright.journal import Event, Journal, Profiles, RunState, fold
from kernelwright.model import Budget, Operator, Profile, Request, Usage
from kernelwright.report.progress import Progress
from samples import passed, run_info, short_run, trial


def began(events: list[Event]) -> datetime:
    return datetime.fromisoformat(events[0].time)


def events(folder: Path, budget: Budget = Budget(trials=10)) -> list[Event]:  # noqa: B008
    """A seed, then a wrong candidate, a better one whose confirmation passes, and a request under way."""
    with Journal.create(folder, run_info()) as journal:
        journal.append_started(budget)
        seed, better, wrong = short_run()[:3]
        for one in (seed, wrong, better):
            journal.append_asked(one.request)
            journal.append_proposed(one.number, one.proposal)
            assert one.evaluation is not None
            journal.append_evaluated(one.number, one.evaluation)
            journal.append_told(one.number)
        journal.append_asked(Request(number=3, operator=Operator.IMPROVE, round=2, parents=(1,)))
        return journal.events()


def lines_of(found: list[Event]) -> list[str | None]:
    progress, lines = Progress(run_info(), state := RunState()), []
    for event in found:
        state.take(event)
        lines.append(progress.line(event))
    return lines


def test_each_event_but_a_telling_is_one_line(tmp_path: Path) -> None:
    lines = lines_of(events(tmp_path))
    assert lines[0] == "search starts; budget left: 10 of 10 trials"
    assert lines[1:5] == [
        "trial 0 asked: seed, round 0",
        "trial 0 proposed by starter: note 0",
        "trial 0 evaluation: passed, 40.00 µs (estimate); leads: 40.00 µs (estimate) (trial 0)",
        None,
    ]
    assert lines[7] == "trial 2 evaluation: wrong: tiny: element (0, 3) is off by 0.5"
    assert lines[11] == ("trial 1 evaluation: passed, 30.00 µs (estimate); leads: 30.00 µs (estimate) (trial 1)")
    assert not any("\n" in line for line in lines if line)


def test_what_is_left_of_the_gpu_seconds_counts_what_the_budget_counts(tmp_path: Path) -> None:
    seed = short_run()[0]
    assert seed.evaluation is not None
    timed = msgspec.structs.replace(seed.evaluation, stages_s={"compile": 5.0, "verify": 1.0, "time": 2.0})
    profile = Profile(
        implementation="x", case="square", device="GPU", target="sm_90", tool="ncu", launches=(), seconds=12.0
    )
    with Journal.create(tmp_path, run_info()) as journal:
        journal.append_started(Budget(gpu_seconds=20))
        journal.append_asked(seed.request)
        journal.append_proposed(0, seed.proposal)
        journal.append_evaluated(0, timed)
        journal.append_told(0)
        journal.append_profiled(0, Profiles(profiles=(profile,)))
        found = journal.events()
    rows = dict(Progress(run_info(), fold(found)).rows(began(found)))
    assert rows["budget left"] == "5.0 of 20 GPU seconds"
    assert "GPU busy" not in rows, "there is none"
    on_gpu = Progress(run_info(device="NVIDIA H200"), fold(found)).rows(began(found) + timedelta(seconds=60))
    assert dict(on_gpu)["GPU busy"] == "25 %"


def test_rows_show_best_tally_running_and_what_is_left(tmp_path: Path) -> None:
    found = events(tmp_path, Budget(trials=10, minutes=20, usd=1.5))
    rows = dict(Progress(run_info(), fold(found)).rows(began(found) + timedelta(seconds=60)))
    assert rows["search"] == "softmax, beam with builtin, 1 min 0 s"
    assert rows["best so far"].startswith("30.00 µs (estimate) (trial 1)")
    assert rows["gap"] == "not known"
    assert rows["trials"] == "2 passed, 1 wrong"
    assert rows["running"] == "3 improve (proposing)"
    assert rows["budget left"] == "6 of 10 trials, 19.0 of 20 minutes, 1.50 of 1.5 USD"
    at = began(found) + timedelta(seconds=60 + 140)
    assert rows["ends"] == f"about {at:%H:%M}, in 2 min 20 s, or earlier", "7 more trials, three having taken 60 s"


def test_what_lies_between_sessions_is_no_time_of_the_run(tmp_path: Path) -> None:
    with Journal.create(tmp_path, run_info()) as journal:
        journal.append_started(Budget(minutes=10))
        journal.append_stopped("paused", 120.0)
        state = fold(journal.events())
        progress = Progress(run_info(), state)
        later = datetime.now(UTC) + timedelta(hours=5)
        paused = dict(progress.rows(later))
        assert paused["budget left"] == "8.0 of 10 minutes"
        assert paused["running"] == "paused: nothing, until `kernelwright resume`"
        assert paused["ends"] == "after a pause"
        again = journal.append_started(Budget(minutes=10))
        state.take(again)
        rows = dict(progress.rows(datetime.fromisoformat(again.time) + timedelta(seconds=60)))
        assert rows["budget left"] == "7.0 of 10 minutes"


def test_tokens_and_money_of_earlier_sessions_count(tmp_path: Path) -> None:
    costly = trial(0, passed(40.0), usage=Usage(input_tokens=600, output_tokens=100, cost_usd=0.4, requests=1))
    with Journal.create(tmp_path, run_info()) as journal:
        journal.append_started(Budget(tokens=1000, usd=1.0))
        journal.append_asked(costly.request)
        journal.append_proposed(0, costly.proposal)
        earlier = journal.events()
    rows = dict(Progress(run_info(), fold(earlier)).rows(began(earlier)))
    assert rows["budget left"] == "300 of 1000 tokens, 0.60 of 1 USD"
    assert rows["running"] == "0 improve (evaluating)"


def test_after_the_last_telling_what_was_found_is_being_confirmed(tmp_path: Path) -> None:
    with Journal.create(tmp_path, run_info()) as journal:
        seed = short_run()[0]
        journal.append_started(Budget())
        found = journal.events()
        now = began(found)
        assert dict(Progress(run_info(), fold(found)).rows(now))["running"] == "nothing"
        journal.append_asked(seed.request)
        journal.append_proposed(0, seed.proposal)
        journal.append_told(0)
        assert (
            dict(Progress(run_info(), fold(journal.events())).rows(now))["running"] == "verifying again what was found"
        )
        journal.append_confirmed(0, passed(41.0))
        journal.append_stopped("finished", 2.0)
        assert lines_of(journal.events())[-2:] == [
            "trial 0 second verification: passed, 41.00 µs (estimate)",
            "search stops: finished",
        ]
        rows = dict(Progress(run_info(), fold(journal.events())).rows(now))
        assert (rows["running"], rows["ends"]) == ("nothing", "ended: finished")
