"""The processes of one GPU (or of one machine without) and the lease that covers what must not be disturbed.

Imports no torch. It starts children when they are first needed and replaces those that died. Beside them it keeps what
they made: compiled launches and measured peaks. What is known of the problem is in `session`.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from kernelwright import codec
from kernelwright.cache import Cache
from kernelwright.devices import Target, device_file, find_target
from kernelwright.devices.backend import BACKEND
from kernelwright.errors import ConfigError, MachineError, ProblemError, WorkerError
from kernelwright.model import Status
from kernelwright.worker.bench import messages as to_bench
from kernelwright.worker.compile import machine_code
from kernelwright.worker.compile.messages import Compile, Compiled, FromCompiler, Outcome, Stored, ToCompiler
from kernelwright.worker.judge import messages as to_judge
from kernelwright.worker.plan.sent import remember
from kernelwright.worker.processes import answers
from kernelwright.worker.processes.channel import Done, Failure, Fault
from kernelwright.worker.processes.children import Child, ChildDied, ChildTimeout, ForkServer, ServerEnded
from kernelwright.worker.processes.lease import Lease
from kernelwright.worker.processes.limits import Limits, usable_cores
from kernelwright.worker.processes.memory import SharedMemory
from kernelwright.worker.processes.outcome import Ended

T = TypeVar("T")

NOTE = "judge.note"
"""Where a judge says what of the problem it runs; read when it has ended."""


def entry_of(key: str, job: ToCompiler) -> str:
    """Names a job: what is launched, and what is asked of the compiler."""
    return ":".join([key, job.verb, *["branches"] * (isinstance(job, Compile) and job.branches)])


def peaks_file(machine: dict[str, Any]) -> Path:
    """Where the peaks of one GPU are kept: two of a name in one machine differ by some percent, and so may drivers."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "kernelwright" / "peaks"
    return (
        cache
        / f"{device_file(machine['device'])}-{machine['uuid']}-driver{machine['driver']}-torch{machine['torch']}.json"
    )


