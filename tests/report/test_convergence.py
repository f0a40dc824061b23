"""The convergence table."""

from __future__ import annotations

from kernelwright.model import Operator
from kernelwright.report.convergence import convergence_text
from samples import passed, run_view, short_run, trial


def test_the_table_gives_the_best_so_far_of_every_round_under_the_starter() -> None:
    lines = convergence_text(run_view(short_run(measured=True))).splitlines()
    assert lines[0] == "starter: 40.00 µs"
    cells = [line.split() for line in lines if line]
    assert cells[1] == ["Round", "1", "2"]
    assert cells[2] == ["Best", "(µs)", "30.00", "25.00"]
    assert cells[3] == ["Speedup", "1.33x", "1.60x"]
    assert cells[4] == ["Trials", "2", "3"]
    assert cells[5] == ["Passed", "1", "2"]
    assert lines[-2] == "best: round 2, 25.00 µs, 1.60x as fast as the starter"
    assert lines[-1] == "rounds that gained something: 2 of 2"


def test_estimates_are_in_no_ratio() -> None:
    text = convergence_text(run_view(short_run()))
    assert "best: round 2, 25.00 µs (estimate)\n" in text
    assert "Speedup" not in text


def test_many_rounds_wrap_into_blocks_in_one_unit() -> None:
    seed = trial(0, passed(9000.0), round=0, operator=Operator.SEED, parents=())
    more = [trial(number, passed(9000.0 - 300 * number), round=number) for number in range(1, 13)]
    text = convergence_text(run_view((seed, *more)))
    rounds = [line.split()[1:] for line in text.splitlines() if line.startswith("Round")]
    assert rounds == [[str(number) for number in range(1, 11)], ["11", "12"]]
    assert text.count("Best (ms, estimate)") == 2


def test_a_run_in_which_nothing_passed_has_a_table_of_dashes() -> None:
    text = convergence_text(run_view((trial(0, None, round=0, operator=Operator.SEED, parents=(), error="no code"),)))
    assert [line.split() for line in text.splitlines()][:2] == [["Round", "0"], ["Best", "(µs)", "-"]]
