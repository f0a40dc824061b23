"""The judge process: it has the reference, the secret inputs and the expected outputs, and runs no candidate code.

It writes inputs into an arena. A bench replays a candidate's plan there. Then the judge reads outputs, inputs and guard
zones through its own mapping of the arena. It also times the framework baselines, since only it has the reference. No
reply of the judge contains a seed.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import traceback
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import torch

from kernelwright import codec
from kernelwright.errors import KernelwrightError, ProblemError
from kernelwright.model import (
    AS_KEPT,
    Case,
    CaseQualification,
    CaseResult,
    LibraryMode,
    Loading,
    ProblemInfo,
    Status,
    TensorSpec,
)
from kernelwright.worker.bounds.case_work import CPU_BYTES, CPU_FLOP, flop_stated
from kernelwright.worker.bounds.work import Work
from kernelwright.worker.clock import messages as timing
from kernelwright.worker.clock import peaks
from kernelwright.worker.clock.captured import Captured
from kernelwright.worker.clock.clock import call_us
from kernelwright.worker.judge import messages
from kernelwright.worker.judge.answer import Answer
from kernelwright.worker.judge.comparison import compared
from kernelwright.worker.judge.draws import Draws, with_strided
from kernelwright.worker.judge.messages import Added, CaseRead, ProblemRead
from kernelwright.worker.judge.trivial import qualification
from kernelwright.worker.judge.written import inputs_changed, needlessly_changed, outside
from kernelwright.worker.plan.arena import attach, window
from kernelwright.worker.plan.binding import bind_tensors, spec_of
from kernelwright.worker.plan.case_shape import CaseShape
from kernelwright.worker.plan.layout import Layout
from kernelwright.worker.plan.library import allow_tf32, exact_products
from kernelwright.worker.plan.plan import Buffer, Plan
from kernelwright.worker.processes.channel import Channel, Done, Fault, remember
from kernelwright.worker.processes.commands import Options
from kernelwright.worker.processes.memory import ArenaHandle
from kernelwright.worker.reference import derive
from kernelwright.worker.reference.baseline import Baselines
from kernelwright.worker.reference.instance import Specs, compulsory_bytes, mutated
from kernelwright.worker.reference.longer import is_like, longer
from kernelwright.worker.reference.prepare import without_objects
from kernelwright.worker.reference.problem_module import note, words_of
from kernelwright.worker.reference.trace import Trace

POISONS = (0xFF, 0x5A)
"""Byte patterns for memory that a call must write: 0xFF is NaN in every float format, 0x5A a large finite number."""


DEFAULT_LIBRARY: LibraryMode = "finish"
"""The library mode of a problem that states none."""


class Judge:
    def __init__(self, device: str) -> None:
        self.device = device
        self.arenas: dict[ArenaHandle, torch.Tensor] = {}
        self.plans: dict[str, Plan] = {}
        self.baselines = Baselines()
        self.poison = POISONS[0]
        exact_products()

    def load(self, path: str, loading: Loading = AS_KEPT, cases: tuple[Case, ...] | None = None) -> ProblemRead:
        """Read the problem."""
        problem, left_alone = derive.load_with_cases(path, loading, cases, interpreted=self.device == "cpu")
        self.problem = replace(problem, device=self.device)
        allow_tf32(self.problem.precision == "tf32")
        self.draws = Draws(self.problem, self.device)
        self.specs, self.strided = with_strided(self.draws)
        self.added: dict[messages.Longer, dict[str, tuple[str, ...]]] = {}
        self.traces: dict[str, Trace | None] = {}
        shapes = {shape.name: shape for shape in self.shapes()}
        timed = next(case for case in self.problem.cases if case.timed)
        info = ProblemInfo(
            name=self.problem.name, format=self.problem.format, source=self.problem.source,
            docstring=self.problem.docstring, modules=self.problem.modules, cases=(),
            layouts=self.problem.layouts, precision=self.problem.precision, gradients=self.problem.gradients,
            stated=self.problem.stated, library=self.problem.library or DEFAULT_LIBRARY,
            is_library_stated=self.problem.library is not None, left_alone=left_alone,
            operators=self.problem.operator_text(), kinds=self.draws.work[timed.name].kinds,
            parameters={name: spec.shape for name, spec in self.specs[self.problem.cases[0].name].parameters.items()},
            numbers=self.problem.numbers(timed),
        )  # fmt: skip
        read = tuple(
            case_read(case, shapes[name], self.specs[name], self.draws.work[name], *self.problem.work(case))
            for name, case in self.draws.cases.items()
        )
        return ProblemRead(problem=info, cases=read, shapes=tuple(shapes.values()))

    def longer(self, asked: messages.Longer) -> Added:
        """Add longer cases. They are the problem's cases for requests that name them, and for no others."""
        if asked not in self.added:
            judged, large = [self.draws.cases[name] for name in asked.judged], self.draws.cases[asked.large]
            parts = None if asked.parts is None else dict(asked.parts)
            made = longer(self.problem, judged, large, parts, self.traces)
            self.added[asked] = {self._add(case): names for case, names in made}
        return self._described(self.added[asked])

    def odd(self) -> Added:
        """Add a case of odd sizes."""
        found = derive.derive(self.problem, self.device == "cpu", (derive.ODD,)).cases
        return self._described({self._add(case): () for case in found})

    def _described(self, names: dict[str, tuple[str, ...]]) -> Added:
        cases = tuple(self.draws.cases[name] for name in names)
        return Added(cases=cases, names=names, shapes=tuple(self.shapes(names)))

    def like(self, asked: messages.Like) -> Added:
        """Describe a case, or add it if it is small; nothing where it does not run, is too large or another problem."""
        case, other = asked.case, self.draws.cases[asked.other]
        if not is_like(self.problem, case, other, self.traces):
            return Added(cases=(), names={}, shapes=())
        if case.small:
            case = self.draws.cases[self._add(case)]
        return Added(cases=(case,), names={case.name: ()}, shapes=(self._shape(case, self.problem.specs(case)),))

    def _add(self, case: Case) -> str:
        """Add a case of the problem; returns its name, with a number where another one has that name."""
        for count in itertools.count(1):
            name = case.name if count == 1 else f"{case.name}_{count}"
            named = msgspec.structs.replace(case, name=name)
            if self.draws.cases.get(name, named) == named:
                if name not in self.specs:
                    self.draws.add(named)
                    self.specs[name] = self.draws.specs[name]
                return name
        raise AssertionError

    def shapes(self, names: Iterable[str] | None = None) -> list[CaseShape]:
        """The shapes of these cases; None for each of the problem's, and last the copies with other layouts."""
        found = []
        for name in self.specs if names is None else names:
            shape = self._shape(self.draws.cases[self.strided.get(name, name)], self.specs[name])
            found.append(msgspec.structs.replace(shape, name=name))
        return found

    def _shape(self, case: Case, specs: Specs) -> CaseShape:
        instance = self.problem.outline(case)
        init = [one if isinstance(one, torch.Tensor) else without_objects(one) for one in instance.init_inputs]
        tensors = tuple(place for place, value in enumerate(init) if isinstance(value, torch.Tensor))
        return CaseShape(
            name=case.name, inputs=specs.inputs, input_names=instance.input_names, parameters=specs.parameters,
            init=tuple(spec_of(v) if isinstance(v, torch.Tensor) else v for v in init),
            init_names=instance.init_names, init_tensors=tensors, mutates=specs.mutates,
            arguments=instance.arguments, keywords=instance.keywords, returns=specs.returns,
            gradients=instance.joint,
        )  # fmt: skip

    def draws_for(self, case: str) -> list[int]:
        """The draws that judge a candidate. A copy with another layout has only the inputs as given."""
        return [0] if case in self.strided else self.draws.draws_for(case)

    def answer(self, case: str, draw: int) -> Answer:
        return self.draws.answer(self.strided.get(case, case), draw)

    def arena(self, handle: ArenaHandle) -> torch.Tensor:
        """The judge's mapping of a bench's arena. Only the newest mapping is kept."""
        if handle not in self.arenas:
            self.arenas.clear()
            self.arenas[handle] = attach(handle)
        return self.arenas[handle]

    def fill(self, case: str, draw: int, plan: Plan, handle: ArenaHandle, fresh: bool = True) -> float:
        """Write inputs and parameters to their places in the plan. fresh: poison all other memory; otherwise it keeps
        the values that the call before left there. Returns the seconds that it took to measure the tolerance of the
        draw; 0 where it is known."""
        measured_s = self.draws.measure(self.strided.get(case, case), draw)
        arena, layout = self.arena(handle), Layout(plan.buffers)
        if fresh:
            self.poison = POISONS[draw % len(POISONS)]
            arena[: layout.nbytes].fill_(self.poison)
        for _, target, source in self._bind_tensors(case, draw, plan, arena, layout):
            target.copy_(source)
        self._settle()
        return measured_s

    def check(self, case: str, draw: int, plan: Plan, handle: ArenaHandle, first: int | None = None) -> CaseResult:
        """Check the arena after a replay of the plan: outputs and changed inputs are right, all other inputs are
        unchanged, guard zones are untouched. first: compare only the first outputs; None: all."""
        arena, layout = self.arena(handle), Layout(plan.buffers)
        self._settle()
        specs = self.specs[case]
        outputs = specs.outputs[: len(specs.outputs) - len(specs.mutates)][:first]
        changed = {buffer.id: buffer.name for buffer in plan.buffers
                   if buffer.origin == "input" and buffer.name in specs.mutates}  # fmt: skip
        if reason := returned_otherwise(plan, specs, outputs, changed):
            return _wrong(case, reason)
        bound, answer = list(self._bind_tensors(case, draw, plan, arena, layout)), self.answer(case, draw)
        before = mutated(answer.instance)
        left = {buffer.name: target for buffer, target, _ in bound if buffer.id in changed}
        made = [window(arena, layout, view) for view in plan.outputs] + [left[name] for name in specs.mutates]
        worst = self._worst(case, draw, made, len(outputs))
        if worst is not None and worst.status is Status.WRONG:
            return worst
        reason = (
            outside(arena, layout, self.poison)
            or needlessly_changed(answer, dict(zip(specs.mutates, answer.left_alone, strict=True)), left, before)
            or inputs_changed(arena, layout, self.poison, bound, changed)
        )
        if reason or worst is None:
            return _wrong(case, reason or "the candidate returned no outputs")
        unseen = () if case in self.strided else self.draws.unseen(case)
        return msgspec.structs.replace(worst, unseen=unseen)

    def _worst(self, case: str, draw: int, made: Sequence[torch.Tensor], outputs: int) -> CaseResult | None:
        """The first result that is wrong, else the one with the largest error; None if nothing was made. made: outputs,
        of which gradients come last, then the inputs that were changed in place. outputs: number of the former."""
        specs = self.specs[case]
        worst, alike = None, self.draws.chosen_alike(self.strided.get(case, case), draw, made)
        for i, actual in enumerate(made):
            result = self._compared(case, draw, i, actual, alike)
            if result.status is Status.WRONG and i >= outputs:
                return _wrong(case, f"{specs.mutates[i - outputs]}, changed in place: {result.reason}")
            if result.status is Status.WRONG and (of := i - len(specs.outputs) + len(specs.gradients_of)) >= 0:
                return _wrong(case, f"the gradient of {specs.gradients_of[of]}: {result.reason}")
            if result.status is Status.WRONG:
                return result
            if worst is None or (result.max_rel_error or 0) > (worst.max_rel_error or 0):
                worst = result
        return worst

    def _compared(
        self, case: str, draw: int, output: int, actual: torch.Tensor, alike: Sequence[torch.Tensor] = ()
    ) -> CaseResult:
        """The result of comparing one output. alike: see `Draws.chosen_alike`."""
        found = compared(self.draws, self.strided.get(case, case), draw, output, actual, alike)
        prefix = self.answer(case, draw).prefix
        return CaseResult(
            case=case, status=Status.WRONG if found.why else Status.PASSED, reason=found.why and prefix + found.why,
            max_abs_error=found.found.max_abs, max_rel_error=found.found.max_rel,
            allowed_rel_error=found.limit.max_rel, element_error=found.element, allowed_element_error=found.allowed,
        )  # fmt: skip

    def qualify(self, case: str, draws: bool = False) -> CaseQualification | str:
        """Whether trivial answers would pass on this case; a reason if this machine cannot compute it. draws: whether
        to describe all draws."""
        known = self.draws.cases[case]
        size, flop = compulsory_bytes(self.specs[case]), self.draws.flop[case]
        if self.device == "cpu" and not known.small and (size > CPU_BYTES or flop > CPU_FLOP):
            return "too large to be computed without a GPU"
        try:
            foreseeable = self.draws.foreseeable()
            found = qualification(foreseeable, case)
            return msgspec.structs.replace(found, draws=foreseeable.drawn(case)) if draws else found
        finally:
            self.draws.kept.give_back()  # to the bench, and to other programs on this GPU

    def _bind_tensors(
        self, case: str, draw: int, plan: Plan, arena: torch.Tensor, layout: Layout
    ) -> Iterator[tuple[Buffer, torch.Tensor, torch.Tensor]]:
        """(buffer, window in the arena, the judge's pristine tensor) of each input and parameter."""
        return bind_tensors(self.answer(case, draw).instance, self.specs[case].inputs, plan, arena, layout)

    def _settle(self) -> None:
        if self.device != "cpu":
            torch.cuda.synchronize()

    def prepare_baseline(self, case: str, name: str, least_bytes: int) -> Captured:
        """Prepare a baseline of the framework for timing. Of all answers only its inputs stay in memory."""
        if case not in self.baselines.instances:
            self.baselines.instances[case] = self.draws.answer(case, 0).instance
        self.draws.kept.clear()
        restored = self.draws.work[case].reads_changed
        return self.baselines.prepare(case, name, compulsory_bytes(self.specs[case]), least_bytes, restored)


