"""The convergence table: the best time so far, round by round, below the time of the run's first kernel.

These are the scores of the search; confirmed times are in the report.
"""

from __future__ import annotations

from kernelwright.report.view import RunView
from kernelwright.search.convergence import Round, convergence, gains
from kernelwright.text.table import table
from kernelwright.text.units import Kind, label, number_text, time_text, times_text, unit_for

ROUNDS_PER_BLOCK = 10
"""A wider table wraps in a terminal of 100 columns."""


def convergence_text(view: RunView) -> str:
    """The seed's time, the table, and where the best came from."""
    rounds = convergence(view.trials)
    kind = view.timing_kind
    seed, leader = view.seed, view.leader
    lines = []
    if seed is not None and seed.score_us is not None:
        lines.append(f"{view.seed_name}: {time_text(seed.score_us, kind)}")
    shown = [row for row in rounds if row.round > 0] or rounds
    for first in range(0, len(shown), ROUNDS_PER_BLOCK):
        lines += ["", _block(shown[first : first + ROUNDS_PER_BLOCK], rounds, kind)]
    if leader is not None and leader.score_us is not None and leader is not seed:
        gain = ""
        if kind == "measured" and seed is not None and seed.score_us:
            gain = f", {times_text(seed.score_us / leader.score_us)} as fast as the {view.seed_name}"
        lines += ["", f"best: round {leader.request.round}, {time_text(leader.score_us, kind)}{gain}"]
    searched = {trial.request.round for trial in view.trials} - {0}
    if searched:
        gained = {trial.request.round for trial in gains(view.trials)} & searched
        lines += [f"rounds that gained something: {len(gained)} of {len(searched)}"]
    return "\n".join(lines).strip("\n")


def _block(shown: list[Round], rounds: list[Round], kind: Kind | None) -> str:
    unit, measured = unit_for(row.best_so_far_us for row in rounds), kind == "measured"
    header = ["Round", *(str(row.round) for row in shown)]
    return table(
        header,
        [
            [f"Best ({label(unit, kind)})", *(number_text(row.best_so_far_us, unit) for row in shown)],
            *([["Speedup", *(times_text(row.speedup) if row.speedup else "-" for row in shown)]] if measured else []),
            ["Trials", *(str(row.trials) for row in shown)],
            ["Passed", *(str(row.passed) for row in shown)],
        ],
    )