class Processes:
    def __init__(
        self, scratch: Path, target: str | None, limits: Limits, cache: Cache | None = None, cores: int | None = None
    ) -> None:
        """scratch: an empty folder, which the caller removes. cache: compiled launches of other workers. cores: to
        compile on; None: all that this process may use."""
        self.cores = cores or usable_cores()
        self.limits = limits
        self.cache = cache
        self.scratch = scratch
        self.code = scratch / "code"
        self.compilers = ForkServer(self.scratch, cores=self.cores)
        try:
            probe = self.compilers.spawn("probe")  # waits for the import of torch
        except BaseException:  # an interrupt, too: no fork server stays
            self.compilers.close()
            raise
        self.machine: dict[str, Any] = probe.channel.receive(120.0)
        probe.kill()
        self.on_gpu = self.machine["device"] is not None
        self.device = BACKEND.name if self.on_gpu else "cpu"
        self.target = self._target(target)
        self.memory = SharedMemory()
        self.interpreters: ForkServer | None = None
        self.restarting = threading.Lock()
        self.replays_for: object = None
        self.judges_lost = 0
        if not self.on_gpu:
            (self.scratch / "interpreter").mkdir()
            self.interpreters = ForkServer(self.scratch / "interpreter", interpret=True, cores=self.cores)
        self.lease = Lease(self.machine["uuid"], begins=self._drop_ended)
        self.threads = ThreadPoolExecutor(max_workers=self.cores)
        self.compiled: dict[str, Future[Outcome]] = {}
        self.compiled_lock = threading.Lock()
        self.children: dict[str, Child] = {}
        self.problem: to_judge.Load | None = None  # what every judge reads first
        self.known_peaks: dict[str, Any] | None = None

    def _target(self, name: str | None) -> Target:
        if not self.on_gpu:
            return find_target(name or BACKEND.default_target)
        asked = ("device", "capability", "multiprocessors", "l2_bytes")
        found = BACKEND.target_of(**{what: self.machine[what] for what in asked})
        if name not in (None, found.name):
            raise ConfigError(f"target {name} was asked for, the GPU here is {found.name}", "leave --target out")
        return found

    # --- what it is ------------------------------------------------------------------------------------------

    def peaks(self) -> tuple[dict[str, float], str]:
        """Measured peaks: of this GPU, or (without one) those recorded for the target's device."""
        if self.on_gpu:
            if self.known_peaks is None:  # asked once: every bound of this worker and its environment say the same
                with self.lease:
                    self.known_peaks = self.ask_judge(to_judge.Peaks(file=str(peaks_file(self.machine))))
            return self.known_peaks["peaks"], self.known_peaks["source"]
        name = device_file(self.target.device) + ".json"
        recorded = resources.files("kernelwright.devices").joinpath("peaks").joinpath(name)
        if not recorded.is_file():
            raise MachineError(f"no peaks were recorded for {self.target.device} ({self.target.name})",
                               f"use --target {BACKEND.default_target}, or run on such a GPU")  # fmt: skip
        found = json.loads(recorded.read_text())
        return found["peaks"], found["source"]

    def versions(self) -> tuple[str, ...]:
        """Of what compiles and launches: part of every name of machine code."""
        found = self.compilers.ready()
        return (found["torch"], found["triton"])

    # --- children --------------------------------------------------------------------------------------------

    def spawn(
        self,
        role: str,
        options: dict[str, Any] | None = None,
        log: bool = False,
        descriptors: Sequence[int] = (),
        interpret: bool = False,
    ) -> Child:
        """A new child, see `ForkServer.spawn`; a fork server that ended is replaced first.

        interpret: by the server whose Triton interprets, on a machine without a GPU.
        """
        try:
            return self._server(interpret).spawn(role, options, log, descriptors)
        except ServerEnded:
            return self._server(interpret).spawn(role, options, log, descriptors)

    def _server(self, interpret: bool) -> ForkServer:
        with self.restarting:
            if not self.compilers.alive:
                self.compilers = self.compilers.replaced()
            if self.interpreters is not None and not self.interpreters.alive:
                self.interpreters = self.interpreters.replaced()
            return self.interpreters if interpret and self.interpreters is not None else self.compilers

    def child(self, role: str) -> Child:
        """The judge or bench, a new one where there is none. Raises ServerEnded where it ended with its fork server
        since the lease was taken: what it was given before is gone with it."""
        found = self.children.get(role)
        if found is not None and found.is_orphan and self.lease.is_nested:
            self.drop(role)
            raise ServerEnded(f"the {role} ended with its fork server")
        if found is None or not found.alive:
            self.drop(role)
            if role == "judge":
                options = {"device": self.device, "note": str(self.scratch / NOTE)}
                found = self.spawn("judge", options, log=True)
            elif self.on_gpu:
                found = self.spawn("bench", {"code": str(self.code)}, log=True)
            else:
                self.memory.close()
                self.memory = SharedMemory()
                found = self.spawn("interpreter", log=True, descriptors=[self.memory.descriptor], interpret=True)
            self.children[role] = found
        return found

    def replay_for(self, candidate: object) -> None:
        """From here on the bench serves this candidate. The interpreter executes text, so each gets a process of its
        own; a GPU's bench holds machine code only and goes on."""
        if not self.on_gpu and self.replays_for is not candidate:
            self.drop("bench")
            self.replays_for = candidate

    def _drop_ended(self) -> None:
        for role in [role for role, child in self.children.items() if child.is_orphan]:
            self.drop(role)

    def drop(self, role: str) -> None:
        """End it, and remove its log: a long run has one for each candidate."""
        found = self.children.pop(role, None)
        if found is None:
            return
        found.kill()
        if found.log is not None:
            found.log.unlink(missing_ok=True)

    def read(self, problem: to_judge.Load) -> dict[str, Any]:
        """Have a new judge read a problem, and drop the bench, which has copies of the last one's inputs.

        Returns what the judge says of the problem, see `Judge.load`.
        """
        with self.lease:
            self.problem = problem
            self.drop("judge")
            self.drop("bench")
            described: dict[str, Any] = self.ask_judge(problem)
            return described

    def ask_judge(
        self, message: to_judge.ToJudge, timeout_s: float | None = None, plan: to_judge.AddPlan | None = None
    ) -> Any:
        """The judge's answer; a judge that has not read the problem yet reads it first.

        plan: the one that the message names; a judge that does not have it is sent it first.
        """
        timeout_s = timeout_s or self.limits.judge_s
        with self.lease:
            before, judge = self.children.get("judge"), self.child("judge")
            if judge is not before and self.problem is not None and message != self.problem:
                self._answer(judge, self.problem, timeout_s)
            if plan is not None and plan.name not in judge.plans:
                self._answer(judge, plan, timeout_s)
                remember(judge.plans, plan.name, None)
            return self._answer(judge, message, timeout_s)

    def ask_bench(
        self,
        message: to_bench.ToBench,
        timeout_s: float | None = None,
        plan: to_bench.AddPlan | to_bench.AddText | None = None,
    ) -> Any:
        """The bench's answer; what the replayed device code brought about is raised as Ended.

        plan: the one that the message names; a bench that does not have it is sent it first.
        """
        timeout_s = timeout_s or self.limits.prepare_s
        with self.lease:
            try:
                bench = self.child("bench")
                if isinstance(message, to_bench.Reserve) and not self.on_gpu:
                    return self.memory.reserve(message.nbytes)
                answer: Done | Failure = Done()
                if plan is not None and plan.name not in bench.plans:
                    answer = answers.of_replay(bench.ask(plan, timeout_s))
                    remember(bench.plans, plan.name, None)
                if isinstance(answer, Done):
                    answer = answers.of_replay(bench.ask(message, timeout_s))
            except ChildTimeout as error:
                raise Ended(Status.TIMEOUT, f"the kernels did not finish in {timeout_s:g} s") from error
            except ChildDied as error:
                raise Ended(Status.CRASHED, f"the process that ran the kernels {error.how}", lost=True) from error
            if isinstance(answer, Failure) and answer.ends:
                self.drop("bench")
        if isinstance(answer, Failure):
            raise Ended(answer.status, answer.reason, whole=answer.whole)
        return answer.value

    def twice_if_lost(self, attempt: Callable[[], tuple[T, bool]]) -> T:
        """The result of `attempt`, tried once more where a process was lost, which may have been killed from outside.

        A process that is lost twice is the candidate's own fault, or the problem's.

        attempt: its result, and whether it ended because a process was lost. A lost judge or server is an exception.
        """
        judges_lost = self.judges_lost
        try:
            found, lost = attempt()
        except (ProblemError, WorkerError) as error:
            if self.judges_lost == judges_lost and not isinstance(error, ServerEnded):
                raise
            lost = True
        return attempt()[0] if lost else found

    def renew(self) -> None:
        """New processes with new secret seeds, for a confirmation."""
        with self.lease:
            self.drop("bench")
            self.drop("judge")

    def _answer(self, judge: Child, message: to_judge.ToJudge, timeout_s: float) -> Any:
        try:
            said = judge.ask(message, timeout_s)
        except (ChildDied, ChildTimeout) as error:
            self.judges_lost += isinstance(error, ChildDied)
            raise self._judge_ended(judge, message.verb, error) from error
        answer: Done | Fault = codec.record(said, Done | Fault)  # type: ignore[arg-type]
        if isinstance(answer, Fault):
            raise (ProblemError if answer.of_problem else WorkerError)(answer.message)
        return answer.value

    def _judge_ended(self, judge: Child, verb: str, error: ChildDied | ChildTimeout) -> WorkerError | ProblemError:
        """Whose fault it is that the judge ended: the problem's where its code ran, and else ours."""
        file = self.problem.path if self.problem is not None else ""
        how = error.how if isinstance(error, ChildDied) else "did not answer in time and was killed"
        note = self.scratch / NOTE
        what = note.read_bytes().rstrip(b"\0").decode(errors="replace") if note.exists() else ""
        said = judge.printed(800).strip()
        if file and what:
            return ProblemError(f"{file}: the process that runs it {how} in {what}", said or "run the file by itself")
        return WorkerError(f"the judge of {file or 'no problem'} {how} at {verb}", said or None)

    # --- compiling -------------------------------------------------------------------------------------------

    def compile(self, key: str, job: ToCompiler) -> Future[Outcome]:
        """What a compiler makes of one launch, or the failure; asked once per key and kind of job, on any free core.

        key: see `machine_code.key_of`.
        """
        entry = entry_of(key, job)
        with self.compiled_lock:
            if entry not in self.compiled:
                self.compiled[entry] = self.threads.submit(self._compile, entry, job)
            return self.compiled[entry]

    def _compile(self, entry: str, job: ToCompiler) -> Outcome:
        """What a compiler said of a job. What may be the machine's fault (a process that was killed, a time limit, a
        full disk) is not kept: the next candidate that asks may have better luck."""
        lasts = False
        try:
            answer = self._compiled(entry, job)
            if isinstance(answer, Ended):
                return Failure(status=answer.status, reason=answer.reason)
            lasts = not (isinstance(answer, Failure) and answer.status is Status.TIMEOUT)
        finally:
            if not lasts:
                with self.compiled_lock:
                    del self.compiled[entry]
        return answer

    def _compiled(self, entry: str, job: ToCompiler) -> Outcome | Ended:
        """The same, from the cache where it is there."""
        answer = self._cached(entry, job)
        if answer is None:
            made = self.twice_if_lost(lambda: self._asked_of_compiler(job))
            if isinstance(made, Ended):
                return made
            answer = made
            if self.cache is not None and not isinstance(answer, Failure):
                self.cache.store(entry, answer)
        if not isinstance(answer, Compiled):
            return answer
        name = machine_code.store(answer.code, self.code)
        return Stored(code=name, resources=answer.resources, untrue=answer.untrue, branches=answer.branches)

    def _cached(self, entry: str, job: ToCompiler) -> FromCompiler | None:
        """What the cache holds for a job, checked as a compiler's answer; None where that is nothing usable."""
        found = self.cache.fetch(entry) if self.cache is not None else None
        answer = None if found is None else answers.of_compiler(found, job, self.target.name)
        return None if isinstance(answer, Failure) else answer

    def _asked_of_compiler(self, job: ToCompiler) -> tuple[FromCompiler | Ended, bool]:
        """The answer of a new compiler, or how that ended; and whether it was lost."""
        child = self.spawn("compiler", {"target": self.target.name}, log=True)
        try:
            return answers.of_compiler(child.ask(job, self.limits.compile_s), job, self.target.name), False
        except ChildTimeout:
            reason = f"compiling took over {self.limits.compile_s:g} s"
            return Failure(status=Status.TIMEOUT, reason=reason), False
        except ChildDied as error:
            reason = f"the compiler was {error.how}: {child.printed(600)}"
            return Ended(Status.COMPILE_ERROR, reason, lost=True), True
        finally:
            child.kill()
            if child.log is not None:
                child.log.unlink(missing_ok=True)

    def close(self) -> None:
        for role in list(self.children):
            self.drop(role)
        self.threads.shutdown(wait=False, cancel_futures=True)
        self.compilers.close()
        if self.interpreters is not None:
            self.interpreters.close()
        self.memory.close()