def returned_otherwise(plan: Plan, specs: Specs, outputs: Sequence[TensorSpec], changed: Mapping[int, str]) -> str:
    """How the plan's outputs differ from forward's in number, nesting, shape, dtype or memory; "" if they do not.

    outputs: the specs to compare with. changed: the names of the inputs that forward changes, by their buffer."""
    if len(plan.outputs) != len(outputs):
        return f"{len(plan.outputs)} outputs, {len(outputs)} expected"
    if plan.returns != specs.returns:
        return f"outputs are not nested as forward's: {specs.returns or 'one tensor, or a flat tuple'} expected"
    for i, (view, spec) in enumerate(zip(plan.outputs, outputs, strict=True)):
        if view.shape != spec.shape or view.dtype != spec.dtype:
            return f"output {i} is {view.dtype}{list(view.shape)}, {spec.dtype}{list(spec.shape)} expected"
        if any(stride == 0 and size > 1 for size, stride in zip(view.shape, view.stride, strict=True)):
            return f"output {i} is expanded (stride 0), not written"
        lies_in = changed.get(view.buffer, "")
        if lies_in and lies_in != specs.lies_in[i]:
            own = specs.lies_in[i] or "separate memory"
            return f"output {i} lies in {lies_in}, which the next call changes: return {own}, as forward does"
        if specs.lies_in[i] and not lies_in:
            return f"output {i} is a copy, but forward returns {specs.lies_in[i]} itself: return that tensor"
    return ""


