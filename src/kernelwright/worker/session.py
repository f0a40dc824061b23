"""State of a worker between two requests: the loaded problem, its qualification, what was generated, and profiles.

No state of a candidate is kept here, so that an evaluation depends on its request and the problem alone.
"""

from __future__ import annotations

import datetime
import functools
import threading
from collections.abc import Callable, Sequence

import msgspec

from kernelwright import __version__, roofline
from kernelwright.errors import ProblemError, WorkerError
from kernelwright.model import (
    AS_KEPT,
    Case,
    CaseFacts,
    CaseInfo,
    CaseQualification,
    Environment,
    Generated,
    Loading,
    ProblemInfo,
    Profile,
    QualificationReport,
)
from kernelwright.worker.judge import messages as to_judge
from kernelwright.worker.judge.messages import CaseRead
from kernelwright.worker.machine import sandbox
from kernelwright.worker.plan.case_shape import CaseShape
from kernelwright.worker.plan.library_faults import Library, budget
from kernelwright.worker.plan.plan import ITEMSIZE
from kernelwright.worker.processes.processes import Processes


def left_out(cases: Sequence[Case], timed: tuple[str, ...]) -> set[str]:
    """Names of the scored cases that are not among `timed`; none if it is (). Raises `ProblemError` for a name that is
    no scored case."""
    scored = [case.name for case in cases if case.timed]
    unknown = [name for name in timed if name not in scored]
    if unknown:
        raise ProblemError(f"no timed case {unknown[0]!r}", f"known: {', '.join(scored)}")
    return {name for name in scored if timed and name not in timed}


def wider(cases: Sequence[Case]) -> set[str]:
    """Names of small and held-out cases whose dtype is wider than that of every scored case.

    A tile that is best for two-byte elements may not fit into shared memory with four-byte elements. Returns an empty
    set if no small case would be left.
    """
    widths = [width_of(case) for case in cases if case.timed]
    if not widths or not any(case.small and width_of(case) <= max(widths) for case in cases):
        return set()
    return {case.name for case in cases if not case.timed and width_of(case) > max(widths)}


def width_of(case: Case) -> int:
    return ITEMSIZE.get(case.dtype or "", 0)


def with_bound(read: CaseRead, peaks: dict[str, float], source: str) -> CaseInfo:
    least = roofline.bound(read.bytes, read.written_bytes, read.flop_by_dtype, peaks, source, read.stated)
    return CaseInfo(**{name: getattr(read, name) for name in CaseFacts.__struct_fields__}, bound=least)


UNCHECKED = QualificationReport(problem="", qualifies=None)


class Session:
    """State of one worker. Its methods take the lease where they need the judge."""

    def __init__(self, processes: Processes, is_weak_allowed: bool = False) -> None:
        self.processes, self._is_weak_allowed = processes, is_weak_allowed
        self._problem: to_judge.Load | None = None
        self._info: ProblemInfo | None = None
        self._shapes: tuple[CaseShape, ...] = ()
        self.which = AS_KEPT.which
        self._qualified: dict[tuple[str, bool], CaseQualification | str] = {}
        self.report = UNCHECKED
        """The qualification of the problem, set by `qualify`; every evaluation repeats it."""
        self.measured_s = 0.0
        """Time in which the judge measured tolerances before there was a candidate; the next evaluation counts it."""
        self.ahead: threading.Thread | None = None
        """Compiles baselines of the loaded problem, see `stages.ahead`."""
        self._profiles: dict[str, Profile] = {}
        self._generated: dict[str, Generated] = {}
        self._generating = threading.Lock()

    def load(self, path: str, loading: Loading = AS_KEPT) -> ProblemInfo:
        """Load a problem in a new judge, with its cases and their bounds. Cases are derived once: later judges receive
        them. If this raises, no problem is loaded."""
        with self.processes.lease:
            self._problem, self._info, self._shapes = None, None, ()
            self.ahead, self.which = None, loading.which
            self._qualified.clear()
            self.report = UNCHECKED
            read = self.processes.read(to_judge.Load(path=path, loading=loading))
            found = tuple(one.case for one in read.cases)
            problem = self.processes.problem = to_judge.Load(path=path, cases=found)
            peaks, source = self.processes.peaks()
            dropped = left_out(found, loading.cases)
            if loading.narrow:
                dropped |= wider([case for case in found if case.name not in dropped])
            self._shapes = tuple(shape for shape in read.shapes if shape.name.partition("/")[0] not in dropped)
            self._problem, self._info = (
                problem,
                msgspec.structs.replace(
                    read.problem,
                    cases=tuple(with_bound(one, peaks, source) for one in read.cases if one.case.name not in dropped),
                    dtype=loading.dtype,
                    library=loading.library or read.problem.library,
                    is_library_stated=loading.library is not None or read.problem.is_library_stated,
                ),
            )
            return self._info

    def loaded(self) -> ProblemInfo:
        if self._info is None:
            raise WorkerError("no problem is loaded; `load` comes first")
        return self._info

    def library(self, case: str) -> Library:
        """The library steps that a plan of this case may contain. An unlisted name is that of the strided copy of a
        small case."""
        mode = self.loaded().library
        info = next((info for info in self.loaded().cases if info.case.name == case), None)
        is_small = info is None or info.case.small
        return Library(mode, budget(mode, 0 if info is None else info.bytes, is_small))

    def read_from(self) -> to_judge.Load:
        """Path and cases of the loaded problem."""
        if self._problem is None:
            raise WorkerError("no problem is loaded; `load` comes first")
        return self._problem

    @property
    def shapes(self) -> tuple[CaseShape, ...]:
        """What a recorder receives for each case, and for the strided copy of a small case."""
        return self._shapes

    def qualification(self, case: str, draws: bool = False) -> CaseQualification | str:
        """Which trivial answers pass on a case, or why the judge cannot tell. The judge is asked once per case. draws:
        whether to describe its draws."""
        with self.processes.lease:
            key = case, draws
            if key not in self._qualified:
                self._qualified[key] = self.processes.ask_judge(to_judge.Qualify(case=case, draws=draws))
            return self._qualified[key]

    def profile(self, key: str, take: Callable[[], Profile]) -> Profile:
        """The profile with this key, taken once."""
        if key not in self._profiles:
            self._profiles[key] = take()
        return self._profiles[key]

    def generated(self, key: str, generate: Callable[[], Generated]) -> Generated:
        """The text that torch.compile generates for the loaded problem; generated once, also where others are between.
        key: of all that determines the text."""
        with self._generating:
            if key not in self._generated:
                self._generated[key] = generate()
            return self._generated[key]

    @functools.cached_property
    def sandbox(self) -> tuple[str, str]:
        """See `machine.sandbox`; tried once."""
        return sandbox(self.processes, self._is_weak_allowed)

    @property
    def is_weak(self) -> bool:
        """Whether code of a candidate reaches what is the user's, and runs all the same because that was allowed."""
        return self._is_weak_allowed and self.sandbox[0].startswith("WEAK")

    def environment(self) -> Environment:
        machine, versions = self.processes.machine, self.processes.compilers.ready()
        peaks, source = self.processes.peaks()
        return Environment(
            device=machine.device, target=self.processes.target.name, python=machine.python,
            torch=versions["torch"], triton=versions["triton"], driver=machine.driver,
            kernelwright=__version__, peaks=peaks, peaks_source=source,
            gpu=machine.uuid or "", sandbox=self.sandbox[0], refusal=self.sandbox[1],
            date=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        )  # fmt: skip
