"""Captures of a problem in several variants: ordinary kernels, templates in place of library calls, and rows in one
piece in place of loops. Each is captured with symbols in place of sizes, or else with the sizes of the timed case; and
again for each stated case with other numbers that the capture does not serve."""

from __future__ import annotations

import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial

import msgspec
from torch import Tensor

from kernelwright.errors import ProblemError
from kernelwright.inductor.several import constants, given, serves
from kernelwright.model import Capture, Case, Unknown
from kernelwright.worker.generate.capture import capture, plain
from kernelwright.worker.generate.hints import whole_rows
from kernelwright.worker.generate.symbols import Symbols, numbers_to_try
from kernelwright.worker.generate.templates import in_templates
from kernelwright.worker.reference.cures import cure_for
from kernelwright.worker.reference.instance import accepted
from kernelwright.worker.reference.load import LoadedProblem
from kernelwright.worker.reference.problem_module import words_of
from kernelwright.worker.structures import with_structures

LOOP = "triton_red_"
"""The beginning of Inductor's names of kernels that loop over what they reduce."""

ENDING_S = 20.0
"""Of the time of a generator process, for the answer with what was captured by then."""


AGAIN_S = 1.0
"""PyTorch goes on after some errors, whatever their kind: the next one follows."""


MOST_CAPTURES = 4
"""In one candidate: each has kernels of its own."""


class _OutOfTime(BaseException):
    """No `Exception`: Inductor goes on after most of these."""


