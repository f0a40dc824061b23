"""How far each request of a run has got, built from its events alone, live and on resuming.

It asks and evaluates nothing. The one rule: a resumed run must be the run that was killed, so every recorded ask is
compared with what the fresh strategy asks now.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kernelwright.errors import RunFolderError
from kernelwright.journal import Abandoned, Event, EventKind, Profiles
from kernelwright.model import Answered, Candidate, Evaluation, Incumbent, Proposal, Request, Trial, incumbent_of
from kernelwright.search.protocol import Strategy


@dataclass
class State:
    """By trial number, each in the order of the events. A trial is open from its asking to its telling."""

    requests: dict[int, Request] = field(default_factory=dict)
    proposals: dict[int, Proposal] = field(default_factory=dict)
    evaluations: dict[int, Evaluation] = field(default_factory=dict)
    told: dict[int, Trial] = field(default_factory=dict)
    confirmations: dict[int, Evaluation] = field(default_factory=dict)
    profiles: dict[int, Profiles] = field(default_factory=dict)
    answers: dict[int, tuple[Answered, ...]] = field(default_factory=dict)
    abandoned: list[Abandoned] = field(default_factory=list)

    def take(self, event: Event) -> None:
        number, payload = event.number, event.payload
        if isinstance(payload, Answered):
            self.answers[payload.trial] = (*self.answers.get(payload.trial, ()), payload)
        elif isinstance(payload, Abandoned):
            self.abandoned.append(payload)
        if number is None:
            return
        if isinstance(payload, Request):
            self.requests[number] = payload
        elif isinstance(payload, Proposal):
            self.proposals[number] = payload
        elif isinstance(payload, Evaluation):
            kept = self.confirmations if event.kind is EventKind.CONFIRMED else self.evaluations
            kept[number] = payload
        elif isinstance(payload, Profiles):
            self.profiles[number] = payload
        else:
            self.told[number] = Trial(
                request=self.requests[number],
                proposal=self.proposals[number],
                evaluation=self.evaluations.get(number),
            )

    def open_numbers(self) -> list[int]:
        return [number for number in self.requests if number not in self.told]

    def trials(self) -> tuple[Trial, ...]:
        """Those told, by number."""
        return tuple(self.told[number] for number in sorted(self.told))

    def candidate(self, number: int) -> Candidate | None:
        proposal = self.proposals.get(number)
        return proposal.candidate if proposal else None

    def incumbent(self) -> Incumbent | None:
        """The candidate with the lowest score so far, the earlier of two equal ones; None while nothing has passed."""
        scored = [(one.score_us, number) for number, one in self.evaluations.items() if one.score_us is not None]
        if not scored:
            return None
        _, best = min(scored)
        candidate = self.candidate(best)
        return None if candidate is None else incumbent_of(candidate, self.evaluations[best])

    def twin(self, number: int) -> int | None:
        """Another trial with the same candidate that is evaluated already."""
        candidate = self.candidate(number)
        if candidate is None:
            return None
        return next((n for n in self.evaluations if n != number and self.candidate(n) == candidate), None)


def replay(events: Sequence[Event], strategy: Strategy, folder: Path) -> State:
    """The state that these events leave, with `strategy` (fresh) brought to where it was.

    Raises `RunFolderError`, naming the event, where the strategy would have asked something else.
    """
    state = State()
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
    return state


def _brief(request: object) -> str:
    if not isinstance(request, Request):
        return "nothing"
    candidate = f", candidate {request.candidate.id}" if request.candidate else ""
    parents = ", ".join(map(str, request.parents)) or "none"
    return f"request {request.number} ({request.operator.value}, round {request.round}, parents {parents}{candidate})"
