"""Series of captures of a problem, one capture at each of its sizes: ordinary kernels, templates in place of library
calls, and rows in one piece in place of loops."""

from __future__ import annotations

import traceback
from collections.abc import Iterator

import msgspec

from kernelwright.errors import ProblemError
from kernelwright.model import Capture, Case
from kernelwright.worker.generate.capture import Choices, capture
from kernelwright.worker.generate.rows import whole_rows
from kernelwright.worker.reference.cures import cure_for
from kernelwright.worker.reference.load import LoadedProblem
from kernelwright.worker.reference.problem_module import words_of

LOOP = "triton_red_"
"""The beginning of Inductor's names of kernels that loop over what they reduce."""


class Series:
    """cases: the sizes; the first is the timed one. faults: what Inductor failed at, by name of the series."""

    def __init__(self, problem: LoadedProblem, cases: list[Case]) -> None:
        self.problem, self.cases = problem, cases
        self.choices = Choices()
        self.faults: dict[str, str] = {}

    def ordinary(self) -> Iterator[Capture]:
        """A size at which Inductor fails is left out, and noted in `faults`; the timed one raises its error."""
        self.choices.restart()
        for case in self.cases:
            self.choices.begin()
            try:
                made = capture(self.problem, case)
            except Exception as error:
                if case is self.cases[0]:
                    raise
                self._note(case.name, error)
                continue
            yield msgspec.structs.replace(made, splits=self.choices.splits())

    def templates(self) -> Iterator[Capture]:
        from kernelwright.worker.generate.templates import in_templates

        with in_templates():
            yield from self.ordinary()

    def rows(self, first: Capture) -> Iterator[Capture]:
        """Empty where no loop becomes a row in one piece. first: the ordinary capture at the first size."""
        if looped := first.text.count(LOOP):
            with whole_rows():
                series = self.ordinary()
                whole = next(series)
                if whole.text.count(LOOP) < looped:
                    yield whole
                    yield from series

    def attempted(self, name: str, captures: Iterator[Capture]) -> tuple[Capture, ...]:
        """The captures; empty, with the fault in `faults`, where Inductor fails at the timed size. Raises
        `ProblemError`."""
        try:
            return tuple(captures)
        except ProblemError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever Inductor raises ends this series, not the run
            self._note(name, error)
            return ()

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
