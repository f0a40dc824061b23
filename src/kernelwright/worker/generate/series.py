"""Captures of a problem in several variants: ordinary kernels, templates in place of library calls, and rows in one
piece in place of loops. Each is captured with symbols in place of sizes, and with the sizes of the timed case."""

from __future__ import annotations

import signal
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from kernelwright.errors import ProblemError
from kernelwright.model import Capture, Case
from kernelwright.worker.generate.capture import capture
from kernelwright.worker.generate.rows import whole_rows
from kernelwright.worker.generate.symbols import Symbols, numbers_to_try
from kernelwright.worker.generate.templates import in_templates
from kernelwright.worker.reference.cures import cure_for
from kernelwright.worker.reference.load import LoadedProblem
from kernelwright.worker.reference.problem_module import words_of

LOOP = "triton_red_"
"""The beginning of Inductor's names of kernels that loop over what they reduce."""

MOST_CPU_S = 80.0
"""CPU time of captures with symbols. A generator process has 240 s (`worker/processes/limits.py`)."""


class Series:
    """case: the timed one. faults: what Inductor failed at, by name of the variant. attempts: the numbers that become
    symbols, first all, then those that the Model is not given."""

    def __init__(self, problem: LoadedProblem, case: Case) -> None:
        self.problem, self.case = problem, case
        self.faults: dict[str, str] = {}
        self._left_cpu_s = MOST_CPU_S
        self._cases = [problem.numbers(one) for one in problem.cases]
        self.attempts = numbers_to_try(problem, case)
        self.numbers = self.attempts[0] if self.attempts else {}

    def ordinary(self) -> tuple[Capture, ...]:
        return self._captured("captures", nullcontext)

    def templates(self) -> tuple[Capture, ...]:
        return self._captured("templates", in_templates)

    def rows(self, first: Capture) -> tuple[Capture, ...]:
        """Empty where no loop becomes a row in one piece. first: the ordinary capture."""
        looped = _loops(first)
        found = self._captured("rows", whole_rows) if looped else ()
        return tuple(one for one in found if _loops(one) < looped)

    def _captured(self, name: str, inside: Callable[[], AbstractContextManager[None]]) -> tuple[Capture, ...]:
        """At all sizes, if that is possible, and at those of the timed case; empty, with the fault in `faults`, where
        Inductor fails. Raises `ProblemError`."""
        return tuple(self._attempts(name, inside))

    def _attempts(self, name: str, inside: Callable[[], AbstractContextManager[None]]) -> Iterator[Capture]:
        for numbers in list(self.attempts):
            try:
                with inside(), self._within_time():
                    made = capture(self.problem, self.case, Symbols(numbers, self._cases))
                yield made
                break
            except Exception as error:  # noqa: BLE001 - the next attempt has fewer symbols
                self._note(f"{name} at all sizes", error)
                if name == "captures":
                    self.attempts.remove(numbers)
        try:
            with inside():
                made = capture(self.problem, self.case)
            yield made
        except ProblemError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever Inductor raises ends this variant, not the run
            self.faults.pop(f"{name} at all sizes", None)
            self._note(name, error)

    @contextmanager
    def _within_time(self) -> Iterator[None]:
        """Inside, a TimeoutError is raised once all captures with symbols took `MOST_CPU_S` together: the capture at
        the timed sizes still has to be made."""

        def stop(*_: object) -> None:
            raise TimeoutError(f"captures with symbols took over {MOST_CPU_S:g} s")

        before = signal.signal(signal.SIGVTALRM, stop)
        signal.setitimer(signal.ITIMER_VIRTUAL, max(self._left_cpu_s, 0.1))
        try:
            yield
        finally:
            self._left_cpu_s, _ = signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            signal.signal(signal.SIGVTALRM, before)

    def _note(self, name: str, error: Exception) -> None:
        traceback.print_exception(error)
        words = words_of(error).partition("\n")[0][:300]
        cure = cure_for(error, words)
        who = self._who_raised(error)
        self.faults[name] = f"{who} raised {type(error).__name__}: {words}{f' ({cure})' if cure else ''}"

    def _who_raised(self, error: Exception) -> str:
        """The line of the problem's file in which an error was raised, else Inductor."""
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == str(self.problem.file)]
        return f"Inductor traced forward for a GPU, and line {lines[-1]}" if lines else "Inductor"


def _loops(capture: Capture) -> int:
    return sum(kernel.name.startswith(LOOP) for one in capture.parts for kernel in one.kernels)
