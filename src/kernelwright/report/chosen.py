"""Choice of the trials that a page shows in full, and how much of each: of a long run, those that people look for.

A page of a few trials has everything. A longer one has in full the ancestors of the best kernel and the best `BEST`
trials, up to `DETAILS_BYTES`; every other trial on a line; and every reason of failure once (`reasons`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from kernelwright.report.trials import outcome, why
from kernelwright.report.view import RunView
from kernelwright.search.ranking import ranked
from kernelwright.text.markdown import shortened
from kernelwright.text.table import Grid, Section

NUMBERS = re.compile(r"\d+(\.\d+)?([eE][+-]?\d+)?")

REASON_CHARACTERS = 600

MOST_CHARACTERS = 250_000
"""Of all reasons together; a run with more has them in `show`."""

HEADER = ("status", "times", "trials", "reason, of the first of them")

NAMED = 12
"""Trials that are named for one reason."""

FEW = 100
"""Up to this number of trials a page shows each whole."""

BEST = 50

DETAILS_BYTES = 700_000
"""Limit for details on a page of about 3 MB: five thousand lines take up to 1.2, the picture of as many trials 0.7."""

LEAST_BYTES = 4_000
"""Size of the shortest trial: if less than this is left, no further trial is tried."""

TEXT_BYTES = 40_000
"""Limit for a single text; the journal and the trace have all of it."""


def wanted(view: RunView) -> tuple[int, ...] | None:
    """The trials to show in full, the most important first; None: all."""
    if len(view.trials) <= FEW:
        return None
    line = view.lineage(view.shown)[::-1]
    best = [trial.number for trial in ranked(view.trials)[:BEST]]
    ends = [view.seed.number] if view.seed is not None else []
    return tuple(dict.fromkeys([*line[:BEST], *ends, *view.confirmed, *best, *line]))


@dataclass
class Allowance:
    """The bytes left for details. None: no limit."""

    left_bytes: int | None

    @property
    def is_spent(self) -> bool:
        return self.left_bytes is not None and self.left_bytes < LEAST_BYTES

    def takes(self, texts: Iterable[str | None]) -> bool:
        """Whether these texts fit; if so, they are subtracted."""
        if self.left_bytes is None:
            return True
        size = sum(len(text.encode("utf-8", "backslashreplace")) for text in texts if text is not None)
        if size > self.left_bytes:
            return False
        self.left_bytes -= size
        return True

    def cut(self, text: str | None) -> str | None:
        if self.left_bytes is None or text is None or len(text) <= TEXT_BYTES:
            return text
        return f"{text[:TEXT_BYTES]}\n… and {len(text) - TEXT_BYTES} further characters, which the trace has"


def reasons_section(view: RunView) -> Section | None:
    """None for a run with a kernel whose trials are all shown whole, and where none failed."""
    if len(view.trials) <= FEW and view.leader is not None:
        return None
    found: dict[tuple[str, str], list[int]] = {}
    examples: dict[tuple[str, str], str] = {}
    for trial in view.trials:
        if trial.score_us is None:
            key = outcome(trial), NUMBERS.sub("#", why(trial)[:REASON_CHARACTERS])
            found.setdefault(key, []).append(trial.number)
            examples.setdefault(key, shortened(why(trial)[: 2 * REASON_CHARACTERS], REASON_CHARACTERS))
    if not found:
        return None
    rows, characters = [], 0
    for key, numbers in sorted(found.items(), key=lambda entry: (-len(entry[1]), entry[1][0])):
        more = f" and {len(numbers) - NAMED} more" if len(numbers) > NAMED else ""
        rows.append((key[0], str(len(numbers)), ", ".join(map(str, numbers[:NAMED])) + more, examples[key] or "-"))
        characters += sum(map(len, rows[-1]))
        if characters > MOST_CHARACTERS:
            break
    left = len(found) - len(rows)
    return Section(
        id="reasons",
        title="Why candidates failed",
        grid=Grid(HEADER, tuple(rows), frozenset(HEADER[2:])),
        notes=(f"{left} further reasons are rarer; kernelwright show {view.folder} has them.",) if left else (),
    )
