"""A candidate in evaluation: its source is checked, recorded and compiled here, without input data or a GPU.

static → record → compile. A stage ends the evaluation (`Ended`) or stores its results in the `Subject`. The recorder's
answer is checked before it is used.
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
from kernelwright.entries import with_entry
from kernelwright.entries.called import NotCalled
from kernelwright.errors import ConfigError, WorkerError
from kernelwright.model import Candidate, CaseInfo, CaseResult, KernelResources, Property, Status
from kernelwright.roofline import Launched
from kernelwright.source import parse as syntax
from kernelwright.source.bindings import bindings
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
from kernelwright.worker.compile.skeleton import Skeleton
from kernelwright.worker.plan.case_shape import CaseShape
from kernelwright.worker.plan.faults import Expected
from kernelwright.worker.plan.plan import Launch, Plan, Recorded, dtypes, given_bytes, launch_identity
from kernelwright.worker.plan.work import Work, work_of
from kernelwright.worker.processes.channel import Failure
from kernelwright.worker.processes.outcome import Ended, Killed, TooLargeFor
from kernelwright.worker.record.messages import RecordCases
from kernelwright.worker.rules.constants import computed_constants, with_constants
from kernelwright.worker.rules.extract import Kernels
from kernelwright.worker.rules.foreign import without_foreign
from kernelwright.worker.rules.imports import Finding
from kernelwright.worker.rules.languages import Rules, rules_for
from kernelwright.worker.rules.normal import normal_form
from kernelwright.worker.rules.uncompiled import REFUSED, broken_kernels, without_broken
from kernelwright.worker.session import Session
from kernelwright.worker.stages.recording import RecorderRun, accepted, given, read, run_recorder
from kernelwright.worker.stages.stand_ins import Outline


class Subject:
    """One candidate in one evaluation, with the results of each stage."""

    def __init__(self, session: Session, candidate: Candidate, added: tuple[CaseShape, ...] = ()) -> None:
        """Raises Ended if the config cannot be written into the source, or the problem cannot call its entry. added:
        cases beside those of the session."""
        self.session = session
        self.added = added
        self.processes = session.processes
        self.candidate = candidate
        self.autotune_stated = tunables.autotune_choices(candidate.config)
        self.autotune_moved: dict[str, int] = {}
        try:
            self.source = with_entry(tunables.render(candidate.source, candidate.config), session.loaded())
        except (ConfigError, NotCalled) as error:
            raise Ended(Status.REJECTED, str(error)) from error
        self.stages_s: dict[str, float] = {}
        self.replayed_s = 0.0
        self.measured_s = 0.0
        self.kept: ExitStack | None = None
        self.plans: dict[str, Plan] = {}
        self.unplanned: dict[str, CaseResult] = {}
        self.unfinished: dict[str, CaseResult] = {}
        self.noted: dict[str, list[str]] = {}  # by case, what its first call on an interpreter showed
        self.seen_small: dict[str, CaseResult] = {}  # results of small cases that `compare.verified` adds
        self.resources: dict[str, KernelResources] = {}
        self.code: dict[str, str] = {}
        self.untrue: dict[tuple[str, ...], set[str]] = {}
        self.branches: dict[str, Branches] = {}
        self.skeletons: dict[str, Skeleton] = {}
        self.works: dict[int, Work] = {}  # by the id() of a launch, which its plan keeps alive
        self.confinement: dict[str, str] = {}
        self.autotune: dict[str, int] = {}
        self.idle: dict[tuple[str, bool], str] = {}
        """By kernel and whether cases are derived: a case that is right without it, "" if it contributes to one."""
        self.lessened: set[Outline] = set()
        self.log = ""
        self.sent: dict[int, AddPlan | AddText] = {}  # by the id() of a plan; the value keeps that plan alive
        self.kernels_source = ""
        self.kernels_sha = ""
        self.kernels: dict[str, dict[str, bool]] = {}
        self.declared: tuple[Property, ...] = ()
        self.taken: dict[str, frozenset[int]] = {}
        self.replaced: tuple[str, ...] = ()
        self.refused: tuple[Finding, ...] = ()
        self.unjudged: list[str] = []  # what `judge_configs` and the compiler could not judge

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        start = time.monotonic()
        try:
            yield
        finally:
            self._book(name, time.monotonic() - start)

    def _book(self, stage: str, seconds: float) -> None:
        self.stages_s[stage] = round(self.stages_s.get(stage, 0.0) + seconds, 4)

    @contextmanager
    def leased(self, name: str) -> Iterator[None]:
        """A stage under the lease of the GPU. The time spent waiting for the lease counts as the stage "wait", and that
        in which the judge measured tolerances (`measured_s`) as the stage "draws"."""
        with self.stage("wait"):
            self.processes.lease.acquire()
        try:
            if self.kept is not None:
                self.kept.enter_context(self.processes.lease)
            self.processes.replay_for(self)
            with self.stage(name):
                yield
        finally:
            if self.measured_s or self.session.measured_s:
                self._book("draws", self.measured_s + self.session.measured_s)
                self._book(name, -self.measured_s)
                self.measured_s = self.session.measured_s = 0.0
            self.processes.lease.release()

    @contextmanager
    def undisturbed(self) -> Iterator[None]:
        """Without a GPU, keep the lease from the first `leased` stage to the end of this block. Another candidate in
        between would end this one's interpreter, and starting a new one takes longer than most replays."""
        with ExitStack() as kept:
            self.kept = None if self.processes.on_gpu else kept
            try:
                yield
            finally:
                self.kept = None

    # --- static, record, compile -----------------------------------------------------------------------------

    def prepare(self, cases: list[str]) -> None:
        """Check, record and compile the candidate for these cases, without using a GPU. Raises Ended."""
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
            except Ended as ended:
                if self.refused and REFUSED in ended.reason:
                    raise Ended(Status.REJECTED, _listed(self.refused)) from ended
                raise

    def _take_next_config(self, ended: TooLargeFor) -> None:
        """Select the next config of an autotuned kernel whose config does not fit, as Triton's autotuner skips it.
        Raises `Ended` if the candidate's config states one for this kernel, or none is left."""
        kernel = ended.kernel
        index, count = self.autotune_moved.get(kernel, 0) + 1, self.autotune.get(kernel, 0)
        if kernel in self.autotune_stated or index >= count:
            raise ended if count < 2 else Ended(ended.status, f"{ended.reason} (config {index - 1} of {count})")
        self.autotune_moved[kernel] = index
        for found in (self.plans, self.unplanned, self.taken, self.resources, self.code, self.untrue, self.branches,
                      self.skeletons, self.works):  # fmt: skip
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
        if not {"ModelNew", "kernel_function"} & {one.name for one in bindings(syntax.parse(self.source))}:
            raise Ended(
                Status.REJECTED, "the candidate defines neither a class ModelNew nor a function kernel_function"
            )
        if not kernels.names:
            raise Ended(Status.REJECTED, "there is no module-level function under @triton.jit")
        if kernels.findings:
            raise Ended(Status.REJECTED, _listed(kernels.findings))
        if why := rules.why_not_judged(self.processes.on_gpu):
            raise Ended(Status.NOT_VERIFIED, f"not verified here: {why}")
        self.kernels_sha, self.kernels_source = codec.sha(kernels.source), kernels.source
        self.kernels = kernels.parameters
        self.declared = tuple(Property(name=name, shown_by="declared") for name in kernels.serves)

    def _normal(self, rules: Rules, kernels: Kernels, cases: list[str]) -> Kernels:
        """The kernels of the source's normal form. If the normal form breaks no rule, it becomes the source.

        If it breaks rules, it is recorded first. Branches that no case takes are then left out, and kernel constants
        that functions of the module compute are replaced by their values. The recording is not trusted: the changed
        source is checked, recorded and judged like any other.
        """
        normal = normal_form(self.source)
        made = rules.check(normal)
        if not made.names:
            return kernels
        normal, made = self._without_broken(rules, normal, made)
        wanted = computed_constants(normal) if made.findings else ()
        if made.findings and (wanted or all(_may_go(finding, normal) for finding in made.findings)):
            try:
                recorded = self._recorded(without_foreign(normal), cases, wanted)
            except Ended:  # the findings of the rules say more than this failure
                return made
            taken = {number for recording in recorded.recordings for number in recording.taken}
            if not taken and not recorded.constants:
                return made
            pruned, replaced = without_untaken(normal, taken) if taken else (normal, ())
            normal, before = normal_form(with_constants(pruned, recorded.constants, wanted)), made
            made = rules.check(normal)
            if not made.names:
                return before
            self.replaced += replaced
        if not made.findings:
            self.source = normal
        return made

    def _without_broken(self, rules: Rules, normal: str, made: Kernels) -> tuple[str, Kernels]:
        """The normal form and its kernels, with refusals in place of the kernels' branches that break a rule, unless
        the kernels then still break one."""
        found = without_broken(normal, made.findings)
        if not found.findings:
            return normal, made
        source = normal_form(found.source)
        kernels = rules.check(source)
        if not kernels.names or broken_kernels(source, kernels.findings):
            return normal, made
        self.refused, self.replaced = found.findings, found.conditions
        return source, kernels

    def _recorded(self, source: str, cases: list[str], constants: tuple[str, ...] = ()) -> Recorded:
        """The recordings of these cases and the values of `constants`. Raises Ended if the recorder fails or its answer
        is malformed."""
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
        return tuple(shape for shape in (*self.session.shapes, *self.added) if shape.name in cases)

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
        """The judged source without the branches that no judged case took (None if it equals the candidate's), and the
        conditions of those branches.

        Without a GPU, cases that were only recorded and compiled count as judged; the status then is `not_verified`.
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
        """Key of the machine code of a launch."""
        identity = launch_identity(launch, self.kernels[launch.kernel])
        return machine_code.key_of(self.kernels_sha, identity, self.processes.target.name, *self.processes.versions())

    def replayable(self, plan: Plan) -> AddPlan | AddText:
        """The message that gives a bench `plan` and the names of its machine code, or the interpreter the source of its
        kernels.

        The name of the plan is a hash of the message.
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
        """The plans by case, without those of strided copies, which are never timed."""
        return {case: plan for case, plan in self.plans.items() if "/" not in case}

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
                    failed[key] = (Killed if status is Status.NOT_VERIFIED else Ended)(status, reason)
                case Stored() as made:
                    self.branches[key], self.code[key], self.resources[key] = made.branches, made.code, made.resources
                    self.skeletons[key] = made.skeleton
                    self.untrue.setdefault(dtypes(launches[key]), set()).update(made.untrue)
                    self.unjudged += [] if self.processes.on_gpu else made.doubts
                case BranchesRead(branches=found):
                    self.branches[key] = found
                case answer:
                    raise WorkerError(f"a compiler answered {answer!r:.100}")
        for case, plan in list(self.plans.items()):
            ended = next((failed[key] for launch in plan.launches if (key := self.key(launch)) in failed), None)
            if ended is not None and (case in of_problem or isinstance(ended, Killed)):
                raise ended
            if ended is not None:  # a strided copy: nothing runs, so nothing can be wrong
                self.unplanned[case] = CaseResult(case=case, status=ended.status, reason=ended.reason)
                del self.plans[case]

    def _compiling(self, key: str, launch: Launch, whole: bool) -> Future[Outcome]:
        """Start compiling one launch. whole: to machine code, also on a machine without a GPU; otherwise only its
        branches are read there."""
        on_gpu, kernels = self.processes.on_gpu, self.kernels_source
        if on_gpu or whole:
            return self.processes.compile(key, Compile(kernels=kernels, launch=launch, branches=not on_gpu))
        return self.processes.compile(key, ReadBranches(kernels=kernels, launch=launch))

    def info(self, case: str) -> CaseInfo:
        return next(info for info in self.session.loaded().cases if info.case.name == case)

    def untrue_on_interpreter(self, plan: Plan) -> list[str]:
        """Operations in a plan's kernels that the CPU interpreter computes differently from a GPU, as the compiler
        found them. Without an entry for the dtypes of a launch, all that were found in any kernel count."""
        every = {what for found in self.untrue.values() for what in found}
        return sorted({what for launch in plan.launches for what in self.untrue.get(dtypes(launch), every)})

    def work(self, launch: Launch) -> Work | None:
        """What a launch does at most; None if that is not known."""
        skeleton = self.skeletons.get(self.key(launch))
        if skeleton and id(launch) not in self.works:
            self.works[id(launch)] = work_of(skeleton, launch)
        return self.works.get(id(launch))

    def launches(self, plan: Plan) -> list[Launched]:
        """Resources, number of blocks and bytes of the arguments of each launch of a plan, in order."""
        return [
            Launched(self.resources[self.key(launch)], math.prod(launch.grid), given_bytes(launch))
            for launch in plan.launches
        ]

    def identity(self) -> str | None:
        """Hash over the machine code, the order and grids of launches, and the library steps; None if a launch did not
        compile. Two sources with the same hash are the same kernel."""
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


def _listed(findings: Sequence[Finding]) -> str:
    return "; ".join(str(finding) for finding in findings[:8])


def _may_go(finding: Finding, source: str) -> bool:
    """Whether a finding is in a branch of host code that no call may take, or in an import that such code may use."""
    tree = syntax.parse(source)
    parts = [branch.nodes for branch in branches(tree)]
    parts += [(node,) for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    return any(nodes[0].lineno <= finding.line <= (nodes[-1].end_lineno or 0) for nodes in parts)