def case_read(case: Case, shape: CaseShape, specs: Specs, work: Work, flop: int | None, size: int | None) -> CaseRead:
    """flop, size: FLOP and bytes that the problem states, or None. Stated bytes are divided into read and written bytes
    in the same ratio as the derived ones."""
    by_dtype = work.flop if flop is None else flop_stated(flop, work.flop, specs)
    total = work.bytes if size is None else size
    return CaseRead(
        case=case, inputs=specs.inputs, outputs=specs.outputs, mutates=specs.mutates, lies_in=specs.lies_in,
        returns=specs.returns, reads_changed=work.reads_changed, gradients_of=specs.gradients_of,
        input_names=shape.input_names, arguments=shape.arguments, keywords=shape.keywords,
        parameters=shape.parameters, init=shape.init, init_names=shape.init_names,
        bytes=total, written_bytes=round(total * work.written_bytes / max(work.bytes, 1)),
        flop=sum(by_dtype.values()), flop_by_dtype=by_dtype, reads=work.reads, assumed=work.assumed,
        stated=(*(("bytes",) if size is not None else ()), *(("flop",) if flop is not None else ())),
    )  # fmt: skip


def _wrong(case: str, reason: str) -> CaseResult:
    return CaseResult(case=case, status=Status.WRONG, reason=reason)


