"""Consistency check of a journal's events, so that computations from them cannot fail.

Decoding checks each event alone. A journal that was damaged, or written by another program, may still contain an
evaluation of a trial that was never requested, a time of zero or a number of 400 digits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from kernelwright import codec
from kernelwright.errors import RunFolderError
from kernelwright.journal.events import SESSION_KINDS, Event, EventKind, JudgedAgain, SessionEnd
from kernelwright.model import Evaluation, LaneChange, Proposal, Request, RunInfo
from kernelwright.text.escape import ACTS

ENDS_A_TEXT = re.compile(f'["\\\\\n\t]|{ACTS.pattern}')
"""Characters that end a docstring, a comment or a line, or control a terminal. No name of a version or device has them.
"""

MOST = 2**62
"""Upper limit of every number. No count, size or time of a run comes near it; computing with or printing a larger
number may fail."""

ERRORS = frozenset({"max_abs_error", "max_rel_error", "element_error"})
"""Fields that may exceed `MOST`: inputs may have values of 2**100, and so may an allowed error."""


def check(path: Path, info: RunInfo, events: Iterable[Event], history: History) -> None:
    """Raise `RunFolderError` for the first inconsistent event. history: the events before, and then these, too."""
    for fault in head_faults(info):
        raise RunFolderError(f"the head of {path} does not make sense: {fault}", "take an undamaged copy of the run")
    for event in events:
        fault = history.fault(event)
        if fault:
            which = f"event {event.seq} of {path} ({event.kind.value})"
            raise RunFolderError(f"{which} does not make sense: {fault}", "take an undamaged copy of the run")


def head_faults(info: RunInfo) -> Iterator[str]:
    """Faults of the journal's head. The problem's name becomes part of file names; versions and names are written into
    comments and docstrings of exported code."""
    name, where = info.problem.name, info.environment
    if name in ("", ".", "..") or "/" in name:
        yield f"the problem's name is {name[:40]!r}"
    names = (name, info.problem.dtype, info.kernelwright, info.created, where.kernelwright, where.date, where.device,
             where.target, where.python, where.torch, where.triton, where.driver, where.peaks_source)  # fmt: skip
    for word in names:
        if word is not None and ENDS_A_TEXT.search(word):
            yield f"one of its names is {word[:40]!r}"
    for case in info.problem.cases:
        if not case.bound.bound_us > 0:
            yield f"the bound of case {case.case.name} is {case.bound.bound_us} µs"
    yield from large_numbers(info)


class History:
    """Checks events one by one; remembers which events each trial has had."""

    def __init__(self) -> None:
        self._seen: dict[EventKind, set[int]] = {kind: set() for kind in EventKind}
        self._empty: set[int] = set()
        """Trials whose proposal has no candidate."""

    def fault(self, event: Event) -> str:
        """The fault of the next event; "" if there is none."""
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
        if isinstance(payload, JudgedAgain):
            if payload.trial not in self._seen[EventKind.TOLD] or payload.trial in self._empty:
                return f"trial {payload.trial} was not evaluated"
            payload = payload.evaluation
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
    """The fault of the first score, time or scale that is not above 0; "" if all are. Other code divides by them."""
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
    """Numbers in a record that are not between -MOST and MOST, infinite and NaN included."""
    todo = [codec.plain(value)]
    while todo:
        one = todo.pop()
        if isinstance(one, dict):
            todo += [each for name, each in one.items() if name not in ERRORS]
        elif isinstance(one, (list, tuple)):
            todo += one
        elif isinstance(one, (int, float)) and not -MOST < one < MOST:
            yield "a number has more than 62 bits" if isinstance(one, int) else f"a number is {one}"
