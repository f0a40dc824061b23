"""A candidate on its way to a GPU: checked, recorded and compiled, without data and without touching a device.

static → record → compile. Each stage either ends the evaluation (`Ended`) or hands on plain data; what the recorder
says is checked before it is used.
"""

from __future__ import annotations

import ast
import hashlib
import math
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager

import msgspec

from kernelwright import codec
from kernelwright import source as tunables
from kernelwright.model import Candidate, CaseResult, KernelResources, Property, Status
from kernelwright.roofline import Launched
from kernelwright.source import parse as syntax
from kernelwright.source.branches import branches, without_untaken
from kernelwright.source.languages import TRITON, language_of
from kernelwright.worker.bench.messages import AddPlan, AddText
from kernelwright.worker.compile import machine_code
from kernelwright.worker.compile.messages import (
    Branches,
    BranchesRead,
    Compile,
    Outcome,
    ReadBranches,
    Stored,
    TooLarge,
)
from kernelwright.worker.plan.case_shape import CaseShape
from kernelwright.worker.plan.faults import Expected
from kernelwright.worker.plan.plan import Launch, Plan, Recorded, dtypes, given_bytes, launch_identity
from kernelwright.worker.processes.channel import Failure
from kernelwright.worker.processes.outcome import Ended, TooLargeFor
from kernelwright.worker.record.messages import RecordCases
from kernelwright.worker.rules.constants import computed_constants, with_constants
from kernelwright.worker.rules.extract import Finding, Kernels
from kernelwright.worker.rules.languages import Rules, rules_for
from kernelwright.worker.rules.normal import normal_form
from kernelwright.worker.session import Session
from kernelwright.worker.stages.recording import RecorderRun, accepted, given, read, run_recorder
from kernelwright.worker.stages.stand_ins import Outline


