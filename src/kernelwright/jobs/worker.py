"""Where a job runs: how its worker is started, and how it speaks with its user. The caller of the job provides it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kernelwright.errors import NothingToWin, RequestError
from kernelwright.evaluator.client import start_worker
from kernelwright.evaluator.places import Lane, choose, find_gpus, lanes_at, refuse_more, start_lanes
from kernelwright.evaluator.protocol import Worker

if TYPE_CHECKING:  # SQLite is not imported for help texts
    from kernelwright.journal import Event, RunState
    from kernelwright.model import RunInfo

StartWorker = Callable[[str | None], AbstractContextManager[Worker]]
"""Takes a compile target (None: the machine's own). Leaving the context ends the worker and everything that it
started."""

Notify = Callable[[str], None]
"""Takes one message to the user."""

Ask = Callable[[str], bool]
"""Asks the user a yes-or-no question; False also where there is no terminal."""

Display = Callable[["RunInfo", "RunState"], AbstractContextManager[Callable[["Event"], None]]]
"""Takes a run and its state. The context is open while the session runs and keeps the state up to date, and gives a
function to call with each new event after that."""


def refuse(question: str) -> bool:
    """Answers every question with no: for programs, where there is no terminal."""
    return False


def local_worker(target: str | None) -> AbstractContextManager[Worker]:
    """A worker on this machine; raises `MachineError` where torch or Triton is missing."""
    return start_worker(target=target)


def lanes_on(gpus: str | int | None, workers: Sequence[str] = ()) -> list[Lane]:
    """What `--gpus` names on this machine, and the places that `--workers` names; none where neither was given. Raises
    `RequestError` for what is not there."""
    here = choose(str(gpus), find_gpus()) if gpus is not None else []
    lanes = [*here, *(lane for text in workers for lane in lanes_at(text))]
    refuse_more(len(lanes))
    return lanes


def workers_on(lanes: list[Lane]) -> StartWorker:
    """A function that starts a fleet with these lanes."""
    return lambda target: start_lanes(lanes, target)


class Shared:
    """A `StartWorker` whose worker serves one session of a command after the other: a start takes seconds, and what was
    generated and compiled is known. After a fault that is not the request's, the next session gets a new worker."""

    def __init__(self, start_worker: StartWorker) -> None:
        self._start, self._open = start_worker, ExitStack()
        self._known: tuple[str | None, Worker] | None = None

    @contextmanager
    def __call__(self, target: str | None) -> Iterator[Worker]:
        if self._known is None or self._known[0] != target:
            self.close()
            self._known = target, self._open.enter_context(self._start(target))
        try:
            yield self._known[1]
        except (RequestError, NothingToWin):
            raise
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the worker."""
        self._known = None
        self._open.close()


@dataclass(frozen=True)
class Places:
    """How the places that a user names are found and started."""

    lanes_on: Callable[[str | int | None, Sequence[str]], list[Lane]] = lanes_on
    workers_on: Callable[[list[Lane]], StartWorker] = workers_on


PLACES = Places()


@dataclass(frozen=True)
class Desk:
    """Where a job runs. ask: for what needs consent. display: how progress of a search is shown; None: as lines to
    `notify`. target: compile target, only without a GPU; None: the machine's own."""

    notify: Notify
    start_worker: StartWorker = local_worker
    places: Places = PLACES
    ask: Ask = refuse
    display: Display | None = None
    target: str | None = None

    def worker(self) -> AbstractContextManager[Worker]:
        """A new worker, which ends with its context."""
        return self.start_worker(self.target)

    def on_lanes(self, gpus: str | int | None, workers: Sequence[str] | None) -> tuple[Desk, int]:
        """A desk whose workers have a lane at each of these places, and the number of lanes; this one and 1 where no
        place is named."""
        lanes = self.places.lanes_on(gpus, workers or ())
        return (replace(self, start_worker=self.places.workers_on(lanes)), len(lanes)) if lanes else (self, 1)
