"""The coordinator's side of a worker: start one by argv, ask, and get records back.

It never imports the worker. `Worker` is the protocol that the run loop and the commands use; tests implement it
as a function of its input. Any argv will do whose standard input and output reach a worker: local, `ssh host …`,
`srun …`, a container.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Protocol

from kernelwright import codec, errors
from kernelwright.model import (
    BenchReport,
    Candidate,
    Environment,
    Evaluation,
    Incumbent,
    Machine,
    ProblemInfo,
    Profile,
    QualificationReport,
)


class Worker(Protocol):
    """Thread-safe: several `evaluate` calls may be under way at once; the GPU is leased inside the worker."""

    def environment(self) -> Environment:
        """What this worker runs on."""
        ...

    def machine(self) -> Machine:
        """What is there and what holds, found by trying (see `doctor`)."""
        ...

    def load(
        self, path: str, dtype: str | None = None, timed: tuple[str, ...] = (), narrow: bool = False
    ) -> ProblemInfo:
        """Read the problem at `path`; raises `ProblemError`. Must precede the calls below.

        dtype overrides the dtype of every case that is not small. timed: names of the cases to score, () for all.
        narrow: leave out small and held-out cases of wider elements than those of the cases to score, for a config
        that is chosen for these alone.
        """
        ...

    def qualify(self, every: bool = False) -> QualificationReport:
        """Whether the loaded problem can tell a kernel from a trivial answer, by its small cases and the smallest timed
        one; every: by all that this machine can compute. Where it cannot, results from here on say so."""
        ...

    def compile(self, candidate: Candidate, purpose: str) -> Evaluation:
        """Compiled for every case that `evaluate` looks at for this purpose, and not run: `not_verified` with the
        kernels' resources, or the failure of one that could not run. Needs no GPU and waits for none."""
        ...

    def evaluate(self, candidate: Candidate, purpose: str, incumbent: Incumbent | None = None) -> Evaluation:
        """purpose "search": small cases, then the timed ones, timed against the incumbent. "tune": the same without the
        small cases where there is a GPU, for another config of a known candidate.
        "verify": every case, no timing. "confirm": fresh process, fresh seeds, every case (held-out ones too), timed
        alone. incumbent: None where there is none yet, and for a candidate that is to be timed alone."""
        ...

    def bench(
        self,
        candidates: dict[str, Candidate],
        cases: tuple[str, ...] = (),
        max_autotune: bool = False,
        compile: bool = True,
        against: str | None = None,
    ) -> BenchReport:
        """Paired timing of the framework's own and the named candidates. cases: names, () for all but small.

        against: a candidate that ratios and verdicts refer to; the framework is then left out.
        """
        ...

    def profile(self, implementation: Candidate | str, case: str, full: bool = False) -> Profile:
        """The launches of one call with what a profiler, or at least the compiler, says of them; kept, and taken once.

        implementation: a candidate, or "eager" or "compile". full: every counter that the tool has. Raises
        `RequestError` for a candidate that does not compile, `MachineError` for the framework's own without a GPU.
        """
        ...

    def close(self) -> None:
        """End the worker and everything it started."""
        ...


