"""Whether the events of a journal follow from each other, so that what is computed from them cannot fail.

Each event was decoded by itself before. A journal that was damaged or written by another program may still hold an
evaluation of a trial that was not asked for, a time of zero or a number of 400 digits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from kernelwright import codec
from kernelwright.errors import RunFolderError
from kernelwright.journal.events import SESSION_KINDS, Event, EventKind, SessionEnd
from kernelwright.model import Evaluation, LaneChange, Proposal, Request, RunInfo
from kernelwright.text.escape import ACTS

ENDS_A_TEXT = re.compile(f'["\\\\\n\t]|{ACTS.pattern}')
"""What would end a docstring, a comment or a line, or act on a terminal; no version or device has it in its name."""

MOST = 2**62
"""No count, size or time of a run comes near it; a larger number cannot be computed with as a float or printed."""

ERRORS = frozenset({"max_abs_error", "max_rel_error", "element_error"})
"""Fields of a case that may be larger: a draw may have values of 2**100, and so may an error that is allowed there."""


def check(path: Path, info: RunInfo, events: Iterable[Event]) -> None:
    """Raise `RunFolderError` with the first thing that does not follow."""
    for fault in head_faults(info):
        raise RunFolderError(f"the head of {path} does not make sense: {fault}", "take an undamaged copy of the run")
    history = History()
    for event in events:
        fault = history.fault(event)
        if fault:
            which = f"event {event.seq} of {path} ({event.kind.value})"
            raise RunFolderError(f"{which} does not make sense: {fault}", "take an undamaged copy of the run")


def head_faults(info: RunInfo) -> Iterator[str]:
    """The problem's name becomes part of the names of files; versions and names are put into comments and docstrings of
    exported code."""
    name, where = info.problem.name, info.environment
    if name in ("", ".", "..") or "/" in name:
        yield f"the problem's name is {name[:40]!r}"
    for word in (name, info.kernelwright, info.created, where.kernelwright, where.date, where.device, where.target,
                 where.python, where.torch, where.triton, where.driver, where.peaks_source):  # fmt: skip
        if word is not None and ENDS_A_TEXT.search(word):
            yield f"one of its names is {word[:40]!r}"
    for case in info.problem.cases:
        if not case.bound.bound_us > 0:
            yield f"the bound of case {case.case.name} is {case.bound.bound_us} µs"
    yield from large_numbers(info)


class History:
    """What happened to each trial so far."""

    def __init__(self) -> None:
        self._seen: dict[EventKind, set[int]] = {kind: set() for kind in EventKind}
        self._empty: set[int] = set()
        """Proposals without a candidate."""

    def fault(self, event: Event) -> str:
        """What is wrong with the next event; "" where nothing is."""
        number, payload = event.number, event.payload
        if fault := time_fault(event.time):
            return fault
        if (number is None) != (event.kind in SESSION_KINDS):
            return f"its number is {number}"
        if isinstance(payload, SessionEnd) and not 0 <= payload.seconds < MOST:
            return f"the session took {payload.seconds} s"
        if isinstance(payload, LaneChange) and not (0 <= payload.seconds < MOST and payload.evaluations >= 0):
            return f"it lost {payload.evaluations} evaluations of {payload.seconds} s"
        if number is not None:
            if not 0 <= number < MOST:
                return f"its number is {number}"
            if fault := self._out_of_turn(event.kind, number, payload):
                return fault
            self._seen[event.kind].add(number)
        if isinstance(payload, Proposal) and payload.candidate is None and number is not None:
            self._empty.add(number)
        if isinstance(payload, Evaluation) and (fault := figures_fault(payload)):
            return fault
        return ""

    def _out_of_turn(self, kind: EventKind, number: int, payload: object) -> str:
        asked, proposed = self._seen[EventKind.ASKED], self._seen[EventKind.PROPOSED]
        if isinstance(payload, Request):
            if payload.number != number:
                return f"it is request {payload.number} under the number {number}"
            strangers = [parent for parent in payload.parents if parent not in asked]
            return f"its parent {strangers[0]} was not asked for" if strangers else ""
        if number not in asked:
            return f"trial {number} was not asked for"
        if kind is not EventKind.PROPOSED and number not in proposed:
            return f"trial {number} was not proposed"
        if kind in (EventKind.EVALUATED, EventKind.PROFILED) and number in self._empty:
            return f"trial {number} has no candidate"
        if kind in (EventKind.TOLD, EventKind.CONFIRMED) and not (
            number in self._seen[EventKind.EVALUATED] or (kind is EventKind.TOLD and number in self._empty)
        ):
            return f"trial {number} was not evaluated"
        return ""


def time_fault(text: str) -> str:
    try:
        aware = datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        aware = False
    return "" if aware else f"its time is {text[:40]!r}"


def figures_fault(evaluation: Evaluation) -> str:
    """A time is above 0: everything is divided by it."""
    if evaluation.score_us is not None and not evaluation.score_us > 0:
        return f"its score is {evaluation.score_us} µs"
    for result in evaluation.results:
        timing = result.timing
        if timing is not None and not (timing.median_us > 0 and all(end > 0 for end in timing.ci95_us or ())):
            return f"the time of case {result.case} is {timing.median_us} µs, between {timing.ci95_us}"
        if timing is not None and not timing.scale > 0:
            return f"the time of case {result.case} is scaled by {timing.scale}"
    return ""


def large_numbers(value: Any) -> Iterator[str]:
    """Numbers in a record that cannot be computed with."""
    todo = [codec.plain(value)]
    while todo:
        one = todo.pop()
        if isinstance(one, dict):
            todo += [each for name, each in one.items() if name not in ERRORS]
        elif isinstance(one, (list, tuple)):
            todo += one
        elif isinstance(one, (int, float)) and not -MOST < one < MOST:
            yield "a number has more than 62 bits" if isinstance(one, int) else f"a number is {one}"
