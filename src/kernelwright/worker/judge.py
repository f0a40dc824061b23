"""The judge: holds the reference, the secret inputs and the expected outputs, and runs nothing of a candidate.

It writes inputs into an arena that a bench replays on, and afterwards reads outputs, inputs and guard zones through
its own mapping. It also times the framework's own implementations, since only it has them. Seeds are drawn here and
never leave the process.
"""

from __future__ import annotations

import contextlib
import math
import secrets
import traceback
import warnings
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from kernelwright import codec
from kernelwright.errors import KernelwrightError, ProblemError
from kernelwright.model import Case, CaseResult, Status, TensorSpec
from kernelwright.worker import clock, load, peaks, tolerance
from kernelwright.worker.arena import attach, window
from kernelwright.worker.channel import Channel
from kernelwright.worker.instance import Instance, Specs, cast, compulsory_bytes, outputs
from kernelwright.worker.layout import Layout
from kernelwright.worker.plan import Plan

POISONS = (0xFF, 0x5A)
"""Byte patterns for memory that a call must write: 0xFF is NaN in every float format, 0x5A a large finite number."""

REPEATS = 2
"""Inputs drawn per case, so that the framework's error is pooled and one lucky pass is not enough."""

LARGE_BYTES = 1 << 28
"""A case with more input than this is judged on one draw: its many elements pool the error by themselves."""

KEPT_FRACTION = 0.25
"""Share of the device's memory for inputs and expected outputs kept between candidates."""


@dataclass
class Answer:
    """One draw of a case: instance, expected outputs (float64, or float32 for half-precision ones) and the
    framework's own errors."""

    instance: Instance
    expected: list[torch.Tensor]
    own: list[tolerance.Errors]
    nbytes: int