class ProcessWorker:
    """A worker behind an argv. Use as a context manager, or call `close`."""

    def __init__(
        self, argv: Sequence[str] | None = None, target: str | None = None, limits: dict[str, float] | None = None
    ) -> None:
        """argv: what starts a worker, this Python's own by default. target: compile target on a machine without a
        GPU. limits: seconds, by the names of the worker's `limits.py`. Raises MachineError where torch or Triton is
        missing."""
        command = [*(argv or [sys.executable, "-m", "kernelwright.worker"])]
        command += [*(["--target", target] if target else []), "--limits", json.dumps(limits or {})]
        try:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise errors.MachineError(f"cannot start a worker by {command[0]}: {error.strerror}") from error
        self.ended: errors.WorkerError | None = None
        self.numbers = itertools.count()
        self.lock = threading.Lock()
        self.waiting: dict[int | None, Future[Any]] = {None: Future()}
        ready = self.waiting[None]
        threading.Thread(target=self._read, daemon=True).start()
        try:
            ready.result()
        except errors.KernelwrightError:
            self.close()
            raise
        except BaseException:  # an interrupt: it would go on importing torch for nobody
            self.process.terminate()
            self.close()
            raise

    def environment(self) -> Environment:
        return codec.record(self._ask("environment"), Environment)

    def machine(self) -> Machine:
        return codec.record(self._ask("machine"), Machine)

    def load(
        self, path: str, dtype: str | None = None, timed: tuple[str, ...] = (), narrow: bool = False
    ) -> ProblemInfo:
        asked = self._ask("load", path=os.path.abspath(path), dtype=dtype, cases=list(timed), narrow=narrow)
        return codec.record(asked, ProblemInfo)

    def qualify(self, every: bool = False) -> QualificationReport:
        return codec.record(self._ask("qualify", every=every), QualificationReport)

    def compile(self, candidate: Candidate, purpose: str) -> Evaluation:
        return codec.record(self._ask("compile", candidate=codec.plain(candidate), purpose=purpose), Evaluation)

    def evaluate(self, candidate: Candidate, purpose: str, incumbent: Incumbent | None = None) -> Evaluation:
        asked = {"candidate": codec.plain(candidate), "purpose": purpose, "incumbent": codec.plain(incumbent)}
        return codec.record(self._ask("evaluate", **asked), Evaluation)

    def bench(
        self,
        candidates: dict[str, Candidate],
        cases: tuple[str, ...] = (),
        max_autotune: bool = False,
        compile: bool = True,
        against: str | None = None,
    ) -> BenchReport:
        framework = ["eager", *["compile"] * compile, *["compile_max_autotune"] * max_autotune]
        answer = self._ask(
            "bench",
            candidates={name: codec.plain(candidate) for name, candidate in candidates.items()},
            cases=list(cases),
            framework=framework if against is None else [],
            against=against,
        )
        return codec.record(answer, BenchReport)

    def profile(self, implementation: Candidate | str, case: str, full: bool = False) -> Profile:
        asked = implementation if isinstance(implementation, str) else codec.plain(implementation)
        return codec.record(self._ask("profile", implementation=asked, case=case, full=full), Profile)

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with contextlib.suppress(OSError, ValueError):
            self._write({"id": -1, "verb": "close"})
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        with contextlib.suppress(OSError):
            self.process.stdout.close()

    def __enter__(self) -> ProcessWorker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ask(self, verb: str, **arguments: Any) -> Any:
        number = next(self.numbers)
        future: Future[Any] = Future()
        self.waiting[number] = future
        try:
            self._write({"id": number, "verb": verb} | arguments)
        except (OSError, ValueError) as error:  # ValueError: the stream is closed
            raise self.ended or errors.WorkerError(f"the worker ended before {verb}") from error
        if self.ended is not None and not future.done():
            raise self.ended
        return future.result()

    def _write(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        with self.lock:
            self.process.stdin.write(json.dumps(message) + "\n")
            self.process.stdin.flush()

    def _read(self) -> None:
        """Hand each answer to who waits for it; when the worker ends, fail whoever still waits."""
        assert self.process.stdout is not None
        why = "the worker ended without an answer"
        with contextlib.suppress(ValueError):  # the stream was closed under us by `close`
            for line in self.process.stdout:
                if not self._answered(line):
                    why = f"the worker said {line.strip()[:200]!r}, which is no answer"
                    break
        self.ended = errors.WorkerError(why, "see its messages above")
        for future in list(self.waiting.values()):
            if not future.done():
                future.set_exception(self.ended)

    def _answered(self, line: str) -> bool:
        """Hand an answer on; False where the line is none."""
        try:
            answer = json.loads(line)
            number = answer["id"]
            if "ok" in answer:
                outcome, failure = answer["ok"], None
            else:
                kind = getattr(errors, answer["kind"], errors.WorkerError)
                outcome, failure = None, kind(answer["error"], answer["hint"])
        except (ValueError, TypeError, KeyError):
            return False
        future = self.waiting.pop(number, None)
        if future is not None and failure is not None:
            future.set_exception(failure)
        elif future is not None:
            future.set_result(outcome)
        return True


def start_worker(
    argv: Sequence[str] | None = None, target: str | None = None, limits: dict[str, float] | None = None
) -> ProcessWorker:
    """A worker on this machine, or behind `argv` (see `ProcessWorker`)."""
    return ProcessWorker(argv, target, limits)
