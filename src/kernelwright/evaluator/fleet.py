"""A fleet: several lanes, each with the supervisor process of one GPU, behind the `Worker` protocol.

Each lane has a thread that starts its supervisor, repeats the steps that all lanes do first (load, qualify), and
restarts a lost supervisor. The dispatcher (`dispatch`) assigns jobs to lanes. Absolute times are compared only within
one lane, the home lane. A search compares ratios, so its evaluations may run on any lane.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Collection, Mapping
from typing import TypeVar

import msgspec

from kernelwright.errors import KernelwrightError, Unreachable, WorkerError, WorkerLost
from kernelwright.evaluator.attempts import ANSWER_S, Attempts, LostAttempts
from kernelwright.evaluator.dispatch import Dispatch, Where
from kernelwright.evaluator.first import FirstPassed
from kernelwright.evaluator.lane import Announcer, LaneWorker, Step, TookDown
from kernelwright.evaluator.protocol import Worker
from kernelwright.model import (
    Call,
    Candidate,
    CompileCandidate,
    EvaluateCandidate,
    Evaluation,
    LaneChange,
    LoadProblem,
    QualifyProblem,
    Status,
    incumbent_of,
)

log = logging.getLogger(__name__)

T = TypeVar("T")

COMPARED = ("search", "tune")
"""Purposes whose times are compared as ratios to the incumbent, if there is one."""


QUARANTINE_S = 600.0
"""Time after which a lane that was lost too often may start again."""

LOOK_S = 1.0
"""Interval at which a lane's thread checks for overdue jobs and for the end of a quarantine."""