class Judge:
    def __init__(self, device: str) -> None:
        self.device = device
        self.secret = secrets.randbits(62)
        self.answers: OrderedDict[tuple[str, int], Answer] = OrderedDict()
        self.flop: dict[str, int] = {}
        self.arenas: dict[str, torch.Tensor] = {}
        self.timed: dict[tuple[str, str], clock.Timed] = {}
        self.pieces: dict[tuple[str, str], clock.Piece] = {}
        torch.backends.cudnn.allow_tf32 = False
        torch.backends.cuda.matmul.allow_tf32 = False

    def load(self, path: str, dtype: str | None) -> dict[str, Any]:
        """Read the problem; returns what the coordinator may know of it, bounds still missing."""
        self.problem = load.load_problem(path)
        self.cases = {case.name: (case, None if case.small else dtype) for case in self.problem.cases}
        self.specs = {name: self.problem.specs(case, d) for name, (case, d) in self.cases.items()}
        described = []
        for name, (case, case_dtype) in self.cases.items():
            specs = self.specs[name]
            flop, size = self.problem.work(case)
            self.flop[name] = self.problem.count_flop(case)
            described.append({
                "case": codec.plain(case if case_dtype is None else _with_dtype(case, case_dtype)),
                "inputs": codec.plain(specs.inputs), "outputs": codec.plain(specs.outputs),
                "bytes": compulsory_bytes(specs) if size is None else size,
                "written_share": written_share(specs),
                "flop": self.flop[name] if flop is None else flop,
            })  # fmt: skip
        first = self.specs[self.problem.cases[0].name]
        return {
            "name": self.problem.name, "format": self.problem.format, "source": self.problem.source,
            "docstring": self.problem.docstring, "cases": described,
            "parameters": {name: spec.shape for name, spec in first.parameters.items()},
        }  # fmt: skip

    def shapes(self) -> list[dict[str, Any]]:
        """Per case, what a recorder is told: no values, no reference."""
        found = []
        for name, (case, dtype) in self.cases.items():
            instance = self.problem.outline(case, dtype)
            specs = self.specs[name]
            found.append({
                "name": name, "inputs": codec.plain(specs.inputs), "input_names": instance.input_names,
                "parameters": codec.plain(specs.parameters), "init_names": instance.init_names,
                "init": [codec.plain(_spec(v)) if isinstance(v, torch.Tensor) else v for v in instance.init_inputs],
            })  # fmt: skip
        return found

    def draws(self, case: str) -> int:
        specs = self.specs[case]
        size = sum(compulsory_bytes(Specs(inputs=(s,), outputs=(), parameters={}))
                   for s in specs.inputs if isinstance(s, TensorSpec))  # fmt: skip
        return 1 if size > LARGE_BYTES else REPEATS

    def answer(self, case: str, draw: int) -> Answer:
        """Inputs and expected outputs of one draw, from memory or made now."""
        key = (case, draw)
        if key not in self.answers:
            self._make_room()
            made, dtype = self.cases[case]
            instance = self.problem.instance(made, seed=self.secret + draw, device=self.device, dtype=dtype)
            self.answers[key] = judged(instance)
            if self.device != "cpu":
                torch.cuda.empty_cache()  # float64 intermediates of a large case would starve the bench
        self.answers.move_to_end(key)
        return self.answers[key]

    def _make_room(self) -> None:
        if self.device == "cpu":
            return
        limit = KEPT_FRACTION * torch.cuda.get_device_properties(0).total_memory
        while self.answers and sum(a.nbytes for a in self.answers.values()) > limit:
            self.answers.popitem(last=False)
            torch.cuda.empty_cache()

    def arena(self, handle: dict[str, Any]) -> torch.Tensor:
        """Our mapping of a bench's arena; only the newest is kept."""
        key = str(handle)
        if key not in self.arenas:
            self.arenas.clear()
            self.arenas[key] = attach(handle)
        return self.arenas[key]

    def fill(self, case: str, draw: int, plan: Plan, handle: dict[str, Any]) -> None:
        """Poison the arena and write inputs and parameters where the plan wants them."""
        arena, layout = self.arena(handle), Layout(plan.buffers)
        arena[: layout.nbytes].fill_(POISONS[draw % len(POISONS)])
        for target, source in self._bound(case, draw, plan, arena, layout):
            target.copy_(source)
        self._settle()

    def check(self, case: str, draw: int, plan: Plan, handle: dict[str, Any]) -> CaseResult:
        """Compare what the plan left in the arena: outputs, unchanged inputs, untouched guard zones."""
        arena, layout = self.arena(handle), Layout(plan.buffers)
        self._settle()
        answer = self.answer(case, draw)

        def wrong(reason: str, found: tolerance.Errors | None = None, limit: float | None = None) -> CaseResult:
            return CaseResult(case=case, status=Status.WRONG if reason else Status.PASSED, reason=reason,
                              max_abs_error=found.max_abs if found else None, allowed_rel_error=limit,
                              max_rel_error=found.max_rel if found else None)  # fmt: skip

        outputs = self.specs[case].outputs
        if len(plan.outputs) != len(outputs):
            return wrong(f"{len(plan.outputs)} outputs, {len(outputs)} expected")
        for i, (view, spec) in enumerate(zip(plan.outputs, outputs, strict=True)):
            if view.shape != spec.shape or view.dtype != spec.dtype:
                return wrong(f"output {i} is {view.dtype}{list(view.shape)}, {spec.dtype}{list(spec.shape)} expected")
            if any(stride == 0 and size > 1 for size, stride in zip(view.shape, view.stride, strict=True)):
                return wrong(f"output {i} is expanded (stride 0), not written")
        worst: CaseResult | None = None
        for i, view in enumerate(plan.outputs):
            actual = window(arena, layout, view)
            found = tolerance.errors(actual, answer.expected[i])
            limit = tolerance.allowed(self._pooled(case, i), actual.dtype, self._reduction(case))
            result = wrong(tolerance.verdict(found, limit), found, limit.max_rel)
            if result.status is Status.WRONG:
                return result
            if worst is None or (result.max_rel_error or 0) > (worst.max_rel_error or 0):
                worst = result
        poison = POISONS[draw % len(POISONS)]
        for start, end in layout.guards():
            if bool((arena[start:end] != poison).any()):
                return wrong("memory outside every buffer was written: an unmasked store")
        for target, source in self._bound(case, draw, plan, arena, layout):
            if not bool(_bits(target).eq(_bits(source)).all()):
                return wrong("an input or parameter was changed by the call")
        if worst is None:
            return wrong("the candidate returned no outputs")
        return worst

    def _pooled(self, case: str, output: int) -> list[tolerance.Errors]:
        return [self.answer(case, draw).own[output] for draw in range(self.draws(case))]

    def _reduction(self, case: str) -> float:
        """Terms summed into one output: from FLOP, or from how many inputs there are to an output."""
        specs = self.specs[case]
        produced = max(1, sum(math.prod(s.shape) for s in specs.outputs))
        consumed = sum(math.prod(s.shape) for s in specs.inputs if isinstance(s, TensorSpec))
        longest = max((s.shape[-1] for s in specs.inputs if isinstance(s, TensorSpec) and s.shape), default=1)
        return max(self.flop[case] / (2 * produced), consumed / produced, float(longest))

    def _bound(
        self, case: str, draw: int, plan: Plan, arena: torch.Tensor, layout: Layout
    ) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """(window in the arena, our pristine tensor) of each input and parameter."""
        instance = self.answer(case, draw).instance
        inputs = dict(zip(instance.input_names, instance.inputs, strict=True))
        named = dict(instance.module.named_parameters()) | dict(instance.module.named_buffers())
        for buffer in plan.buffers:
            if buffer.origin == "scratch":
                continue
            source = inputs[buffer.name] if buffer.origin == "input" else named[buffer.name]
            assert isinstance(source, torch.Tensor)
            start = layout.offsets[buffer.id]
            size = min(
                buffer.nbytes, source.untyped_storage().nbytes() - source.storage_offset() * source.element_size()
            )
            flat = arena[start : start + size].view(source.dtype)
            yield flat.as_strided(source.shape, source.stride(), flat.storage_offset()), source

    def _settle(self) -> None:
        if self.device != "cpu":
            torch.cuda.synchronize()

    # --- the framework's own implementations ---------------------------------------------------------------

    def prepare_baseline(self, case: str, name: str) -> dict[str, Any]:
        """Make an implementation of the framework ready to be sampled."""
        first = self.answer(case, 0).instance
        size = compulsory_bytes(self.specs[case])
        free, _ = torch.cuda.mem_get_info()
        count = clock.sets_needed(size, torch.cuda.get_device_properties(0).L2_cache_size, free)
        module = compiled(first.module, name)
        extra = [tuple(v.clone() if isinstance(v, torch.Tensor) else v for v in first.inputs) for _ in range(count - 1)]
        sets = [first.inputs, *extra]

        def piece(inputs: tuple[Any, ...]) -> clock.Piece:
            def call() -> None:
                with torch.no_grad():
                    module(*inputs)

            return call

        pieces = [piece(inputs) for inputs in sets]
        with torch.no_grad():
            timed = clock.Timed(pieces, either=True)
        self.timed[case, name], self.pieces[case, name] = timed, pieces[0]
        timed.warm_up()
        return {"method": timed.method, "sets": count, "calls": timed.calls}


