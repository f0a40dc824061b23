"""Profile of one call: the first profiler of PROFILERS that works here, and for a candidate the compiler's figures.

Nothing is verified or timed. A profile is made once and kept in the session, by a hash of everything that determines it
(code, case, device, amount of counters).
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from kernelwright import codec
from kernelwright.errors import ConfigError, MachineError, ProblemError, RequestError
from kernelwright.model import Candidate, LaunchProfile, Profile
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
"""Profilers in the order in which they are tried on a machine with a GPU. A new one is a file and an entry here."""

PROFILED = ("eager", "compile")
"""The framework's own implementations that can be profiled."""

OUT_OF_MEMORY = "OutOfMemoryError"
"""Name of torch's exception when memory runs out, as it appears at the end of a traceback."""


def profile(session: Session, implementation: Candidate | str, case: str, full: bool) -> Profile:
    """Profile one call. implementation: a candidate, or one of PROFILED. full: every counter that the tool has. Raises
    `RequestError` if a candidate gets no plan or does not compile."""
    known = [info.case.name for info in session.loaded().cases]
    if case not in known:
        raise ProblemError(f"no case {case!r}", f"known: {', '.join(known)}")
    if isinstance(implementation, str):
        return framework_profile(session, implementation, case, full)
    try:
        subject = Subject(session, implementation)
        subject.prepare([case])
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
    job = job_of(subject.session, case, folder=str(processes.code), code=subject.code(plan), plan=plan)
    with subject.leased("profile"):
        tool, seen, not_used = by_first(processes, job, full)
    launches = compiled.joined(seen, planned) if tool else planned
    return Profile(
        implementation=name, case=case, device=processes.machine.device, target=processes.target.name, tool=tool,
        launches=launches, not_used=not_used, key=key, method=METHODS.get(tool or "", ""),
        seconds=subject.stages_s["profile"],
    )  # fmt: skip


def framework_profile(session: Session, name: str, case: str, full: bool) -> Profile:
    """Profile one call of the framework's own implementation. Raises `ConfigError` for an unknown name, `MachineError`
    without a GPU or without a profiler that works."""
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
        implementation=name, case=case, device=processes.machine.device, target=processes.target.name, tool=tool,
        launches=seen, not_used=not_used, key=key, method=METHODS.get(tool, ""), seconds=seconds,
    )  # fmt: skip


def key_of(session: Session, what: str | None, case: str, full: bool) -> str:
    """Key of a profile. what: hash of the compiled code, or the name of a framework's implementation."""
    processes = session.processes
    place = [processes.target.name, processes.machine.device, processes.compilers.ready()]
    cases = [one.case for one in session.loaded().cases if one.case.name == case]
    return codec.sha(codec.encode([what, session.loaded().source, cases, place, full]))


METHODS = {
    "ncu": "one call after warming up; each kernel replayed from flushed caches, clocks left alone",
    "torch.profiler": "one call after warming up, caches evicted before; no counters",
}


def job_of(session: Session, case: str, **what: object) -> Job:
    problem, device = session.read_from(), session.processes.device
    cases = tuple(info.case for info in session.loaded().cases)
    return Job(problem=problem.path, cases=cases, case=case, device=device, marks="none", **what)  # type: ignore[arg-type]


def by_first(
    processes: Processes, job: Job, full: bool, profilers: Sequence[Profiler] = PROFILERS
) -> tuple[str | None, tuple[LaunchProfile, ...], dict[str, str]]:
    """Name of the first profiler that works and the launches that it saw; and why those before it failed, by name."""
    not_used: dict[str, str] = {}
    for profiler in profilers:
        try:
            return profiler.name, with_room(processes, job, full, profiler), not_used
        except CannotProfile as error:
            not_used[profiler.name] = str(error)
    return None, (), not_used


def with_room(processes: Processes, job: Job, full: bool, profiler: Profiler) -> tuple[LaunchProfile, ...]:
    """Run a profiler. If device memory runs out, drop the bench, whose copies may fill half of it, and try again."""
    try:
        return profiler.profile(processes, job, full)
    except CannotProfile as error:
        if OUT_OF_MEMORY not in str(error):
            raise
    processes.drop("bench")
    return profiler.profile(processes, job, full)
