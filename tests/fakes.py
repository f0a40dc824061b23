"""A worker and a proposer that are functions of their input, and the records that tests need around them.

Nothing is compiled or measured. A fake answers the same to the same question, in any order and from
any thread, so what a test sees comes from the code under test.

A fake candidate is a text such as `BLOCK = 64`. The worker reads the block (from the config where there is one),
finds 512 the fastest, and obeys two comments: `# fails: <status>` and `# fails confirm: <status>`.
"""

from __future__ import annotations

import math
import random
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from kernelwright.journal import SCHEMA_VERSION
from kernelwright.model import (
    AS_KEPT,
    Attempt,
    BenchCase,
    BenchReport,
    Bound,
    Candidate,
    Case,
    CaseInfo,
    CaseResult,
    Counter,
    Environment,
    Evaluation,
    Generated,
    Implementation,
    Incumbent,
    LaneChange,
    LaunchProfile,
    LibraryMode,
    Loading,
    Machine,
    Operator,
    ProblemInfo,
    Profile,
    Proposal,
    QualificationReport,
    Request,
    RunInfo,
    RunSettings,
    Status,
    TensorSpec,
    Timing,
    Trial,
    Usage,
)
from kernelwright.propose.protocol import Context

NOTHING_GENERATED = Generated(reason="a fake generates nothing")
STARTER = Candidate(source="BLOCK = 64\n")
SPEC = TensorSpec(shape=(64, 64), dtype="float32", stride=(64, 1))
BOUND = Bound(bound_us=50.0, bound_by="bytes", bytes=32768, flop=4096, peaks="measured Fake GPU 2026-01-01")
CASES = (Case(name="small", small=True, params={"rows": 3}), Case(name="big"), Case(name="odd", held_out=True))
PROBLEM = ProblemInfo(
    name="double",
    format="native",
    source="# a reference\n",
    cases=tuple(
        CaseInfo(case=case, inputs=(SPEC,), outputs=(SPEC,), bytes=32768, flop=4096, bound=BOUND) for case in CASES
    ),
    docstring="Twice the input.",
)
MACHINE = Machine(
    gpu="Fake GPU, sm_90, 1 GiB",
    nvml="answers",
    profiler="no ncu on PATH",
    measures={"limits": "in force", "landlock": "not available: a fake kernel"},
    attempts=(Attempt(what="run a program", refused=True, how="PermissionError"),),
)
ENVIRONMENT = Environment(device="Fake GPU", target="sm_90", python="3.10.0", torch="2.9.0", triton="3.5.0")

QUALIFIED = QualificationReport(problem="double", qualifies=True)


def run_info(**settings: object) -> RunInfo:
    """The head of a run; keywords are fields of `RunSettings`, and `starter`."""
    starter = settings.pop("starter", STARTER)
    assert starter is None or isinstance(starter, Candidate)
    return RunInfo(
        schema_version=SCHEMA_VERSION,
        kernelwright="0",
        created="2026-01-01T00:00:00+00:00",
        settings=RunSettings(problem="problem.py", **settings),  # type: ignore[arg-type]
        problem=msgspec.structs.replace(PROBLEM, dtype=settings.get("dtype")),
        environment=ENVIRONMENT,
        starter=starter,
        known=(),
    )


def block_of(candidate: Candidate) -> int:
    values = [value for name, value in candidate.config.items() if name.endswith("BLOCK")]
    return values[0] if values else int(re.findall(r"BLOCK\s*=\s*(\d+)", candidate.source)[-1])


def evaluation_of(candidate: Candidate, purpose: str) -> Evaluation:
    """What the fake device says of a candidate."""
    failures = dict(re.findall(r"# fails( confirm)?: (\w+)", candidate.source))
    status = failures.get("", failures.get(" confirm") if purpose == "confirm" else None)
    if status is not None:
        return Evaluation(status=Status(status), reason=f"the source says that it fails: {status}", log="printed\n")
    block = block_of(candidate)
    score_us = 100.0 * (1 + abs(math.log2(block / 512))) + (1.0 if purpose == "confirm" else 0.0)
    timing = Timing(kind="measured", median_us=score_us, ci95_us=(score_us * 0.99, score_us * 1.01))
    return Evaluation(
        status=Status.PASSED,
        results=tuple(
            CaseResult(case=case.name, status=Status.PASSED, timing=timing if case.timed else None)
            for case in CASES
            if purpose not in ("search", "tune") or not case.held_out
        ),
        verified_on="device",
        score_us=score_us if purpose != "verify" else None,
        timing_kind="measured" if purpose != "verify" else None,
        compiled=f"block {block}",
    )