def judged(instance: Instance) -> Answer:
    """Expected outputs in float64 and the framework's own error in the instance's dtype."""
    produced = framework_outputs(instance)
    exact = outputs(cast(instance, "float64"))
    own = [tolerance.errors(p, e) for p, e in zip(produced, exact, strict=True)]
    halves = (torch.float16, torch.bfloat16)
    expected = [e.float() if p.dtype in halves and e.is_floating_point() else e
                for p, e in zip(produced, exact, strict=True)]  # fmt: skip
    tensors = [t for t in (*instance.inputs, *expected) if isinstance(t, torch.Tensor)]
    return Answer(instance=instance, expected=expected, own=own, nbytes=sum(t.nbytes for t in tensors))


def written_share(specs: Specs) -> float:
    """Which part of the compulsory bytes is written; a stated number of bytes is taken to divide alike."""
    written = compulsory_bytes(Specs(inputs=(), outputs=specs.outputs, parameters={}))
    return written / max(compulsory_bytes(specs), 1)


def framework_outputs(instance: Instance) -> tuple[torch.Tensor, ...]:
    """What eager PyTorch gives; where the CPU has no half-precision kernel, float32 rounded to the dtype."""
    try:
        return outputs(instance)
    except ProblemError as error:
        if "not implemented for" not in str(error):
            raise
        wide = outputs(cast(instance, "float32"))
        dtype = next(v.dtype for v in instance.inputs if isinstance(v, torch.Tensor) and v.is_floating_point())
        return tuple(w.to(dtype) if w.is_floating_point() else w for w in wide)