class Subject:
    """A candidate on its way: what each stage found out. One per evaluation."""

    def __init__(self, session: Session, candidate: Candidate) -> None:
        self.session = session
        self.processes = session.processes
        self.candidate = candidate
        self.autotune_stated = tunables.autotune_choices(candidate.config)
        self.autotune_moved: dict[str, int] = {}
        self.source = tunables.render(candidate.source, candidate.config)
        self.stages_s: dict[str, float] = {}
        self.replayed_s = 0.0
        self.kept: ExitStack | None = None
        self.plans: dict[str, Plan] = {}
        self.unplanned: dict[str, CaseResult] = {}
        self.unfinished: dict[str, CaseResult] = {}
        self.seen_small: dict[str, CaseResult] = {}  # small cases judged beside others
        self.resources: dict[str, KernelResources] = {}
        self.code: dict[str, str] = {}
        self.untrue: dict[tuple[str, ...], set[str]] = {}
        self.branches: dict[str, Branches] = {}
        self.confinement: dict[str, str] = {}
        self.autotune: dict[str, int] = {}
        self.necessary: set[str] = set()
        self.lessened: set[Outline] = set()
        self.log = ""
        self.sent: dict[int, AddPlan | AddText] = {}  # by the id of a plan, which each of them keeps alive
        self.kernels_source = ""
        self.kernels_sha = ""
        self.kernels: dict[str, dict[str, bool]] = {}
        self.declared: tuple[Property, ...] = ()
        self.taken: dict[str, frozenset[int]] = {}
        self.replaced: tuple[str, ...] = ()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        start = time.monotonic()
        try:
            yield
        finally:
            self.stages_s[name] = round(self.stages_s.get(name, 0.0) + time.monotonic() - start, 4)

    @contextmanager
    def leased(self, name: str) -> Iterator[None]:
        """A stage that holds the lease; waiting for it is counted apart."""
        with self.stage("wait"):
            self.processes.lease.acquire()
        try:
            if self.kept is not None:
                self.kept.enter_context(self.processes.lease)
            self.processes.replay_for(self)
            with self.stage(name):
                yield
        finally:
            self.processes.lease.release()

    @contextmanager
    def undisturbed(self) -> Iterator[None]:
        """Without a GPU, keeps the lease from the first replay inside to the last: a candidate in between would end
        this one's interpreter, and a new one takes longer to start than most replays do."""
        with ExitStack() as kept:
            self.kept = None if self.processes.on_gpu else kept
            yield

    # --- static, record, compile -----------------------------------------------------------------------------

    def prepare(self, cases: list[str]) -> None:
        """Everything up to compiled kernels, without touching a GPU; raises Ended."""
        with self.stage("static"):
            self._check(cases)
        while True:
            with self.stage("record"):
                self._record(cases)
            try:
                with self.stage("compile"):
                    self._compile()
                return
            except TooLargeFor as ended:
                self._take_next_config(ended)

    def _take_next_config(self, ended: TooLargeFor) -> None:
        """Have an autotuned kernel for which no config is stated take the next one, as Triton's tuner passes over what
        does not fit; raises `ended` where there is none."""
        kernel = ended.kernel
        index, count = self.autotune_moved.get(kernel, 0) + 1, self.autotune.get(kernel, 0)
        if kernel in self.autotune_stated or index >= count:
            raise ended if count < 2 else Ended(ended.status, f"{ended.reason} (config {index - 1} of {count})")
        self.autotune_moved[kernel] = index
        for found in (self.plans, self.unplanned, self.taken, self.resources, self.code, self.untrue, self.branches):
            found.clear()

    def _check(self, cases: list[str]) -> None:
        try:
            rules = rules_for(self.source)
            kernels = rules.check(self.source)
            if language_of(self.source) is TRITON and (kernels.findings or not kernels.names):
                kernels = self._normal(rules, kernels, cases)
            kernels.source.encode()
        except SyntaxError as error:
            raise Ended(Status.COMPILE_ERROR, syntax.complaint(error)) from error
        except (ValueError, RecursionError, MemoryError) as error:  # a zero byte, a lone surrogate, endless nesting
            raise Ended(Status.COMPILE_ERROR, f"not Python source: {error or type(error).__name__}") from error
        if not kernels.names:
            raise Ended(Status.REJECTED, "there is no module-level function under @triton.jit")
        if kernels.findings:
            raise Ended(Status.REJECTED, "; ".join(str(finding) for finding in kernels.findings[:8]))
        if why := rules.why_not_judged(self.processes.on_gpu):
            raise Ended(Status.NOT_VERIFIED, f"not verified here: {why}")
        self.kernels_sha, self.kernels_source = codec.sha(kernels.source), kernels.source
        self.kernels = kernels.parameters
        self.declared = tuple(Property(name=name, shown_by="declared") for name in kernels.serves)

    def _normal(self, rules: Rules, kernels: Kernels, cases: list[str]) -> Kernels:
        """The kernels of the normal form, which is the source from now on; the first ones where it breaks rules too.

        What breaks rules in branches of it that no case takes is left out, and constants of kernels that functions of
        the module compute are written as numbers and texts: a recording says which these are. It is not believed: what
        it makes of the source is checked, recorded and judged as any other.
        """
        normal = normal_form(self.source)
        made = rules.check(normal)
        if not made.names:
            return kernels
        wanted = computed_constants(normal) if made.findings else ()
        if made.findings and (wanted or all(_may_go(finding, normal) for finding in made.findings)):
            try:
                recorded = self._recorded(normal, cases, wanted)
            except Ended:  # the rules that it breaks say more
                return made
            taken = {number for recording in recorded.recordings for number in recording.taken}
            if not taken and not recorded.constants:
                return made
            pruned, replaced = without_untaken(normal, taken) if taken else (normal, ())
            normal, before = normal_form(with_constants(pruned, recorded.constants, wanted)), made
            made = rules.check(normal)
            if not made.names:
                return before
            self.replaced = replaced
        if not made.findings:
            self.source = normal
        return made

    def _recorded(self, source: str, cases: list[str], constants: tuple[str, ...] = ()) -> Recorded:
        """What the recorder says of every case, and of `constants`; raises Ended where that cannot be read."""
        job = RecordCases(
            source=source, autotune=self.autotune_stated | self.autotune_moved, target=self.processes.target.name,
            cases=self._shapes(cases), library=self.session.loaded().library, constants=constants,
        )  # fmt: skip

        def attempt() -> tuple[RecorderRun, bool]:
            found = run_recorder(self.processes, job)
            return found, found.ended is not None and found.ended.lost

        found = self.processes.twice_if_lost(attempt)
        self.confinement, self.log = found.confinement, found.log
        if found.ended is not None:
            raise Ended(found.ended.status, found.ended.reason)
        return read(found.answer, [shape.name for shape in job.cases])

    def _shapes(self, cases: list[str]) -> tuple[CaseShape, ...]:
        return tuple(shape for shape in self.session.shapes if shape.name in cases)

    def _record(self, cases: list[str]) -> None:
        recorded = self._recorded(self.source, cases)
        self.autotune = recorded.autotune
        for shape, recording in zip(self._shapes(cases), recorded.recordings, strict=True):
            expected = Expected(
                kernels=self.kernels, given=given(shape), mutates=bool(shape.mutates),
                library=self.session.library(shape.name),
                gradients=shape.input_names[len(shape.input_names) - shape.gradients :],
            )  # fmt: skip
            outcome = accepted(recording, expected)
            if isinstance(outcome, Plan):
                self.plans[recording.case] = outcome
                self.taken[recording.case] = frozenset(recording.taken)
            else:
                self.unplanned[recording.case] = outcome

    def shipped(self, results: Sequence[CaseResult]) -> tuple[str | None, tuple[str, ...]]:
        """The text to keep where it is not the candidate's own, and the branches that no judged case took.

        Without a GPU what was recorded and compiled counts too: of it no values were judged, and the verdict says so.
        """
        judged = (Status.PASSED,) if self.processes.on_gpu else (Status.PASSED, Status.NOT_VERIFIED)
        cases = [result.case for result in results if result.status in judged and result.case in self.taken]
        if not cases:
            return None, ()
        taken = {number for case in cases for number in self.taken[case]}
        text, conditions = without_untaken(self.source, taken)
        own = tunables.render(self.candidate.source, self.candidate.config)
        return (None if text == own else text), tuple(dict.fromkeys((*self.replaced, *conditions)))

    def key(self, launch: Launch) -> str:
        """Names the machine code of a launch."""
        identity = launch_identity(launch, self.kernels[launch.kernel])
        return machine_code.key_of(self.kernels_sha, identity, self.processes.target.name, *self.processes.versions())

    def replayable(self, plan: Plan) -> AddPlan | AddText:
        """What a bench is sent once to replay `plan`: the names of its machine code; for the interpreter, the text.

        Its name is a hash of all that it says.
        """
        if id(plan) not in self.sent:
            unnamed: AddPlan | AddText
            if self.processes.on_gpu:
                code = tuple(self.code[self.key(launch)] for launch in plan.launches)
                unnamed = AddPlan(name="", plan=plan, code=code, precision=self.session.loaded().precision)
            else:
                branches = tuple(self.branches[key] for key in {self.key(launch): None for launch in plan.launches})
                unnamed = AddText(name="", plan=plan, kernels=self.kernels_source, branches=branches)
            self.sent[id(plan)] = msgspec.structs.replace(unnamed, name=codec.sha(codec.encode(unnamed)))
        return self.sent[id(plan)]

    def _plans_of_problem(self) -> dict[str, Plan]:
        """Without those for inputs laid out otherwise, which are never timed."""
        return {info.case.name: self.plans[info.case.name] for info in self.session.loaded().cases
                if info.case.name in self.plans}  # fmt: skip

    def _compile(self) -> None:
        of_problem = self._plans_of_problem()
        launches = {self.key(launch): launch for plan in self.plans.values() for launch in plan.launches}
        whole = {self.key(launch) for plan in of_problem.values() for launch in plan.launches}
        pending = {key: self._compiling(key, launch, key in whole) for key, launch in launches.items()}
        failed: dict[str, Ended] = {}
        for key, future in pending.items():
            match future.result():
                case TooLarge(reason=reason):
                    failed[key] = TooLargeFor(launches[key].kernel, reason)
                case Failure(status=status, reason=reason):
                    failed[key] = Ended(status, reason)
                case Stored() as made:
                    self.branches[key], self.code[key], self.resources[key] = made.branches, made.code, made.resources
                    self.untrue.setdefault(dtypes(launches[key]), set()).update(made.untrue)
                case BranchesRead(branches=found):
                    self.branches[key] = found
        for case, plan in list(self.plans.items()):
            ended = next((failed[key] for launch in plan.launches if (key := self.key(launch)) in failed), None)
            if ended is not None and case in of_problem:
                raise ended
            if ended is not None:  # inputs laid out otherwise: nothing is run, so nothing can be wrong
                self.unplanned[case] = CaseResult(case=case, status=ended.status, reason=ended.reason)
                del self.plans[case]

    def _compiling(self, key: str, launch: Launch, whole: bool) -> Future[Outcome]:
        """A compiler at work on one launch. whole: to machine code, also where only the interpreter runs it."""
        on_gpu, kernels = self.processes.on_gpu, self.kernels_source
        if on_gpu or whole:
            return self.processes.compile(key, Compile(kernels=kernels, launch=launch, branches=not on_gpu))
        return self.processes.compile(key, ReadBranches(kernels=kernels, launch=launch))

    def restored(self, case: str) -> tuple[str, ...]:
        """The inputs that are put back before each call that is timed."""
        return next(info for info in self.session.loaded().cases if info.case.name == case).restored

    def untrue_on_interpreter(self, plan: Plan) -> list[str]:
        """What a plan's kernels do that the interpreter does otherwise, by what the compiler found in their code."""
        every = {what for found in self.untrue.values() for what in found}
        return sorted({what for launch in plan.launches for what in self.untrue.get(dtypes(launch), every)})

    def launches(self, plan: Plan) -> list[Launched]:
        """Of a plan, in order."""
        return [
            Launched(self.resources[self.key(launch)], math.prod(launch.grid), given_bytes(launch))
            for launch in plan.launches
        ]

    def identity(self) -> str | None:
        """Hash over the machine code, the order and grids of launches, and the library steps: two sources with it are
        one kernel."""
        launched = {self.key(launch) for plan in self._plans_of_problem().values() for launch in plan.launches}
        if not launched or not launched <= self.resources.keys():  # one of them did not compile
            return None
        described = [
            [
                case,
                [[r.cubin_sha, r.num_warps, blocks] for r, blocks, _ in self.launches(plan)],
                *([codec.plain(plan.library_calls)] if plan.library_calls else []),
            ]
            for case, plan in sorted(self._plans_of_problem().items())
        ]
        return hashlib.sha256(codec.encode(described)).hexdigest()[:16]


def _may_go(finding: Finding, source: str) -> bool:
    """Whether a finding lies in host code that a call may leave out, or in an import that only such code may use."""
    tree = syntax.parse(source)
    parts = [branch.nodes for branch in branches(tree)]
    parts += [(node,) for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    return any(nodes[0].lineno <= finding.line <= (nodes[-1].end_lineno or 0) for nodes in parts)
