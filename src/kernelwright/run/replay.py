"""Resuming a run: its events are replayed into a fresh strategy."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from kernelwright.errors import RunFolderError
from kernelwright.journal import Event, EventKind, JudgedAgain, RunState
from kernelwright.model import Request
from kernelwright.search.protocol import Strategy


def replay(events: Iterable[Event], strategy: Strategy, folder: Path) -> RunState:
    """The run's state after these events. `strategy` (fresh) is brought to the same point.

    Raises `RunFolderError`, naming the event, where the strategy asks for a different request.
    """
    state = RunState()
    for event in events:
        if event.kind is EventKind.ASKED:
            asked = strategy.ask()
            if asked != event.payload:
                raise RunFolderError(
                    f"{folder} cannot be resumed: at event {event.seq} its journal has {_brief(event.payload)}, "
                    f"but the strategy now asks for {_brief(asked)}",
                    "resume with the kernelwright and the settings that began the run",
                )
        state.take(event)
        if event.kind is EventKind.TOLD and event.number is not None:
            strategy.tell(state.told[event.number])
        if isinstance(event.payload, JudgedAgain):
            strategy.tell(state.told[event.payload.trial])
    return state


def _brief(request: object) -> str:
    if not isinstance(request, Request):
        return "nothing"
    candidate = f", candidate {request.candidate.id}" if request.candidate else ""
    parents = ", ".join(map(str, request.parents)) or "none"
    return f"request {request.number} ({request.operator.value}, round {request.round}, parents {parents}{candidate})"
