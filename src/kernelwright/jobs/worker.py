"""Callbacks by which a job starts its worker and prints messages. The caller of the job provides both."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass

from kernelwright.errors import NothingToWin, RequestError
from kernelwright.evaluator.launch import start_worker
from kernelwright.evaluator.places import Lane, choose, find_gpus, lanes_at, refuse_more, start_lanes
from kernelwright.evaluator.protocol import Worker

StartWorker = Callable[[str | None], AbstractContextManager[Worker]]
"""Takes a compile target (None: the machine's own). Leaving the context ends the worker and everything that it
started."""

Notify = Callable[[str], None]
"""Takes one message to the user."""


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

    def choose(
        self, gpus: str | int | None, workers: Sequence[str] | None, alone: StartWorker
    ) -> tuple[StartWorker, int]:
        """A function that starts the worker, and its number of lanes; `alone` and 1 where neither option is given."""
        lanes = self.lanes_on(gpus, workers or ())
        return (self.workers_on(lanes), len(lanes)) if lanes else (alone, 1)


PLACES = Places()