def main(channel: Channel, options: Options) -> None:
    warnings.filterwarnings("ignore", category=UserWarning)
    judge = Judge(options.device)
    note.file = os.open(options.note, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    path = ""
    with contextlib.ExitStack() as stack:
        stack.enter_context(torch.no_grad())
        while True:
            message: messages.ToJudge = codec.record(channel.receive(None), messages.ToJudge)  # type: ignore[arg-type]
            path = message.path if isinstance(message, messages.Load) else path
            try:
                channel.send(Done(value=respond(judge, message)))
            except KernelwrightError as error:
                channel.send(Fault(message=str(error), of_problem=isinstance(error, ProblemError)))
            except torch.OutOfMemoryError as error:
                torch.cuda.empty_cache()
                channel.send(Fault(message=str(out_of_memory(message.verb, error)), of_problem=True))
            except Exception as error:  # noqa: BLE001 - our own fault, reported before this process ends
                traceback.print_exc()
                where = f"{path}: the judge failed at {message.verb}: " if path else ""
                channel.send(Fault(message=f"{where}{type(error).__name__}: {words_of(error)}"))
                return


def out_of_memory(verb: str, error: torch.OutOfMemoryError) -> ProblemError:
    """The error for the user when the judge runs out of GPU memory, with PyTorch's message but without its advice."""
    said = str(error).split(" Of the allocated memory")[0].split(" See documentation")[0]
    return ProblemError(
        f"the GPU's memory does not hold what the judge needs to {verb}: {said}",
        "the reference is computed in float64, beside what the candidate holds: take smaller cases, or a larger GPU",
    )


def respond(judge: Judge, message: messages.ToJudge) -> Any:
    match message:
        case messages.Load(path=path, loading=loading, cases=cases):
            return judge.load(path, loading, cases)
        case messages.Longer() as asked:
            return judge.longer(asked)
        case messages.Like() as asked:
            return judge.like(asked)
        case messages.Odd():
            return judge.odd()
        case messages.Peaks(file=file):
            return peaks.measured(Path(file))
        case messages.Draws(case=case):
            return judge.draws_for(case)
        case messages.Again(case=case):
            return judge.draws.following(judge.strided.get(case, case))
        case messages.Qualify(case=case, draws=draws):
            return judge.qualify(case, draws)
        case messages.Unjudged(case=case):
            return [] if case in judge.strided else judge.draws.unjudged(case)
        case messages.AddPlan(name=name, plan=plan):
            return remember(judge.plans, name, plan)
        case messages.Measure(case=case, draw=draw):
            return judge.draws.measure(case, draw)
        case messages.Fill(case=case, draw=draw, plan=name, arena=arena, fresh=fresh):
            return judge.fill(case, draw, judge.plans[name], arena, fresh)
        case messages.Check(case=case, draw=draw, plan=name, arena=arena, first=first):
            return judge.check(case, draw, judge.plans[name], arena, first)
        case messages.Prepare(case=case, name=name, least_bytes=least_bytes):
            return judge.prepare_baseline(case, name, least_bytes)
        case timing.CaptureAgain(key=name):
            return judge.baselines.capture_again(name)
        case timing.Sample(key=name, count=count):
            return [judge.baselines.timed[name].sample_us() for _ in range(count)]
        case timing.Call(key=name):
            baseline = judge.baselines.timed[name]
            return call_us(baseline.pieces[0], baseline.restore)
        case timing.Warm(key=name):
            return judge.baselines.timed[name].warm_us()
        case messages.Forget():
            return judge.baselines.forget()
