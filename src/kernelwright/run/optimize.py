"""`optimize`: one session of a run, from its journal (new or resumed) to an outcome."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from dataclasses import asdict

from kernelwright.errors import KernelwrightError, RunFolderError
from kernelwright.evaluator.protocol import Worker
from kernelwright.interruption import Ended
from kernelwright.journal import Event, Journal, RunState
from kernelwright.model import Budget, Environment, Record
from kernelwright.propose.protocol import Proposer
from kernelwright.run.confirm import Confirmed, confirmed_best
from kernelwright.run.loop import Loop
from kernelwright.run.replay import replay
from kernelwright.run.stopping import StopReason
from kernelwright.run.verdicts import Verdicts
from kernelwright.search.protocol import Strategy
from kernelwright.text.escape import legible

log = logging.getLogger(__name__)

CLOSING_S = 0.3
"""Time reserved for the last events and for closing journal and worker when a signal ends the process."""


class Outcome(Record, frozen=True, kw_only=True):
    """How a session ended.

    best: the confirmed trial, and best_us its confirmed score; the seed where no better trial was confirmed (its score
    is then the search's, if it is the user's starter). None where no trial passed, and while the search is not over
    (`waiting`, `interrupted`). refused: trials that were better in the search but not in their confirmation. waiting:
    requests that wait for a reply.
    """

    reason: StopReason
    detail: str
    seed: int | None = None
    best: int | None = None
    best_us: float | None = None
    refused: tuple[int, ...] = ()
    waiting: tuple[int, ...] = ()


def optimize(
    journal: Journal,
    strategy: Strategy,
    proposer: Proposer,
    worker: Worker,
    *,
    budget: Budget,
    state: RunState | None = None,
    on_event: Callable[[Event], None] = lambda event: None,
    on_ended: Callable[[], None] = lambda: None,
    verdicts: Verdicts | None = None,
    most_waiting: int | None = None,
) -> Outcome:
    """Search until the strategy ends, the budget is spent, or all open requests wait for a reply; then confirm the best
    trial.

    strategy: fresh, built from the journal's settings. state: what `replay` made of the journal and this strategy, kept
    up to date here; None: it is made here. worker: with the journal's problem loaded. on_event: called in
    this thread with each event after it is written; not with those of earlier sessions. verdicts: failures of earlier
    runs, which are not judged again. most_waiting: maximum number of requests that wait for a reply; None: no limit; 0:
    no new request is made. An interrupt ends the session in order.

    A signal that allows no more time raises `Ended`. Before that, on_ended is called, answers under way get the time
    that is left, and those that do not arrive are recorded as abandoned. Raises `RunFolderError` where the journal
    cannot be resumed, `ProviderError` and `WorkerError` where the run cannot continue; it can then be resumed later.
    """
    _check_environment(journal, worker.environment())
    state = state or replay(journal.history(), strategy, journal.folder)
    spent_s = sum(session.seconds for session in state.sessions)
    loop = Loop(journal, strategy, proposer, worker, budget, on_event, state, spent_s, verdicts, most_waiting)
    loop.record(journal.append_started(budget))
    confirmed = Confirmed()
    try:
        with closed_in_time(loop):
            reason, detail = loop.search()
            if reason is not StopReason.WAITING:
                confirmed = confirmed_best(state.trials(), state.confirmations, loop.confirm)
                if confirmed.best is not None:
                    loop.profile(confirmed.best)
    except Ended as ended:
        on_ended()
        loop.abandon(ended.left_s - CLOSING_S)
        loop.record(journal.append_stopped(StopReason.INTERRUPTED.value, loop.clock.session_s))
        raise
    except KeyboardInterrupt:
        reason, detail = StopReason.INTERRUPTED, "everything up to here is in the journal"
    except KernelwrightError as error:
        with contextlib.suppress(RunFolderError):  # if the folder itself failed, `error` says so
            loop.record(journal.append_stopped(legible(f"error: {error}"), loop.clock.session_s))
        raise
    loop.record(journal.append_stopped(reason.value, loop.clock.session_s))
    return Outcome(
        reason=reason,
        detail=detail,
        seed=state.seed.number if state.seed else None,
        waiting=tuple(sorted(loop.waiting)),
        **asdict(confirmed),
    )


@contextlib.contextmanager
def closed_in_time(loop: Loop) -> Iterator[None]:
    """Closes the loop after the block, however that ends, except by `Ended`: then there is no time to wait for what is
    under way."""
    try:
        yield
    except Ended:
        raise
    except BaseException:
        loop.close()
        raise
    loop.close()


def _check_environment(journal: Journal, here: Environment) -> None:
    """Raises `RunFolderError` for another kind of device: its times cannot be compared with those of the run."""
    there = journal.info.environment
    if (there.device, there.target) != (here.device, here.target):
        raise RunFolderError(
            f"{journal.folder} was begun on {_place(there)} and this is {_place(here)}: times cannot be compared",
            "resume it on the same kind of device, or begin another run here",
        )
    if (there.torch, there.triton) != (here.torch, here.triton):
        log.warning(
            "%s was begun with torch %s and Triton %s; here are %s and %s, so scores may shift",
            journal.folder, there.torch, there.triton, here.torch, here.triton,
        )  # fmt: skip


def _place(environment: Environment) -> str:
    return f"{environment.device or 'a machine without a GPU'} ({environment.target})"