def profile_of(implementation: Candidate | str, case: str, full: bool) -> Profile:
    """A kernel that asks L1 for too much, unless its block is 512; the framework's is named as it is."""
    name = implementation if isinstance(implementation, str) else implementation.id
    own = not isinstance(implementation, str)
    busy = 0.9 if not isinstance(implementation, str) and block_of(implementation) != 512 else 0.3
    counters = {"l1_throughput": busy, "dram_throughput": 0.2, **({"sm__extra.sum": 7.0} if full else {})}
    launch = LaunchProfile(
        kernel="double_kernel" if own else f"{name}_kernel", grid=(64, 1, 1), block=(128, 1, 1),
        counters=tuple(Counter(name=n, value=v, unit="fraction", tool="ncu") for n, v in counters.items()),
    )  # fmt: skip
    return Profile(
        implementation=name, case=case, device=ENVIRONMENT.device, target=ENVIRONMENT.target, tool="ncu",
        launches=(launch,), method="a fake look", key=f"{case} {busy}", seconds=2.0,
    )  # fmt: skip


@dataclass
class FakeWorker:
    """`Worker` as a function. look: `profile` as one, `profile_of` where None. calls: what `evaluate` and
    `profile` were asked, in order of arrival. log: the former's, one line each, in a file that outlives a killed
    process. delay_s: how long an evaluation takes. eager_us: time of eager PyTorch; the bound is 50 µs. dtypes,
    libraries: in which problems were loaded. incumbents: what each evaluation raced against."""

    answer: Callable[[Candidate, str], Evaluation] = evaluation_of
    where: Environment = ENVIRONMENT
    found: Machine = MACHINE
    problem: ProblemInfo = PROBLEM
    look: Callable[[Candidate | str, str, bool], Profile] | None = None
    qualification: QualificationReport = QUALIFIED
    log: Path | None = None
    generated: Generated = NOTHING_GENERATED
    delay_s: float = 0.0
    eager_us: float = 400.0
    calls: list[tuple[str, str]] = field(default_factory=list)
    dtypes: list[str | None] = field(default_factory=list)
    libraries: list[LibraryMode | None] = field(default_factory=list)
    incumbents: list[Incumbent | None] = field(default_factory=list)
    closed: bool = False

    def environment(self) -> Environment:
        return self.where

    def machine(self) -> Machine:
        return self.found

    def load(self, path: str, loading: Loading = AS_KEPT) -> ProblemInfo:
        dtype, library = loading.dtype, loading.library
        self.dtypes.append(dtype)
        self.libraries.append(library)
        cases = self.problem.cases
        if dtype is not None:
            cast = (msgspec.structs.replace(one.case, dtype=dtype) for one in cases)
            cases = tuple(msgspec.structs.replace(one, case=case) for one, case in zip(cases, cast, strict=True))
        stated = library is not None or self.problem.is_library_stated
        self.problem = msgspec.structs.replace(
            self.problem, dtype=dtype, library=library or self.problem.library, is_library_stated=stated, cases=cases
        )
        return self.problem

    def qualify(self, every: bool = False) -> QualificationReport:
        return msgspec.structs.replace(self.qualification, problem=self.problem.name)

    def generate(self) -> Generated:
        return self.generated

    def elsewhere(self) -> None:
        return None

    def watch(self, notify: Callable[[LaneChange], None] | None) -> None:
        return None

    def compile(self, candidate: Candidate, purpose: str) -> Evaluation:
        found = self.answer(candidate, "verify")
        if found.status is Status.PASSED:
            return Evaluation(status=Status.NOT_VERIFIED, reason="compiled, not run", compiled=found.compiled)
        runs = found.status not in (Status.COMPILE_ERROR, Status.REJECTED)
        return Evaluation(status=Status.NOT_VERIFIED) if runs else found

    def evaluate(self, candidate: Candidate, purpose: str, incumbent: Incumbent | None = None) -> Evaluation:
        self.calls.append((candidate.id, purpose))
        self.incumbents.append(incumbent)
        _note(self.log, f"{purpose} {candidate.id}")
        time.sleep(self.delay_s)
        return msgspec.structs.replace(self.answer(candidate, purpose), library=self.problem.library)

    def bench(
        self,
        candidates: dict[str, Candidate],
        cases: tuple[str, ...] = (),
        max_autotune: bool = False,
        compile: bool = True,
        against: str | None = None,
    ) -> BenchReport:
        eager_us = self.eager_us
        eager = Implementation(name="eager", status=Status.PASSED, median_us=eager_us, fraction_of_bound=50 / eager_us)
        rows = [eager] if against is None else []
        reference_us = eager_us if against is None else self.answer(candidates[against], "search").score_us
        for name, candidate in candidates.items():
            evaluation = self.answer(candidate, "verify")
            score_us = self.answer(candidate, "search").score_us
            speedup = None if score_us is None or reference_us is None else reference_us / score_us
            rows.append(
                Implementation(
                    name=name,
                    status=evaluation.status,
                    reason=evaluation.reason,
                    median_us=score_us,
                    speedup=speedup,
                    speedup_ci95=None if speedup is None else (speedup * 0.99, speedup * 1.01),
                    kind="estimate" if self.where.device is None else "measured",
                    fraction_of_bound=None if score_us is None else 50 / score_us,
                )
            )
        wanted = [case for case in CASES if (case.name in cases if cases else not case.small)]
        return BenchReport(
            problem=self.problem.name,
            environment=self.where,
            library=self.problem.library,
            dtype=self.problem.dtype,
            cases=tuple(
                BenchCase(
                    case=case.name,
                    held_out=case.held_out,
                    bound_us=50.0,
                    bound_by="bytes",
                    implementations=tuple(rows),
                    noise_floor=0.005,
                )
                for case in wanted
            ),
        )

    def profile(self, implementation: Candidate | str, case: str, full: bool = False) -> Profile:
        self.calls.append((implementation if isinstance(implementation, str) else implementation.id, "profile"))
        return (self.look or profile_of)(implementation, case, full)

    def close(self) -> None:
        self.closed = True


