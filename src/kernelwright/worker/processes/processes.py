"""The child processes of one worker (judge, bench, compilers, ...), its fork servers, and the lease of its GPU.

Imports no torch. Children start when they are first needed; those that died are replaced. Compiled launches and
measured peaks are cached here. The state of the loaded problem is in `session`.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from importlib import resources
from pathlib import Path
from typing import TypeVar

from kernelwright import codec
from kernelwright.cache import Cache, user_folder
from kernelwright.devices import Target, device_file, find_target
from kernelwright.devices.backend import BACKEND
from kernelwright.errors import ConfigError, MachineError, ProblemError, WorkerError
from kernelwright.model import Status
from kernelwright.worker.bench import messages as to_bench
from kernelwright.worker.clock.captured import MeasuredPeaks
from kernelwright.worker.compile import machine_code
from kernelwright.worker.compile.messages import Compile, Compiled, FromCompiler, Outcome, Stored, ToCompiler
from kernelwright.worker.judge import messages as to_judge
from kernelwright.worker.processes import answers
from kernelwright.worker.processes.channel import ChannelClosed, ChannelTimeout, Done, Failure, Fault, Message, remember
from kernelwright.worker.processes.children import Child, ChildDied, ChildTimeout, ForkServer, ServerEnded
from kernelwright.worker.processes.commands import NO_OPTIONS, Options, Probed
from kernelwright.worker.processes.lease import Lease
from kernelwright.worker.processes.limits import Limits, usable_cores
from kernelwright.worker.processes.memory import SharedMemory
from kernelwright.worker.processes.outcome import Ended, Lost

T = TypeVar("T")

PROBE_S = 120.0
"""Time limit of describing the machine, which initialises CUDA."""

KILLED = (-signal.SIGKILL, 128 + signal.SIGKILL)
"""Exit statuses of a compiler that was killed, itself or its ptxas."""

NOTE = "judge.note"
"""File in which a judge names the code of the problem that it runs; read after the judge died."""


def entry_of(key: str, job: ToCompiler) -> str:
    """Cache entry of a compiler's job: the key of the launch and the kind of the job."""
    flags = {"branches": job.branches, "front end": not job.whole} if isinstance(job, Compile) else {}
    return ":".join([key, job.verb, *(flag for flag, is_set in flags.items() if is_set)])


def peaks_file(machine: Probed) -> Path:
    """File with the measured peaks of one GPU. Two GPUs of one name in a machine differ by a few percent, and so may
    two drivers."""
    name = f"{device_file(machine.device or '')}-{machine.uuid}-driver{machine.driver}-torch{machine.torch}.json"
    return user_folder("XDG_CACHE_HOME", ".cache", "peaks") / name


def read_machine(probe: Child) -> Probed:
    """What a probe says of this machine. Raises `MachineError` if it ends or hangs."""
    try:
        return codec.record(probe.channel.receive(PROBE_S), Probed)
    except (ChannelClosed, ChannelTimeout) as error:
        why = f"did not answer in {PROBE_S:g} s" if isinstance(error, ChannelTimeout) else "ended without an answer"
        said = probe.printed(800).strip().splitlines()
        raise MachineError(
            f"the process that describes the GPU of this machine {why}{': ' if said else ''}{''.join(said[-1:])}",
            "see whether nvidia-smi and torch.cuda.get_device_properties(0) work",
        ) from error
    finally:
        probe.discard()


