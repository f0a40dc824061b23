"""Profile one call: the tools in the order of a table, the first that can; what the compiler knows is always there.

It verifies and times nothing. A profile is kept under a hash of all that decides it (code, case, device,
how much was asked), and taken once.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from kernelwright import codec
from kernelwright.errors import ConfigError, MachineError, ProblemError, RequestError
from kernelwright.model import Candidate, LaunchProfile, Profile
from kernelwright.source import parse as syntax
from kernelwright.worker.processes.outcome import Ended
from kernelwright.worker.processes.processes import Processes
from kernelwright.worker.profile import compiled
from kernelwright.worker.profile.cupti import TorchProfiler
from kernelwright.worker.profile.job import Job
from kernelwright.worker.profile.ncu import NsightCompute
from kernelwright.worker.profile.protocol import CannotProfile, Profiler
from kernelwright.worker.session import Session
from kernelwright.worker.stages.subject import Subject

PROFILERS: tuple[Profiler, ...] = (NsightCompute(), TorchProfiler())
"""Tried in this order on a machine with a GPU. Another profiler is a separate file and an entry here."""

PROFILED = ("eager", "compile")
"""Names of the framework rows that can be profiled."""

OUT_OF_MEMORY = "OutOfMemoryError"
"""How torch says so, at the end of a traceback."""


def profile(session: Session, implementation: Candidate | str, case: str, full: bool) -> Profile:
    """implementation: a candidate, or one of PROFILED. Raises `RequestError` where a candidate gets no plan."""
    known = [info.case.name for info in session.loaded().cases]
    if case not in known:
        raise ProblemError(f"no case {case!r}", f"known: {', '.join(known)}")
    if isinstance(implementation, str):
        return framework_profile(session, implementation, case, full)
    try:
        subject = Subject(session, implementation)
        subject.prepare([case])
    except SyntaxError as error:
        raise RequestError(f"the candidate cannot be profiled: {syntax.complaint(error)}") from error
    except Ended as ended:
        raise RequestError(f"the candidate cannot be profiled: {ended.status.value}: {ended.reason}") from ended
    if case not in subject.plans:
        raise RequestError(f"the candidate cannot be profiled on {case}: {subject.unplanned[case].reason}")
    key = key_of(session, subject.identity(), case, full)
    return session.profile(key, lambda: candidate_profile(subject, implementation.id, case, full, key))


def candidate_profile(subject: Subject, name: str, case: str, full: bool, key: str) -> Profile:
    processes, plan = subject.processes, subject.plans[case]
    try:
        planned = compiled.launches(subject, plan)
    except CannotProfile as error:
        raise RequestError(f"the candidate cannot be profiled: {error}") from error
    if not processes.on_gpu:
        return Profile(
            implementation=name, case=case, device=None, target=processes.target.name, tool=None, launches=planned,
            not_used={profiler.name: "there is no GPU here" for profiler in PROFILERS}, key=key,
            method="compiled for the target, not run",
        )  # fmt: skip
    code = tuple(subject.code[subject.key(launch)] for launch in plan.launches)
    job = job_of(subject.session, case, folder=str(processes.code), code=code, plan=plan)
    with subject.leased("profile"):
        tool, seen, not_used = by_first(processes, job, full)
    launches = compiled.joined(seen, planned) if tool else planned
    return Profile(
        implementation=name, case=case, device=processes.machine["device"], target=processes.target.name, tool=tool,
        launches=launches, not_used=not_used, key=key, method=METHODS.get(tool or "", ""),
        seconds=subject.stages_s["profile"],
    )  # fmt: skip


def framework_profile(session: Session, name: str, case: str, full: bool) -> Profile:
    """What the framework's own implementation launches, in the same way."""
    if name not in PROFILED:
        raise ConfigError(f"the framework has no implementation {name!r} to profile", f"known: {', '.join(PROFILED)}")
    if not session.processes.on_gpu:
        raise MachineError(f"{name} cannot be profiled: there is no GPU here", "profile a candidate, or use a GPU")
    key = key_of(session, name, case, full)
    return session.profile(key, lambda: taken_of_framework(session, name, case, full, key))


def taken_of_framework(session: Session, name: str, case: str, full: bool, key: str) -> Profile:
    processes = session.processes
    with processes.lease:
        start_s = time.monotonic()
        tool, seen, not_used = by_first(processes, job_of(session, case, framework=name), full)
        seconds = round(time.monotonic() - start_s, 4)
    if tool is None:
        reasons = "; ".join(f"{tool}: {why}" for tool, why in not_used.items())
        raise MachineError(f"{name} cannot be profiled here ({reasons})", "see docs/diagnosis.md")
    return Profile(
        implementation=name, case=case, device=processes.machine["device"], target=processes.target.name, tool=tool,
        launches=seen, not_used=not_used, key=key, method=METHODS.get(tool, ""), seconds=seconds,
    )  # fmt: skip


def key_of(session: Session, what: str | None, case: str, full: bool) -> str:
    """what: compiled code, or a name of the framework's."""
    processes = session.processes
    place = [processes.target.name, processes.machine["device"], processes.compilers.ready()]
    return codec.sha(codec.encode([what, session.loaded().source, session.read_from().dtype, case, place, full]))


METHODS = {
    "ncu": "one call after warming up; each kernel replayed from flushed caches, clocks left alone",
    "torch.profiler": "one call after warming up, caches evicted before; no counters",
}


def job_of(session: Session, case: str, **what: object) -> Job:
    problem, device = session.read_from(), session.processes.device
    cases = tuple(info.case for info in session.loaded().cases)
    return Job(problem=problem.path, cases=cases, case=case, dtype=problem.dtype, device=device, marks="none", **what)  # type: ignore[arg-type]


def by_first(
    processes: Processes, job: Job, full: bool, profilers: Sequence[Profiler] = PROFILERS
) -> tuple[str | None, tuple[LaunchProfile, ...], dict[str, str]]:
    """The first tool that can, with what it saw; and why those before it could not."""
    not_used: dict[str, str] = {}
    for profiler in profilers:
        try:
            return profiler.name, with_room(processes, job, full, profiler), not_used
        except CannotProfile as error:
            not_used[profiler.name] = str(error)
    return None, (), not_used


def with_room(processes: Processes, job: Job, full: bool, profiler: Profiler) -> tuple[LaunchProfile, ...]:
    """Where memory runs out, once more without the bench, whose copies of inputs may fill half of the device."""
    try:
        return profiler.profile(processes, job, full)
    except CannotProfile as error:
        if OUT_OF_MEMORY not in str(error):
            raise
    processes.drop("bench")
    return profiler.profile(processes, job, full)