def step(request: Request, context: Context) -> Proposal:
    """A proposal that depends on the request and its parents alone: twice or half the parent's block, some of them
    broken; a repair takes the breakage out."""
    trials = {trial.number: trial for trial in context.trials}
    parents = [trials[number] for number in request.parents]
    parent = parents[0].proposal.candidate if parents else STARTER
    assert parent is not None
    usage = Usage(input_tokens=100, output_tokens=50, cost_usd=0.01, seconds=0.1, requests=1)
    block = block_of(parent)
    comment = f"# number {request.number}\n"
    if request.operator is not Operator.REPAIR:
        chance = random.Random(f"{context.seed}:{request.number}").random()
        block = max(8, block * 2 if chance < 0.6 else block // 2)
        comment += "# fails: compile_error\n" if request.number % 5 == 3 else ""
    return Proposal(author="fake", candidate=Candidate(source=f"BLOCK = {block}\n{comment}"), usage=usage)


@dataclass
class FakeProposer:
    """`Proposer` as a function. calls and log as for the worker; author is the fake's own. at_once: whether the loop
    waits for its answers."""

    answer: Callable[[Request, Context], Proposal | None] = step
    log: Path | None = None
    delay_s: float = 0.0
    eager_us: float = 400.0
    calls: list[int] = field(default_factory=list)
    author: str = "fake"
    shows_profiles: bool = False
    at_once: bool = False
    closed: bool = False

    def answers_at_once(self, request: Request) -> bool:
        return self.at_once

    def propose(self, request: Request, context: Context) -> Proposal | None:
        self.calls.append(request.number)
        _note(self.log, f"propose {request.number}")
        time.sleep(self.delay_s)
        return self.answer(request, context)

    def close(self) -> None:
        self.closed = True


def trial_of(
    number: int,
    candidate: Candidate | None,
    *,
    operator: Operator = Operator.IMPROVE,
    round: int = 0,
    parents: tuple[int, ...] = (),
    evaluation: Evaluation | None = None,
) -> Trial:
    """A finished trial; the fake device evaluates the candidate unless an evaluation is given."""
    proposal = Proposal(author="fake", candidate=candidate, error=None if candidate else "no code in the reply")
    if candidate is not None and evaluation is None:
        evaluation = evaluation_of(candidate, "search")
    request = Request(number=number, operator=operator, round=round, parents=parents)
    return Trial(request=request, proposal=proposal, evaluation=evaluation)


def _note(log: Path | None, line: str) -> None:
    if log is not None:
        with log.open("a") as file:
            file.write(line + "\n")
