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
from typing import Any

from kernelwright import codec, errors
from kernelwright.model import (
    BenchReport,
    Candidate,
    Environment,
    Evaluation,
    Incumbent,
    LibraryMode,
    Machine,
    ProblemInfo,
    Profile,
    QualificationReport,
    WhichCases,
)


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
        except BaseException:  # an interrupt: it would go on importing torch for nobody
            self.process.terminate()
            self.close()
            raise

    def environment(self) -> Environment:
        return codec.record(self._ask("environment"), Environment)

    def machine(self) -> Machine:
        return codec.record(self._ask("machine"), Machine)

    def load(
        self,
        path: str,
        dtype: str | None = None,
        timed: tuple[str, ...] = (),
        narrow: bool = False,
        library: LibraryMode | None = None,
        which: WhichCases = "kept",
    ) -> ProblemInfo:
        asked = {"path": os.path.abspath(path), "dtype": dtype, "cases": list(timed), "narrow": narrow,
                 "library": library, "which": which}  # fmt: skip
        return codec.record(self._ask("load", **asked), ProblemInfo)

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