def compiled(module: torch.nn.Module, name: str) -> Any:
    """The module as `name` says: eager, compile or compile_max_autotune."""
    if name == "eager":
        return module
    torch._dynamo.reset()
    if name == "compile":
        return torch.compile(module)
    return torch.compile(module, mode="max-autotune-no-cudagraphs")


def _with_dtype(case: Case, dtype: str) -> Case:
    return codec.record(codec.plain(case) | {"dtype": dtype}, Case)


def _spec(tensor: torch.Tensor) -> TensorSpec:
    return TensorSpec(shape=tuple(tensor.shape), dtype=str(tensor.dtype).removeprefix("torch."),
                      stride=tuple(tensor.stride()))  # fmt: skip


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    """The same elements as integers, so that NaN equals itself and −0 differs from 0."""
    if not tensor.is_floating_point():
        return tensor
    return tensor.view({2: torch.int16, 4: torch.int32, 8: torch.int64, 1: torch.int8}[tensor.element_size()])


def main(channel: Channel, options: dict[str, Any]) -> None:
    warnings.filterwarnings("ignore", category=UserWarning)
    judge = Judge(options["device"])
    with contextlib.ExitStack() as stack:
        stack.enter_context(torch.no_grad())
        while True:
            message = channel.receive(None)
            try:
                channel.send({"ok": respond(judge, message)})
            except KernelwrightError as error:
                channel.send({"error": str(error), "kind": type(error).__name__})
            except Exception as error:  # noqa: BLE001 - our own fault, told before this process ends
                traceback.print_exc()
                channel.send({"error": f"{type(error).__name__}: {error}", "kind": "WorkerError"})
                return


def respond(judge: Judge, message: dict[str, Any]) -> Any:
    verb = message["verb"]
    if verb == "load":
        return judge.load(message["path"], message["dtype"])
    if verb == "shapes":
        return judge.shapes()
    if verb == "peaks":
        return peaks.measured(Path(message["cache"]))
    if verb == "draws":
        return judge.draws(message["case"])
    if verb in ("fill", "check"):
        plan = codec.record(message["plan"], Plan)
        result = getattr(judge, verb)(message["case"], message["draw"], plan, message["arena"])
        return codec.plain(result) if result is not None else None
    if verb == "prepare":
        return judge.prepare_baseline(message["case"], message["name"])
    if verb == "sample":
        return judge.timed[message["case"], message["name"]].sample_us()
    if verb == "call":
        return clock.call_us(judge.pieces[message["case"], message["name"]])
    if verb == "warm":
        return judge.timed[message["case"], message["name"]].warm_us()
    if verb == "forget":
        judge.timed.clear()
        judge.pieces.clear()
        torch.cuda.empty_cache()
        return None
    raise ProblemError(f"the judge has no verb {verb!r}")