class Fleet(Worker):
    """A `Worker` over several lanes."""

    def __init__(
        self,
        starts: Mapping[str, Callable[[], LaneWorker]],
        answer_s: float = ANSWER_S,
        quarantine_s: float = QUARANTINE_S,
    ) -> None:
        """starts: by lane name, the function that starts the lane's worker. Returns when the first worker has started.
        If none starts, raises the error of the first failed start."""
        self._starts = starts
        self._answer_s = answer_s
        self._quarantine_s = quarantine_s
        self._out_until_s: dict[str, float] = {}
        """By lane in quarantine, the time at which the quarantine ends."""
        self._attempts = Attempts()
        self._dispatch = Dispatch(list(starts))
        self._changed = threading.Condition()
        self._workers: dict[str, LaneWorker] = {}
        self._steps: list[Step] = []
        self._done: dict[str, list[Step]] = {name: [] for name in starts}
        """By lane, the steps that its current worker has done."""
        self._placed: dict[int, str] = {}
        """Lane of each job that may begin but whose thread has not noticed yet."""
        self._reached: set[str] = set()
        """Lanes that have had a worker."""
        self._blamed: dict[int, TookDown] = {}
        self._kind: dict[str, str | None] | None = None
        self._errors: list[KernelwrightError] = []
        self._first = FirstPassed()
        self._compiled: dict[str, str] = {}
        """By candidate id, the last lane that compiled or evaluated the candidate."""
        self._announcer = Announcer()
        self._is_closed = False
        for name in starts:
            threading.Thread(target=self._tend, args=(name,), name=f"lane {name}", daemon=True).start()
        try:
            with self._changed:
                self._changed.wait_for(lambda: self._workers or self._dispatch.is_hopeless)
                if not self._workers:
                    raise self._errors[0]
        except BaseException:  # also for an interrupt
            self.close()
            raise

    # --- the calls of a worker ---------------------------------------------------------------------------------

    def ask(self, call: Call[T]) -> T:
        match call:
            case LoadProblem():
                with self._changed:
                    self._steps = []
                    self._first = FirstPassed()
                return self._on_every_lane(lambda worker: worker.ask(call))  # type: ignore[return-value]
            case QualifyProblem():
                return self._on_every_lane(lambda worker: worker.ask(call))  # type: ignore[return-value]
            case CompileCandidate(candidate=candidate):
                return self._judged(Where.ANY, lambda worker: worker.ask(call), candidate)
            case EvaluateCandidate():
                return self._evaluate(call)  # type: ignore[return-value]
            case _:
                return self._run_on(Where.HOME, lambda worker: worker.ask(call))[1]

    def _evaluate(self, call: EvaluateCandidate) -> Evaluation:
        """On GPUs, candidates without an incumbent to race run on the home lane only."""
        is_compared, candidate = call.purpose in COMPARED, call.candidate
        if not is_compared or call.incumbent is not None or self._kind is None or self._kind["device"] is None:
            where = Where.ANY if is_compared else Where.HOME
            return self._judged(where, lambda worker: worker.ask(call), candidate)
        first = self._first

        def evaluate(worker: LaneWorker) -> Evaluation:
            is_raced = first.incumbent is not None and first.gpu != worker.hello.gpu  # or the home was lost meanwhile
            found = worker.ask(msgspec.structs.replace(call, incumbent=first.incumbent if is_raced else None))
            if not is_raced and found.score_us is not None and found.gpu:
                first.passed(found.gpu, incumbent_of(candidate, found))
            return found

        with first.sought() as is_alone:
            return self._judged(Where.HOME if is_alone else Where.ANY, evaluate, candidate)

    def elsewhere(self) -> Worker | None:
        with self._changed:
            home, ready = self._dispatch.home, [name for name, lane in self._dispatch.lanes.items() if lane.ready]
            gpus = {name: worker.hello.gpu for name, worker in self._workers.items()}
            others = [name for name in ready if home in gpus and gpus[name] != gpus[home]]
            return self._workers[others[0]] if others else None

    def watch(self, notify: Callable[[LaneChange], None] | None) -> None:
        with self._changed:
            ready = [name for name, lane in self._dispatch.lanes.items() if lane.ready]
            self._announcer.watch(notify, {name: self._workers[name].hello for name in ready})

    def close(self) -> None:
        with self._changed:
            self._is_closed = True
            workers = list(self._workers.values())
            self._changed.notify_all()
        closing = [threading.Thread(target=worker.close) for worker in workers]
        for thread in closing:
            thread.start()
        for thread in closing:
            thread.join()

    # --- jobs --------------------------------------------------------------------------------------------------

    def _judged(self, where: Where, ask: Callable[[LaneWorker], Evaluation], candidate: Candidate) -> Evaluation:
        try:
            lane, found = self._run_on(where, ask, candidate.id, self._answer_s)
        except TookDown as error:
            return Evaluation(status=error.status, reason=str(error))
        return msgspec.structs.replace(found, lane=lane)

    def _run_on(
        self, where: Where, ask: Callable[[LaneWorker], T], key: str = "", answer_s: float | None = None
    ) -> tuple[str, T]:
        """Run a job; return the lane's name and the answer. key: candidate id, to prefer the lane that compiled it; "":
        no preference. answer_s: time limit on a lane without other jobs; None: no limit."""
        with self._changed:
            job = self._dispatch.submit(where, self._compiled.get(key))
        try:
            while True:
                name, worker = self._begin(job, answer_s)
                if key:
                    self._compiled[key] = name
                try:
                    return name, ask(worker)
                except WorkerLost as error:
                    self._lost(name, worker, error)
        finally:
            with self._changed:
                self._dispatch.finished(job)
                self._placed.pop(job, None)
                self._attempts.end(job)
                self._changed.notify_all()

    def _begin(self, job: int, answer_s: float | None) -> tuple[str, LaneWorker]:
        """Wait for a lane for the job. Raises `WorkerError` if no lane is left, and `TookDown` if the job is blamed."""
        with self._changed:
            while True:
                if (started := self._dispatch.starts()) != []:
                    self._placed.update(started)
                    self._changed.notify_all()
                if job in self._placed:
                    name, now_s = self._placed.pop(job), time.monotonic()
                    self._attempts.begin(job, name, now_s, answer_s, len(self._dispatch.lanes[name].jobs))
                    return name, self._workers[name]
                if job in self._blamed:
                    raise self._blamed.pop(job)
                if self._is_closed:
                    raise WorkerError("the worker is closed")
                if self._dispatch.is_hopeless:
                    raise WorkerError(f"no lane is left: {self._errors[-1]}")
                self._changed.wait()

    def _lost(self, name: str, worker: LaneWorker, error: WorkerLost, overdue: Collection[int] | None = None) -> None:
        """Record the loss of a lane's worker. Several threads may notice the loss; only the first call has an effect.
        overdue: the jobs for whose delay the worker is ended."""
        with self._changed:
            if self._workers.get(name) is not worker:
                return
            del self._workers[name]
            self._note(name, error)
            lost = self._attempts.lose(name, time.monotonic())
            for job in self._dispatch.lost(name, time.monotonic(), error.from_outside, overdue):
                self._blamed[job] = TookDown(f"two workers were lost while they worked on it: {error}")
                if overdue is not None:
                    self._blamed[job].status = Status.TIMEOUT
            self._end(name, error, lost)
        worker.close()

    def _end(self, name: str, error: KernelwrightError, lost: LostAttempts) -> None:
        """Notify of a lane that the dispatcher has recorded as lost, and quarantine it if it is out. lost: its running
        attempts."""
        self._placed = {job: lane for job, lane in self._placed.items() if lane != name}
        lane = self._dispatch.lanes[name]
        self._announcer.lost(name, str(error), lost)
        if lane.is_unfit:
            self._announcer.left_out(name, str(error))
        if lane.is_out and not lane.is_unfit:
            self._out_until_s[name] = time.monotonic() + self._quarantine_s
            reason = f"{lane.losses} losses, left out for {self._quarantine_s:g} s"
            self._announcer.quarantined(name, reason)
            log.warning("lane %s: %s", name, reason)
        self._changed.notify_all()

    def _note(self, name: str, error: KernelwrightError) -> None:
        self._errors.append(error)
        if not self._is_closed:
            log.warning("lane %s: %s", name, error)

    # --- lanes -------------------------------------------------------------------------------------------------

    def _on_every_lane(self, do: Callable[[Worker], T]) -> T:
        """Run `do` on every lane, also on lanes that start later; return the result of the first lane that ends it."""
        step = Step(do)
        with self._changed:
            self._steps = [*self._steps, step]
            for name in self._workers:
                self._dispatch.down(name)
            self._changed.notify_all()
            self._changed.wait_for(lambda: step.result.done() or self._dispatch.is_hopeless or self._is_closed)
            if not step.result.done():
                raise WorkerError(f"no lane is left: {self._errors[-1]}" if self._errors else "the worker is closed")
        found: T = step.result.result()
        return found

    def _tend(self, name: str) -> None:
        """Body of a lane's thread: start its worker, run its steps, and restart it when it is lost, until `close`."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._is_closed or self._has_to_do(name), LOOK_S)
                if self._is_closed:
                    return
                worker, overdue = self._workers.get(name), self._attempts.overdue(name, time.monotonic())
                if time.monotonic() >= self._out_until_s.get(name, math.inf):
                    del self._out_until_s[name]
                    self._dispatch.let_in(name)
                if not (overdue or self._has_to_do(name)):
                    continue
                todo = [step for step in self._steps if step not in self._done[name]]
            try:
                if worker is not None and overdue:
                    late = WorkerLost(
                        f"an evaluation exceeded its time limit, {self._answer_s:g} s for each evaluation on the lane"
                    )
                    self._lost(name, worker, late, overdue)
                elif worker is None:
                    self._take(name, self._starts[name]())
                elif todo:
                    self._do(name, worker, todo[0])
            except WorkerLost as error:
                if worker is not None:
                    self._lost(name, worker, error)
                else:
                    self._give_up(name, error, for_good=False)
            except KernelwrightError as error:
                is_away = worker is None and isinstance(error, Unreachable) and name in self._reached
                self._give_up(name, error, for_good=not is_away)
            except Exception as error:  # noqa: BLE001 - our own fault; callers would wait for a lane whose thread ended
                self._give_up(name, WorkerError(f"{type(error).__name__}: {error}"), for_good=True)

    def _has_to_do(self, name: str) -> bool:
        lane = self._dispatch.lanes[name]
        if lane.is_out:
            return False
        return name not in self._workers or any(step not in self._done[name] for step in self._steps)

    def _take(self, name: str, worker: LaneWorker) -> None:
        """Add a lane's new worker. A worker of another kind (GPU or software) is refused, because times of two kinds
        cannot be compared. Raises `WorkerError`."""
        with self._changed:
            self._kind = kind = self._kind or worker.hello.kind
            other = [what for what, here in worker.hello.kind.items() if here != kind[what]]
            if not other and not self._is_closed:
                self._workers[name] = worker
                self._reached.add(name)
                self._done[name] = []
                self._ready(name)
                return
        worker.close()
        if other:
            words = ", ".join(f"{what} {worker.hello.kind[what]} and not {kind[what]}" for what in other)
            raise WorkerError(f"it differs from the other lanes: {words}")

    def _do(self, name: str, worker: LaneWorker, step: Step) -> None:
        """Run a step on a lane. If the step failed on the first lane, the problem is at fault and no other lane tries.
        Raises the error of a lane that fails where another one succeeded."""
        try:
            value = None if step.failed else step.do(worker)
        except WorkerLost:
            raise
        except BaseException as error:
            with self._changed:
                if step.result.done() and not step.failed:
                    raise
                if not step.result.done():
                    step.result.set_exception(error)
        with self._changed:
            if not step.result.done():
                step.result.set_result(value)
            self._done[name].append(step)
            self._ready(name)

    def _ready(self, name: str) -> None:
        if all(step in self._done[name] for step in self._steps):
            self._dispatch.up(name)
            self._announcer.up(name, self._workers[name].hello)
        self._changed.notify_all()

    def _give_up(self, name: str, error: KernelwrightError, for_good: bool) -> None:
        """Stop using a lane that did not start, or (for_good) that failed at something another lane can do."""
        with self._changed:
            worker = self._workers.pop(name, None)
            self._note(name, error)
            if for_good:
                self._dispatch.leave_out(name, time.monotonic())
            else:
                self._dispatch.lost(name, time.monotonic(), from_outside=True)
            self._end(name, error, self._attempts.lose(name, time.monotonic()))
        if worker is not None:
            worker.close()
