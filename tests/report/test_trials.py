"""Trials as text."""

from __future__ import annotations

import msgspec

from kernelwright.model import Evaluation, Exchange, Operator, Reflection, Usage
from kernelwright.report.trials import short_trial, tally, tokens_text, trial_text, trials_table
from samples import BLOCK, failed, passed, resources, run_view, short_run, trial


def test_every_trial_has_a_row_and_the_confirmed_best_a_mark() -> None:
    view = run_view(short_run(), confirmed={4: passed(26.0)})
    rows = [line.split() for line in trials_table(view).splitlines()]
    assert [row[0] for row in rows[1:7]] == ["0", "1", "2", "3", "4", "5"]
    assert rows[5][:8] == ["4", "*", "2", "improve", "1", "builtin", "passed", "25.00"]
    assert rows[6][:6] == ["5", "2", "improve", "1", "builtin", "no_candidate"]
    assert rows[6][-3:] == ["reply", "without", "code"]


def test_the_tally_counts_proposals_that_failed() -> None:
    assert tally(short_run()) == {"passed": 4, "no_candidate": 1, "wrong": 1}


def test_one_trial_is_shown_whole() -> None:
    shown = trial(
        1,
        passed(30.0),
        config={BLOCK: 2048},
        usage=Usage(input_tokens=900, output_tokens=80, cost_usd=0.0125, requests=1),
    )
    text = trial_text(shown, run_view((shown,), confirmed={1: passed(31.0)}))
    assert text.startswith("trial 1, round 1: improve of 0, by builtin\nnote 1")
    assert "900 tokens in, 80 out, 0.0125 USD" in text
    assert "30.00 µs (estimate)" in text
    assert "confirmation, in a fresh process" in text
    assert "31.00 µs (estimate)" in text
    assert "BLOCK=2048" in text


def test_what_a_cache_served_is_shown_with_what_was_written_to_it() -> None:
    usage = Usage(input_tokens=900, cached_tokens=700, cache_written_tokens=50, output_tokens=80)
    assert tokens_text(usage) == "900 tokens in (700 from the cache, 50 written to it), 80 out, price unknown"
    assert tokens_text(Usage(input_tokens=9)) == "9 tokens in, 0 out, price unknown"


def test_a_config_that_does_not_fit_is_said_above_the_source() -> None:
    shown = trial(1, passed(30.0), config={"OTHER": 2})
    text = trial_text(shown, run_view((shown,)))
    assert "# config {'OTHER': 2} not written in" in text
    assert "BLOCK=1024" in text


def test_what_an_author_said_of_a_trial_and_of_a_surprise_is_shown() -> None:
    trials = list(short_run())
    proposal = msgspec.structs.replace(
        trials[1].proposal,
        expected=1.5,
        diagnosis="overruled: the loads are wide",
        edit="mended",
        exchanges=(Exchange(kind="reflect", prompt="p", reply="r"),),
        reflection=Reflection(trial=0, lesson="It waits."),
    )
    trials[1] = msgspec.structs.replace(trials[1], proposal=proposal)
    text = trial_text(trials[1], run_view(tuple(trials)))
    assert "expected: 1.50x as fast as its first parent" in text
    assert "of the diagnosis that it was given it says: overruled: the loads are wide" in text
    assert "written as a diff: mended" in text
    assert "asked beside it: reflect" in text
    assert "of trial 0 it says: It waits. (not passed on: its claims do not all hold, or there is none)" in text


def spilling(score_us: float, measured: bool) -> Evaluation:
    kernel = msgspec.structs.replace(resources(), spill_bytes=432)
    return msgspec.structs.replace(passed(score_us, measured), kernels=(kernel,))


def why_of(number: int, *others: Evaluation, measured: bool = False) -> str:
    """What a short verdict says of the last of these trials: a seed, then improvements of it."""
    first = trial(0, others[0], operator=Operator.SEED, parents=())
    trials = (first, *(trial(n, one) for n, one in enumerate(others[1:], start=1)))
    return str(short_trial(trials[number], run_view(trials))["why"])


def test_a_short_verdict_on_a_pass_is_its_ratio_to_parent_and_best_and_its_bottleneck_not_the_note() -> None:
    why = why_of(1, passed(30.0, measured=True), spilling(58.5, measured=True))
    assert why == (
        "1.95 times slower than trial 0, its parent and the best of the others. "
        "Registers do not suffice, and values go to memory and back: spills 432 bytes/thread"
    )
    why = why_of(2, passed(30.0, measured=True), passed(20.0, measured=True), passed(25.0, measured=True))
    assert why.startswith("1.20 times faster than trial 0, its parent; 1.25 times slower than trial 1, the best of the")
    why = why_of(1, passed(30.0), spilling(30.0, measured=False))
    assert why.startswith(
        "as fast as trial 0, its parent and the best of the others (estimates: they do not compare two"
    )
    assert "spills 432 bytes/thread" in why


def test_a_trial_is_compared_with_nothing_that_failed() -> None:
    assert why_of(1, failed(), passed(30.0, measured=True)).startswith("the first kernel that passed. ")
    assert why_of(0, failed()).startswith("tiny: element (0, 3) is off by 0.5")
