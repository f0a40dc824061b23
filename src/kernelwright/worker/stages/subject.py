"""A candidate in evaluation: its source is checked, recorded and compiled here, without input data or a GPU.

static → record → compile. A stage ends the evaluation (`Ended`) or stores its results in the `Subject`. The recorder's
answer is checked before it is used.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

import msgspec

from kernelwright import codec
from kernelwright import source as tunables
from kernelwright.entries import with_entry
from kernelwright.entries.called import NotCalled
from kernelwright.errors import ConfigError, WorkerError
from kernelwright.model import LEFT_OUT, Candidate, CaseInfo, CaseResult, KernelResources, Property, Status
from kernelwright.roofline import Launched
from kernelwright.source import parse as syntax
from kernelwright.source.bindings import bindings
from kernelwright.source.branches import MARK, STAND_IN, without_untaken
from kernelwright.source.languages import TRITON, language_of
from kernelwright.text.escape import legible
from kernelwright.worker.bench.messages import AddPlan, AddText
from kernelwright.worker.compile import machine_code
from kernelwright.worker.compile.messages import Asserted, Compile, Stored, TooLarge
from kernelwright.worker.plan.case_shape import CaseShape
from kernelwright.worker.plan.faults import Expected
from kernelwright.worker.plan.plan import Launch, Plan, Recorded, dtypes, given_bytes, launch_identity
from kernelwright.worker.plan.work import Work, work_of
from kernelwright.worker.processes.channel import Failure
from kernelwright.worker.processes.outcome import Ended, Excluded, Killed, Lost, TooLargeFor
from kernelwright.worker.record.messages import NOT_HERE, RecordCases, Surroundings
from kernelwright.worker.rules.dropped import dropped, of_packages
from kernelwright.worker.rules.extract import Kernels
from kernelwright.worker.rules.foreign import with_stand_ins
from kernelwright.worker.rules.imports import Finding
from kernelwright.worker.rules.languages import Rules, rules_for
from kernelwright.worker.rules.normal import normal_form
from kernelwright.worker.rules.questions import answered, asked, computed_constants, indirect
from kernelwright.worker.rules.ran import at_top_level, harmful, what_ran
from kernelwright.worker.rules.uncompiled import REFUSED, without_broken
from kernelwright.worker.session import Session
from kernelwright.worker.stages.recording import REASON_LIMIT, accepted, given, read, run_recorder
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
        self.compiled: dict[str, Stored] = {}  # by `key` of a launch
        self.untrue: dict[tuple[str, ...], set[str]] = {}
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
        self.declares_dense = False
        self.taken: dict[str, frozenset[int]] = {}
        self.replaced: tuple[str, ...] = ()
        self.refused: tuple[Finding, ...] = ()
        self.unjudged: list[str] = []  # what `other_plans` and the compiler could not judge

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
            try:
                self.record_and_compile(cases)
                return
            except TooLargeFor as ended:
                self._take_next_config(ended)
            except Ended as ended:
                if self.refused and REFUSED in ended.reason:
                    raise Ended(Status.REJECTED, _listed(self.refused)) from ended
                raise

    def beside(self, added: tuple[CaseShape, ...] = ()) -> Subject:
        """This candidate, whose text is checked, without plans. added: cases beside those of the session."""
        other = Subject(self.session, self.candidate, added)
        other.autotune_stated = self.autotune_stated | self.autotune_moved
        other.source, other.kernels, other.replaced = self.source, self.kernels, self.replaced
        other.kernels_sha, other.kernels_source = self.kernels_sha, self.kernels_source
        other.stages_s = self.stages_s
        return other

    def recorded_in(self, surroundings: tuple[Surroundings, ...], case: str) -> dict[Surroundings, Subject]:
        """This candidate, with the plan of a case in each of these surroundings. Raises Ended."""
        with self.stage("record"):
            recorded = self._recorded(self.source, [case], surroundings=surroundings)
            others = {one: self.beside() for one in surroundings}
            for other, one in zip(others.values(), recorded.recordings, strict=True):
                other._accept([case], msgspec.structs.replace(recorded, recordings=(one,)))
        return others

    def record_and_compile(self, cases: list[str]) -> Subject:
        """Raises Ended."""
        self.record(cases)
        return self.compile_plans()

    def record(self, cases: list[str]) -> None:
        """Raises Ended."""
        with self.stage("record"):
            self._record(cases)

    def compile_plans(self) -> Subject:
        """Compile what is recorded. Raises Ended."""
        with self.stage("compile"):
            self._compile()
        return self

    def _take_next_config(self, ended: TooLargeFor) -> None:
        """Select the next config of an autotuned kernel whose config does not fit, as Triton's autotuner skips it.
        Raises `Ended` if the candidate's config states one for this kernel, or none is left."""
        kernel = ended.kernel
        index, count = self.autotune_moved.get(kernel, 0) + 1, self.autotune.get(kernel, 0)
        if kernel in self.autotune_stated or index >= count:
            raise ended if count < 2 else Ended(ended.status, f"{ended.reason} (config {index - 1} of {count})")
        self.autotune_moved[kernel] = index
        for found in (self.plans, self.unplanned, self.taken, self.compiled, self.untrue, self.works):
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
        self.declares_dense = kernels.serves_dense

    def _normal(self, rules: Rules, kernels: Kernels, cases: list[str]) -> Kernels:
        """The kernels of the source's normal form. If the normal form breaks no rule, it becomes the source.

        If it breaks rules that what did not run could have broken, it is recorded first, and that is left out; then its
        questions about the machine are answered. Neither recording is trusted: the changed source is checked, recorded
        and judged like any other.
        """
        form = normal = normal_form(self.source)
        made = rules.check(normal)
        if made.findings and not self.session.is_weak and computed_constants(syntax.parse(normal)):
            normal = self._answered(normal)
            made = rules.check(normal)
        normal, made = self._without_broken(rules, normal, made)
        if (made.findings or not made.names) and not self.session.is_weak:
            taken = self._taken(normal, cases)
            if taken is not None:
                left, replaced = what_ran(normal, taken)
                form_left = normal_form(left)
                gone = dropped(left, form_left)
                left, more = at_top_level(self._answered(form_left))
                left = normal_form(left)
                left, found = self._without_broken(rules, left, rules.check(left))
                if found.names:
                    self.unjudged += [f"{LEFT_OUT}{one}" for one in (*harmful(normal), *of_packages(normal), *gone)]
                    normal, made = left, found
                    self.replaced += (*replaced, *more)
        if not made.names:
            return kernels
        if not made.findings:
            self.unjudged += [f"{LEFT_OUT}{one}" for one in dropped(self.source, form)]
            self.source = normal
        return made

    def _taken(self, source: str, cases: list[str]) -> set[int] | None:
        """The numbers of the branches that run. None where the recorder fails, no case has a plan, or the source has
        names of the recorder: the rules then say more. Raises Ended where it depends on an absent package."""
        if MARK in source or STAND_IN in source:
            return None
        try:
            recordings = self._recorded(with_stand_ins(source), cases).recordings
        except Ended:
            return None
        if any(recording.plan is not None for recording in recordings):
            return {number for recording in recordings for number in recording.taken}
        absent = next((one.reason for one in recordings if one.reason.endswith(NOT_HERE)), "")
        if absent:
            raise Ended(Status.REJECTED, legible(absent[:REASON_LIMIT]))
        return None

    def _answered(self, source: str) -> str:
        """The source with answers to its questions."""
        text, names = asked(source)
        if not names:
            return source
        try:
            made = normal_form(answered(source, self._recorded(with_stand_ins(text), [], names).constants))
        except Ended:
            return source
        self.unjudged += [f"{LEFT_OUT}{one}" for one in (*indirect(source), *dropped(source, made))]
        return made

    def _without_broken(self, rules: Rules, normal: str, made: Kernels) -> tuple[str, Kernels]:
        """The normal form and its kernels, with refusals in place of the kernels' branches that break a rule, unless
        the kernels then still break one."""
        found = without_broken(normal, made.findings)
        if not found.findings:
            return normal, made
        source = normal_form(found.source)
        kernels = rules.check(source)
        if not kernels.names or kernels.findings:
            return normal, made
        self.refused, self.replaced = found.findings, found.conditions
        return source, kernels

    def _recorded(
        self, source: str, cases: list[str], constants: tuple[str, ...] = (),
        surroundings: tuple[Surroundings, ...] = ("usual",),
    ) -> Recorded:  # fmt: skip
        """The recordings of these cases, in all surroundings one after the other, and the values of `constants`. Raises
        Ended if the recorder fails or its answer is malformed."""
        job = RecordCases(
            source=source, autotune=self.autotune_stated | self.autotune_moved, target=self.processes.target.name,
            cases=self._shapes(cases), library=self.session.loaded().library, constants=constants,
            surroundings=surroundings,
        )  # fmt: skip

        def answer() -> object:
            found = run_recorder(self.processes, job)
            self.confinement, self.log = found.confinement, found.log
            if found.ended is not None:
                raise found.ended
            return found.answer

        try:
            return read(self.processes.twice_if_lost(answer), [shape.name for shape in job.cases] * len(surroundings))
        except Lost as lost:
            raise Ended(lost.status, lost.reason) from lost

    def _shapes(self, cases: list[str]) -> tuple[CaseShape, ...]:
        return tuple(shape for shape in (*self.session.shapes, *self.added) if shape.name in cases)

    def _record(self, cases: list[str]) -> None:
        recorded = self._recorded(self.source, cases)
        if moved := self._kept_by_more(recorded):
            self.autotune_moved |= moved
            recorded = self._recorded(self.source, cases)
        self._accept(cases, recorded)

    def _accept(self, cases: list[str], recorded: Recorded) -> None:
        """Check the recordings of these cases, and keep their plans."""
        self.autotune, chosen = recorded.autotune, self.autotune_moved | self.autotune_stated
        for shape, recording in zip(self._shapes(cases), recorded.recordings, strict=True):
            expected = Expected(
                kernels=self.kernels, given=given(shape), mutates=bool(shape.mutates),
                library=self.session.library(shape.name),
                gradients=shape.input_names[len(shape.input_names) - shape.gradients :],
            )  # fmt: skip
            outcome = accepted(recording, expected)
            pruned = next((one for one, out in recording.pruned.items() if chosen.get(one, 0) in out), None)
            if pruned is not None:
                why = f"early_config_prune of {pruned} leaves out the judged config {chosen.get(pruned, 0)} here"
                sized = Property(name="sized", shown_by="refused", detail=why)
                outcome = CaseResult(case=shape.name, status=Status.REJECTED, reason=why, serves=(sized,))
            if isinstance(outcome, Plan):
                self.plans[recording.case] = outcome
                self.taken[recording.case] = frozenset(recording.taken)
            else:
                self.unplanned[recording.case] = outcome

    def _kept_by_more(self, recorded: Recorded) -> dict[str, int]:
        """For autotuned kernels without a stated config the first of those that are left out on the fewest cases, of
        which stated ones count more, where it is not the one that was recorded."""
        stated = self._stated()

        def lost(kernel: str, index: int) -> tuple[int, int]:
            cases = [one.case in stated for one in recorded.recordings if index in one.pruned.get(kernel, ())]
            return sum(cases), len(cases)

        found: dict[str, int] = {}
        for kernel in recorded.autotune.keys() - self.autotune_stated.keys():
            first = self.autotune_moved.get(kernel, 0)
            best = min(range(first, recorded.autotune[kernel]), key=lambda index: lost(kernel, index), default=first)
            found |= {kernel: best} if best != first else {}
        return found

    def shipped(self, results: Sequence[CaseResult]) -> tuple[str | None, tuple[str, ...]]:
        """The judged source without the branches that no judged case took (None if it equals the candidate's), and the
        conditions of those branches.

        Without a GPU, cases that were only recorded and compiled count as judged; the status then is `not_verified`. A
        copy with another layout on which the candidate is not right does not count.
        """
        judged = (Status.PASSED,) if self.processes.on_gpu else (Status.PASSED, Status.NOT_VERIFIED)
        cases = [result.case for result in results
                 if result.status in judged and result.case in self.taken and not result.serves]  # fmt: skip
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
                unnamed = AddPlan(name="", plan=plan, code=self.code(plan), precision=self.session.loaded().precision)
            else:
                keys = dict.fromkeys(self.key(launch) for launch in plan.launches)
                branches = tuple(self.compiled[key].branches for key in keys)
                unnamed = AddText(name="", plan=plan, kernels=self.kernels_source, branches=branches)
            self.sent[id(plan)] = msgspec.structs.replace(unnamed, name=codec.sha(codec.encode(unnamed)))
        return self.sent[id(plan)]

    def _stated(self) -> set[str]:
        """The cases that the problem states."""
        return {info.case.name for info in self.session.loaded().cases if not info.case.derived}

    def _plans_of_problem(self) -> dict[str, Plan]:
        """The plans by case, without those of strided copies, which are never timed."""
        return {case: plan for case, plan in self.plans.items() if "/" not in case}

    def _whole_plans(self) -> dict[str, Plan]:
        """The plans of the problem whose launches are compiled to machine code: without a GPU, those of stated cases,
        unless there is none. Only the interpreter runs the others: in odd sizes a tile takes seconds to compile."""
        plans, stated = self._plans_of_problem(), self._stated()
        found = plans if self.processes.on_gpu else {case: plan for case, plan in plans.items() if case in stated}
        return found if found or self.added else plans

    def _compile(self) -> None:
        on_gpu, of_problem = self.processes.on_gpu, self._plans_of_problem()
        launches = {self.key(launch): launch for plan in self.plans.values() for launch in plan.launches}
        whole = {self.key(launch) for plan in self._whole_plans().values() for launch in plan.launches}
        pending = {
            key: self.processes.compile(key, Compile(
                kernels=self.kernels_source, launch=launch, branches=not on_gpu, whole=on_gpu or key in whole))
            for key, launch in launches.items()
        }  # fmt: skip
        failed: dict[str, Ended] = {}
        for key, future in pending.items():
            match future.result():
                case TooLarge(reason=reason):
                    failed[key] = TooLargeFor(launches[key].kernel, reason)
                case Asserted(status=status, reason=reason):
                    failed[key] = Excluded(status, reason)
                case Failure(status=status, reason=reason):
                    failed[key] = (Killed if status is Status.NOT_VERIFIED else Ended)(status, reason)
                case Stored() as made:
                    self.compiled[key] = made
                    self.untrue.setdefault(dtypes(launches[key]), set()).update(made.untrue)
                    self.unjudged += [] if self.processes.on_gpu else made.doubts
                case answer:
                    raise WorkerError(f"a compiler answered {answer!r:.100}")
        for case, plan in list(self.plans.items()):
            ended = next((failed[key] for launch in plan.launches if (key := self.key(launch)) in failed), None)
            if ended is None:
                continue
            is_excluded = isinstance(ended, Excluded) and case not in self._stated()
            if isinstance(ended, Killed) or (case in of_problem and not is_excluded):
                raise ended
            sized = (Property(name="sized", shown_by="refused", detail=ended.reason),) if is_excluded else ()
            self.unplanned[case] = CaseResult(case=case, status=ended.status, reason=ended.reason, serves=sized)
            del self.plans[case]  # nothing runs, so nothing can be wrong

    def info(self, case: str) -> CaseInfo:
        return next(info for info in self.session.loaded().cases if info.case.name == case)

    def untrue_on_interpreter(self, plan: Plan) -> list[str]:
        """Operations in a plan's kernels that the CPU interpreter computes differently from a GPU, as the compiler
        found them. Without an entry for the dtypes of a launch, all that were found in any kernel count."""
        every = {what for found in self.untrue.values() for what in found}
        return sorted({what for launch in plan.launches for what in self.untrue.get(dtypes(launch), every)})

    def doubts(self, plan: Plan) -> list[str]:
        """What only a run of the plan on a GPU can decide, as the compiler found it."""
        return [doubt for launch in plan.launches for doubt in self.compiled[self.key(launch)].doubts]

    def work(self, launch: Launch) -> Work | None:
        """What a launch does at most; None if that is not known."""
        made = self.compiled.get(self.key(launch))
        if made and made.skeleton and id(launch) not in self.works:
            self.works[id(launch)] = work_of(made.skeleton, launch)
        return self.works.get(id(launch))

    @property
    def resources(self) -> dict[str, KernelResources]:
        """Of the launches that are compiled to machine code, by `key`."""
        return {key: made.resources for key, made in self.compiled.items() if made.resources is not None}

    def code(self, plan: Plan) -> tuple[str, ...]:
        """The names of the machine code of a plan's launches. Raises KeyError where one has none."""
        names = {key: made.code for key, made in self.compiled.items() if made.code is not None}
        return tuple(names[self.key(launch)] for launch in plan.launches)

    def launches(self, plan: Plan) -> list[Launched]:
        """Resources, number of blocks and bytes of the arguments of each launch of a plan, in order."""
        resources = self.resources
        return [Launched(resources[self.key(launch)], math.prod(launch.grid), given_bytes(launch))
                for launch in plan.launches]  # fmt: skip

    def identity(self) -> str | None:
        """Hash over the machine code, the order and grids of launches, and the library steps; None if a launch did not
        compile. Two sources with the same hash are the same kernel."""
        plans = self._whole_plans()
        launched = {self.key(launch) for plan in plans.values() for launch in plan.launches}
        if not launched or not launched <= self.resources.keys():  # one of them did not compile
            return None
        described = [
            [case, [[r.cubin_sha, r.num_warps, blocks] for r, blocks, _ in self.launches(plan)],
             *([codec.plain(plan.library_calls)] if plan.library_calls else [])]
            for case, plan in sorted(plans.items())
        ]  # fmt: skip
        return hashlib.sha256(codec.encode(described)).hexdigest()[:16]


def _listed(findings: Sequence[Finding]) -> str:
    """The first finding with its cure, and the others without theirs: they may come from it."""
    first, *others = map(str, findings[:8])
    return "; then ".join([first, *["; ".join(one.partition(";")[0] for one in others)] * bool(others)])