class Series:
    """case: the timed one. limit_s: processor time of the process, after which it gives no answer. faults: what
    Inductor failed at, by name of the variant. attempts: the numbers that become symbols, first those of the attempt
    that serves most cases.
    """

    def __init__(self, problem: LoadedProblem, case: Case, limit_s: float) -> None:
        self._ends_s = time.process_time() + limit_s - ENDING_S
        self.problem, self.case = problem, case
        self.faults: dict[str, str] = {}
        self._given: dict[str, dict[str, str]] = {}
        self._cases = [problem.numbers(one) for one in problem.cases]
        self.attempts = numbers_to_try(problem, case)

    def ordinary(self) -> tuple[Capture, ...]:
        return self._captured("captures", nullcontext)

    def templates(self) -> tuple[Capture, ...]:
        return self._captured("templates", in_templates)

    def structures(self, first: Capture) -> tuple[Capture, ...]:
        """Empty where no structure matches. first: the ordinary capture."""
        if not first.matched:
            return ()
        return self._captured("structures", with_structures if self.problem.library == "any" else _in_both)

    def rows(self, first: Capture, templates: tuple[Capture, ...]) -> tuple[Capture, ...]:
        """Empty where no loop becomes a row in one piece, and where templates take the place of library calls: kernels
        beside library calls are for mode `any`. first: the ordinary capture."""
        if templates and self.problem.library != "any":
            return ()
        found = self._captured("rows", whole_rows) if (looped := _loops(first)) else ()
        return found if found and _loops(found[0]) < looped else ()

    def _captured(self, name: str, inside: Callable[[], AbstractContextManager[None]]) -> tuple[Capture, ...]:
        """At all sizes, or where Inductor fails there, at those of the stated cases; empty, with the fault in `faults`,
        where it fails at these, too. Raises `ProblemError`."""
        made = list[tuple[Capture, dict[str, int]]]()
        for numbers in list(self.attempts):
            try:
                with inside(), self._until((time.process_time() + self._ends_s) / 2):
                    made.append((_known(capture(self.problem, self.case, self._symbols(numbers))), numbers))
                if name != "captures" or not self._refused(made[-1][0]):
                    break
            except (Exception, _OutOfTime) as error:  # noqa: BLE001 - the next attempt has fewer symbols
                self._note(f"{name} at all sizes", error)
                if _is_late(error):
                    self.attempts.clear()
                    break
                if name == "captures":
                    self.attempts.remove(numbers)
        if made:
            first, numbers = min(made, key=lambda one: len(self._refused(one[0])))
            self.attempts.sort(key=lambda one: one is not numbers)
            return self._with_others(first, name, inside, numbers)
        try:
            with inside(), self._until(self._ends_s):
                first = capture(self.problem, self.case, self._symbols({}))
            return self._with_others(first, name, inside, {})
        except (Exception, _OutOfTime) as error:
            if isinstance(error, ProblemError) and not _is_late(error):
                raise
            self.faults.pop(f"{name} at all sizes", None)
            self._note(name, error)
            return ()

    def _refused(self, *made: Capture) -> list[Case]:
        """The cases that none of the captures serves."""
        return [one for one in self.problem.cases if not any(serves(other, self._of(one)) for other in made)]

    def _of(self, case: Case) -> dict[str, str]:
        """What the arguments of host code are in a case, see `given`."""
        if case.name not in self._given:
            outline = self.problem.outline(case)
            named = zip(outline.input_names, outline.inputs, strict=True)
            held = (*outline.module.named_parameters(), *outline.module.named_buffers())
            tensors = {name: one for name, one in (*named, *held) if isinstance(one, Tensor)}
            self._given[case.name] = given(tensors, plain(outline))
        return self._given[case.name]

    def _symbols(self, numbers: Mapping[str, int]) -> Symbols:
        """Symbols for these numbers, with the arguments that are no tensors and differ between cases."""
        cases = [*map(self._of, self.problem.cases)]
        values = {text: tuple(one.get(text, "") for one in cases) for text in cases[0]}
        return Symbols(numbers, self._cases, {text: found for text, found in values.items() if len({*found}) > 1})

    def _at_sizes_of_the_first(self, case: Case, first: Capture, numbers: Mapping[str, int]) -> Case:
        """A case with the sizes of the first capture, as loops and tiles follow sizes, where what is constant there
        stays as it is in `case`; else `case`."""
        params = {**case.params, **{one: value for one, value in numbers.items() if one in case.params}}
        alike = msgspec.structs.replace(case, name=f"{case.name}, other sizes", params=params)
        one, other = self._of(alike), self._of(case)
        return alike if all(one.get(text) == other.get(text) for text in constants(first)) else case

    def _with_others(
        self, first: Capture, name: str, inside: Callable[[], AbstractContextManager[None]], numbers: Mapping[str, int]
    ) -> tuple[Capture, ...]:
        """The first capture, and one for each stated case whose numbers those before it do not serve. numbers: those
        that become symbols; without any, empty where a stated case is not served. A backward has one capture."""
        made = [first]
        for case in self.problem.cases:
            if case.derived or case not in self._refused(*made):
                continue
            case = accepted(partial(self._at_sizes_of_the_first, case, first, numbers)) or case
            values = self.problem.numbers(case)
            symbols = self._symbols({one: values[one] for one in numbers if values.get(one, 0) > 1})
            try:
                if len(made) == MOST_CAPTURES or first.backward is not None:
                    raise RuntimeError(f"a candidate has at most {MOST_CAPTURES} captures, and one with a backward")
                with inside(), self._until((time.process_time() + self._ends_s) / 2):
                    made.append(_known(capture(self.problem, case, symbols)))
            except (Exception, _OutOfTime) as error:  # noqa: BLE001 - the others serve their cases
                self._note(f"{name} of case {case.name}", error)
                if first.sizes is None:
                    return ()
        return tuple(made)

    @contextmanager
    def _until(self, ends_s: float) -> Iterator[None]:
        """Inside, `_OutOfTime` is raised from this processor time on: a loaded machine captures the same. Not by a
        timer: `call` resets those of the user's code."""
        done, thread = threading.Event(), threading.get_ident()
        given_s = ends_s - time.process_time()

        def stop(*_: object) -> None:
            if not done.is_set():
                raise _OutOfTime(f"it took over {given_s:.0f} s of processor time")

        def remind() -> None:
            while not done.wait(max(ends_s - time.process_time(), AGAIN_S)):
                if time.process_time() >= ends_s:
                    signal.pthread_kill(thread, signal.SIGALRM)

        signal.signal(signal.SIGALRM, stop)
        threading.Thread(target=remind, daemon=True).start()
        try:
            yield
        finally:
            done.set()

    def _note(self, name: str, error: BaseException) -> None:
        traceback.print_exception(error)
        error = error.__cause__ if _is_late(error) and error.__cause__ is not None else error
        words = words_of(error).partition("\n")[0][:300]
        cure = cure_for(error, words)
        raised = "" if isinstance(error, _OutOfTime) else f"{self._who_raised(error)} raised {type(error).__name__}: "
        self.faults[name] = f"{raised}{words}{f' ({cure})' if cure else ''}"

    def _who_raised(self, error: BaseException) -> str:
        """The line of the problem's file in which an error was raised, else Inductor."""
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == str(self.problem.file)]
        return f"Inductor traced forward for a GPU, and line {lines[-1]}" if lines else "Inductor"


@contextmanager
def _in_both() -> Iterator[None]:
    with in_templates(), with_structures():
        yield


def _known(capture: Capture) -> Capture:
    """Raises RuntimeError where the host code has a line that cannot be converted."""
    unknown = [step for one in capture.parts for step in one.steps if isinstance(step, Unknown)]
    if unknown:
        raise RuntimeError(f"the host code has the line {unknown[0].text}")
    return capture


def _is_late(error: BaseException) -> bool:
    return isinstance(error, _OutOfTime) or isinstance(error.__cause__, _OutOfTime)


def _loops(capture: Capture) -> int:
    return sum(kernel.name.startswith(LOOP) for one in capture.parts for kernel in one.kernels)