class Processes:
    def __init__(
        self, scratch: Path, target: str | None, limits: Limits, cache: Cache | None = None, cores: int | None = None
    ) -> None:
        """scratch: an empty folder, which the caller removes. target: name of the compile target without a GPU. cache:
        compiled launches, shared between workers. cores: how many cores compile; None: all that this process may
        use."""
        self.cores = cores or usable_cores()
        self.limits = limits
        self.cache = cache
        self.scratch = scratch
        self.code = scratch / "code"
        self.compilers = ForkServer(self.scratch, cores=self.cores)
        try:
            self.machine = read_machine(self.compilers.spawn("probe", log=True))  # waits for the import of torch
        except BaseException:  # KeyboardInterrupt too: leave no fork server behind
            self.compilers.close()
            raise
        self.on_gpu = self.machine.device is not None
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
        self.lease = Lease(self.machine.uuid, begins=self._drop_ended)
        self.threads = ThreadPoolExecutor(max_workers=self.cores)
        self.compiled: dict[str, Future[Outcome]] = {}
        self.compiled_lock = threading.Lock()
        self.children: dict[str, Child] = {}
        self.problem: to_judge.Load | None = None  # what every judge reads first
        self.known_peaks: MeasuredPeaks | None = None

    def _target(self, name: str | None) -> Target:
        if not self.on_gpu:
            return find_target(name or BACKEND.default_target)
        asked = ("device", "capability", "multiprocessors", "l2_bytes")
        found = BACKEND.target_of(**{what: getattr(self.machine, what) for what in asked})
        if name not in (None, found.name):
            raise ConfigError(f"target {name} was asked for, the GPU here is {found.name}", "leave --target out")
        return found

    # --- device ----------------------------------------------------------------------------------------------

    def peaks(self) -> tuple[dict[str, float], str]:
        """Measured peaks and their source: of this GPU, or without a GPU those recorded for the target's device. Raises
        MachineError if none were recorded."""
        if self.on_gpu:
            if self.known_peaks is None:  # once: every bound of this worker uses the same peaks
                with self.lease:
                    self.known_peaks = self.ask_judge(to_judge.Peaks(file=str(peaks_file(self.machine))))
            return self.known_peaks.peaks, self.known_peaks.source
        name = device_file(self.target.device) + ".json"
        recorded = resources.files("kernelwright.devices").joinpath("peaks").joinpath(name)
        if not recorded.is_file():
            raise MachineError(f"no peaks were recorded for {self.target.device} ({self.target.name})",
                               f"use --target {BACKEND.default_target}, or run on such a GPU")  # fmt: skip
        found = codec.decode(recorded.read_bytes(), MeasuredPeaks)
        return found.peaks, found.source

    def versions(self) -> tuple[str, ...]:
        """Versions of torch and Triton: part of every key of machine code."""
        found = self.compilers.ready()
        return (found["torch"], found["triton"])

    # --- children --------------------------------------------------------------------------------------------

    def spawn(
        self, role: str, options: Options = NO_OPTIONS, log: bool = False, descriptors: Sequence[int] = (),
        interpret: bool = False,
    ) -> Child:  # fmt: skip
        """Start a child, see `ForkServer.spawn`; a fork server that ended is replaced first.

        interpret: on a machine without a GPU, fork from the server whose Triton runs the CPU interpreter.
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
        """The running judge or bench; starts one if there is none. Raises ServerEnded if its fork server ended inside a
        nested lease: the state that the caller put into the child is lost."""
        found = self.children.get(role)
        if found is not None and found.is_orphan and self.lease.is_nested:
            self.drop(role)
            raise ServerEnded(f"the {role} ended with its fork server")
        if found is None or not found.alive:
            self.drop(role)
            if role == "judge":
                options = Options(device=self.device, note=str(self.scratch / NOTE))
                found = self.spawn("judge", options, log=True)
            elif self.on_gpu:
                found = self.spawn("bench", Options(code=str(self.code)), log=True)
            else:
                self.memory.close()
                self.memory = SharedMemory()
                found = self.spawn("interpreter", log=True, descriptors=[self.memory.descriptor], interpret=True)
            self.children[role] = found
        return found

    def replay_for(self, candidate: object) -> None:
        """Prepare the bench for this candidate. An interpreter executes a candidate's text, so each candidate gets a
        new one. The bench of a GPU only loads machine code and is kept."""
        if not self.on_gpu and self.replays_for is not candidate:
            self.drop("bench")
            self.replays_for = candidate

    def _drop_ended(self) -> None:
        for role in [role for role, child in self.children.items() if child.is_orphan]:
            self.drop(role)

    def drop(self, role: str) -> None:
        """Discard the child of a role, if there is one."""
        if (found := self.children.pop(role, None)) is not None:
            found.discard()

    def read(self, problem: to_judge.Load) -> to_judge.ProblemRead:
        """Load a problem in a new judge, and drop the bench, which has copies of the last problem's inputs."""
        with self.lease:
            self.problem = problem
            self.drop("judge")
            self.drop("bench")
            return self.ask_judge(problem)

    def ask_judge(self, message: Message[T], timeout_s: float | None = None, plan: to_judge.AddPlan | None = None) -> T:
        """Send a request to the judge and return its answer. A new judge loads the problem first.

        timeout_s: None for `Limits.judge_s`. plan: the plan that the message names; it is sent first if the judge does
        not have it. Raises ProblemError or WorkerError.
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
        message: Message[T],
        timeout_s: float | None = None,
        plan: to_bench.AddPlan | to_bench.AddText | None = None,
    ) -> T:
        """Send a request to the bench (or interpreter) and return its answer. A failure of the candidate's kernels is
        raised as Ended, the end of that process as Lost.

        timeout_s: None for `Limits.prepare_s`. plan: the plan that the message names; it is sent first if the bench
        does not have it.
        """
        timeout_s = timeout_s or self.limits.prepare_s
        with self.lease:
            try:
                bench = self.child("bench")
                if isinstance(message, to_bench.Reserve) and not self.on_gpu:
                    return self.memory.reserve(message.nbytes)  # type: ignore[return-value]
                failed = None
                if plan is not None and plan.name not in bench.plans:
                    failed = answers.of_replay(bench.ask(plan, timeout_s), plan)
                    remember(bench.plans, plan.name, None)
                answer = answers.of_replay(bench.ask(message, timeout_s), message) if failed is None else failed
            except ChildTimeout as error:
                raise Ended(Status.TIMEOUT, f"the kernels did not finish in {timeout_s:g} s") from error
            except ChildDied as error:
                raise Lost(Status.CRASHED, f"the process that ran the kernels {error.how}") from error
            if isinstance(answer, Failure) and answer.ends:
                self.drop("bench")
        if isinstance(answer, Failure):
            raise Ended(answer.status, answer.reason, whole=answer.whole)
        return answer

    def twice_if_lost(self, ask: Callable[[], T]) -> T:
        """What `ask` gives, asked once more if a process was lost, the judge or the fork server too: it may have been
        killed from outside. If a process is lost twice, the candidate or the problem is at fault."""
        judges_lost = self.judges_lost
        with contextlib.suppress(Lost):
            try:
                return ask()
            except (ProblemError, WorkerError) as error:
                if self.judges_lost == judges_lost and not isinstance(error, ServerEnded):
                    raise
        return ask()

    def renew(self) -> None:
        """Drop judge and bench, so that a confirmation runs in new processes with new secret seeds."""
        with self.lease:
            self.drop("bench")
            self.drop("judge")

    def _answer(self, judge: Child, message: Message[T], timeout_s: float) -> T:
        try:
            said = judge.ask(message, timeout_s)
        except (ChildDied, ChildTimeout) as error:
            self.judges_lost += isinstance(error, ChildDied)
            raise self._judge_ended(judge, message.verb, error) from error
        answer: Done | Fault = codec.record(said, Done | Fault)  # type: ignore[arg-type]
        if isinstance(answer, Fault):
            raise (ProblemError if answer.of_problem else WorkerError)(answer.message)
        return codec.record(answer.value, message.answer)

    def _judge_ended(self, judge: Child, verb: str, error: ChildDied | ChildTimeout) -> WorkerError | ProblemError:
        """The error for a judge that ended: a ProblemError if code of the problem ran, otherwise a WorkerError."""
        file = self.problem.path if self.problem is not None else ""
        how = error.how if isinstance(error, ChildDied) else "did not answer in time and was killed"
        note = self.scratch / NOTE
        what = note.read_bytes().rstrip(b"\0").decode(errors="replace") if note.exists() else ""
        said = judge.printed(800).strip()
        if file and what:
            return ProblemError(f"{file}: the process that runs it {how} in {what}", said or "run the file by itself")
        return WorkerError(f"the judge process {how} during {verb!r} ({file or 'no problem loaded'})", said or None)

    # --- compiling -------------------------------------------------------------------------------------------

    def compile(self, key: str, job: ToCompiler) -> Future[Outcome]:
        """Compile one launch on a free core; the future has the result or the failure. Each key and kind of job is
        compiled once.

        key: see `machine_code.key_of`.
        """
        entry = entry_of(key, job)
        with self.compiled_lock:
            if entry not in self.compiled:
                self.compiled[entry] = self.threads.submit(self._compile, entry, job)
            return self.compiled[entry]

    def _compile(self, entry: str, job: ToCompiler) -> Outcome:
        """The result of a job. A failure that may be the machine's fault (a killed process, a time limit, a full disk)
        is removed from `compiled`, so that the next candidate with this launch tries again."""
        lasts = False
        try:
            answer = self._outcome_of(entry, job)
            lasts = not (isinstance(answer, Failure) and answer.status is Status.TIMEOUT)
        except Lost as lost:
            return Failure(status=lost.status, reason=lost.reason)
        finally:
            if not lasts:
                with self.compiled_lock:
                    del self.compiled[entry]
        return answer

    def _outcome_of(self, entry: str, job: ToCompiler) -> Outcome:
        """The result of a job from the compile cache, or from a new compiler, whose result is then cached. Machine code
        is stored in `self.code`."""
        answer = self._fetch(entry, job)
        if answer is None:
            answer = self.twice_if_lost(lambda: self._asked_of_compiler(job))
            if self.cache is not None and not isinstance(answer, Failure):
                self.cache.store(entry, answer)
        if not isinstance(answer, Compiled):
            return answer
        name = machine_code.store(answer.code, self.code) if answer.code is not None else None
        return Stored(**codec.shared(answer, Stored) | {"code": name})

    def _fetch(self, entry: str, job: ToCompiler) -> FromCompiler | None:
        """The cached answer to a job, checked like a compiler's answer; None if there is no usable one."""
        found = self.cache.fetch(entry) if self.cache is not None else None
        answer = None if found is None else answers.of_compiler(found, job, self.target.name)
        return None if isinstance(answer, Failure) else answer

    def _asked_of_compiler(self, job: ToCompiler) -> FromCompiler:
        """The answer of a new compiler. Raises Lost."""
        child = self.spawn("compiler", Options(target=self.target.name), log=True)
        try:
            return answers.of_compiler(child.ask(job, self.limits.compile_s), job, self.target.name)
        except ChildTimeout:
            return Failure(status=Status.TIMEOUT, reason=f"compiling took over {self.limits.compile_s:g} s")
        except ChildDied as error:
            if error.exit_status in KILLED:
                reason = f"{job.launch.kernel}: the compiler was killed, perhaps for want of memory"
                raise Lost(Status.NOT_VERIFIED, reason) from error
            raise Lost(Status.COMPILE_ERROR, f"the compiler {error.how}: {child.printed(600)}") from error
        finally:
            child.discard()

    def close(self) -> None:
        for role in list(self.children):
            self.drop(role)
        self.threads.shutdown(wait=False, cancel_futures=True)
        self.compilers.close()
        if self.interpreters is not None:
            self.interpreters.close()
        self.memory.close()
