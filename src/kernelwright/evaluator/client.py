"""The client of a worker: a process whose standard streams carry requests and answers, a line of JSON each.

It never imports the worker.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import subprocess
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import Any, TypeVar

import msgspec

from kernelwright import codec, errors
from kernelwright.model import (
    BenchCandidates,
    BenchReport,
    Candidate,
    Close,
    CompileCandidate,
    DescribeEnvironment,
    DescribeMachine,
    Environment,
    EvaluateCandidate,
    Evaluation,
    FromWorker,
    Generated,
    GenerateText,
    Incumbent,
    LibraryMode,
    LoadProblem,
    Machine,
    ProblemInfo,
    Profile,
    ProfileCandidate,
    ProfileFramework,
    QualificationReport,
    QualifyProblem,
    Raised,
    Returned,
    ToWorker,
    WhichCases,
)

T = TypeVar("T")


class ProcessWorker:
    """A worker behind an argv. Use as a context manager, or call `close`."""

    def __init__(self, argv: Sequence[str], target: str | None = None, limits: dict[str, float] | None = None) -> None:
        """argv: what starts a worker. target: compile target on a machine without a GPU. limits: seconds, by the names
        of the worker's `limits.py`. Raises MachineError where torch or Triton is missing."""
        command = [*argv]
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
        except BaseException:  # an interrupt: else it would go on importing torch
            self.process.terminate()
            self.close()
            raise

    def environment(self) -> Environment:
        return self._ask(DescribeEnvironment(), Environment)

    def machine(self) -> Machine:
        return self._ask(DescribeMachine(), Machine)

    def load(
        self,
        path: str,
        dtype: str | None = None,
        timed: tuple[str, ...] = (),
        narrow: bool = False,
        library: LibraryMode | None = None,
        which: WhichCases = "kept",
    ) -> ProblemInfo:
        call = LoadProblem(
            path=os.path.abspath(path), dtype=dtype, cases=timed, narrow=narrow, library=library, which=which
        )
        return self._ask(call, ProblemInfo)

    def qualify(self, every: bool = False) -> QualificationReport:
        return self._ask(QualifyProblem(every=every), QualificationReport)

    def generate(self) -> Generated:
        return self._ask(GenerateText(), Generated)

    def compile(self, candidate: Candidate, purpose: str) -> Evaluation:
        return self._ask(CompileCandidate(candidate=candidate, purpose=purpose), Evaluation)

    def evaluate(self, candidate: Candidate, purpose: str, incumbent: Incumbent | None = None) -> Evaluation:
        return self._ask(EvaluateCandidate(candidate=candidate, purpose=purpose, incumbent=incumbent), Evaluation)

    def bench(
        self,
        candidates: dict[str, Candidate],
        cases: tuple[str, ...] = (),
        max_autotune: bool = False,
        compile: bool = True,
        against: str | None = None,
    ) -> BenchReport:
        framework = ("eager", *["compile"] * compile, *["compile_max_autotune"] * max_autotune)
        call = BenchCandidates(
            candidates=candidates, cases=cases, framework=framework if against is None else (), against=against
        )
        return self._ask(call, BenchReport)

    def profile(self, implementation: Candidate | str, case: str, full: bool = False) -> Profile:
        if isinstance(implementation, str):
            return self._ask(ProfileFramework(name=implementation, case=case, full=full), Profile)
        return self._ask(ProfileCandidate(candidate=implementation, case=case, full=full), Profile)

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with contextlib.suppress(OSError, ValueError):
            self._write(Close())
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

    def _ask(self, call: ToWorker, answer: type[T]) -> T:
        """The worker's answer as a record of this type."""
        number = next(self.numbers)
        future: Future[Any] = Future()
        self.waiting[number] = future
        try:
            self._write(msgspec.structs.replace(call, id=number))
        except (OSError, ValueError) as error:  # ValueError: the stream is closed
            raise self.ended or errors.WorkerError(f"the worker ended before {call.verb}") from error
        if self.ended is not None and not future.done():
            raise self.ended
        return codec.record(future.result(), answer)

    def _write(self, call: ToWorker) -> None:
        assert self.process.stdin is not None
        with self.lock:
            self.process.stdin.write(json.dumps(codec.plain(call)) + "\n")
            self.process.stdin.flush()

    def _read(self) -> None:
        """Deliver each answer to the call that waits for it; when the worker ends, fail the calls that still wait."""
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
            answer: FromWorker = codec.record(json.loads(line), FromWorker)  # type: ignore[arg-type]
        except ValueError:  # msgspec's too
            return False
        future = self.waiting.pop(answer.id, None)
        match answer:
            case _ if future is None:
                pass
            case Returned(value=value):
                future.set_result(value)
            case Raised():
                future.set_exception(error_of(answer))
        return True


def error_of(raised: Raised) -> errors.KernelwrightError:
    """What a worker raised; WorkerError for a kind that is not in `errors`."""
    kind = getattr(errors, raised.kind, None)
    if isinstance(kind, type) and issubclass(kind, errors.KernelwrightError):
        return kind(raised.error, raised.hint)
    return errors.WorkerError(raised.error, raised.hint)
