"""The recorder process: runs a candidate's host code for each case, in a sandbox without data, and writes launch plans.

Its answer is not trusted: a plan only refers to buffers, the candidate's own kernels and library steps, is checked, and
is judged by the results of its replay. The process is killed after use.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import importlib.util
import itertools
import secrets
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import torch
from triton.language import constexpr

from kernelwright import codec
from kernelwright.devices import find_target
from kernelwright.model import Status, TensorSpec
from kernelwright.source import parse as syntax
from kernelwright.source.branches import MARK, STAND_IN, marked
from kernelwright.worker import confine
from kernelwright.worker.compile.target import install
from kernelwright.worker.plan import plan
from kernelwright.worker.plan.case_shape import CaseShape
from kernelwright.worker.plan.plan import Recorded, Recording
from kernelwright.worker.plan.structure import result_of
from kernelwright.worker.processes.channel import Channel
from kernelwright.worker.processes.commands import Options
from kernelwright.worker.record.autograd_function import ForwardAndBackward, is_autograd_function
from kernelwright.worker.record.calling import adopt, bind_arguments, forward_arguments, meta, trained
from kernelwright.worker.record.fake import faked
from kernelwright.worker.record.launches import RecordLaunches, kernel_names
from kernelwright.worker.record.messages import Confined, RecordCases, Surroundings
from kernelwright.worker.record.remains import CANDIDATE, Remains, state_of
from kernelwright.worker.record.stand_in import alone, stand_in
from kernelwright.worker.record.trace import Refused, Trace


def main(channel: Channel, options: Options) -> None:
    scratch = Path(options.scratch)
    torch.set_num_threads(1)  # the sandbox forbids more threads, and OpenMP aborts without them
    in_force = confine.enter(scratch, (channel.socket.fileno(),), confine.RECORDER)
    channel.send(Confined(measures=in_force))
    channel.send(record(codec.record(channel.receive(30.0), RecordCases), scratch))


@alone()
def record(job: RecordCases, scratch: Path) -> Recorded:
    """Record every case of a job in all its surroundings. One import of the candidate serves all cases in one of them,
    unless it fails."""
    target = find_target(job.target)
    install(target)
    torch.set_grad_enabled(False)
    recordings: list[Recording] = []
    tuned: dict[str, int] = {}
    module: ModuleType | None = None
    taken: set[int] = set()
    taken_by_import: set[int] = set()
    pruned: dict[str, tuple[int, ...]] = {}
    before: Surroundings | None = None
    for surroundings, case in itertools.product(job.surroundings, job.cases):
        taken.clear()
        pruned.clear()
        module, before = module if surroundings == before else None, surroundings
        with (
            faked(target, job.library, surroundings) as trace,
            RecordLaunches(trace, job.autotune, tuned, pruned) as names,
        ):
            try:
                if module is None:
                    name = CANDIDATE if surroundings == "usual" else f"m{secrets.token_hex(3)}"
                    module = imported(job.source, scratch, taken, name)
                    taken_by_import = set(taken)
                names.update(kernel_names(module, syntax.parse(job.source)))
                made = planned(module, case, trace)
                ran = tuple(sorted(taken | taken_by_import))
                recordings.append(Recording(case=case.name, plan=made, taken=ran, pruned={**pruned}))
            except BaseException as error:  # noqa: BLE001 - a candidate may raise anything, SystemExit too; each is a result
                status, reason = blame(error)
                refused = is_refusal(error, job.source)
                ran = tuple(sorted(taken | taken_by_import))
                recordings.append(Recording(case=case.name, status=status, reason=reason, refused=refused, taken=ran))
    if job.constants and not job.cases:
        with (
            faked(target, job.library) as trace, RecordLaunches(trace, {}, {}, {}), contextlib.suppress(BaseException),
        ):  # fmt: skip
            module = imported(job.source, scratch, taken)
    constants = {name: text for name in job.constants if hasattr(module, name)
                 and (text := literal_of(getattr(module, name))) is not None}  # fmt: skip
    return Recorded(recordings=tuple(recordings), autotune=tuned, constants=constants)


def literal_of(value: Any) -> str | None:
    """A number, a string or None, or a `tl.constexpr` of one, as a Python literal; None for anything else."""
    value = getattr(value, "value", None) if isinstance(value, constexpr) else value
    return repr(value) if type(value) in (bool, int, float, str, type(None)) else None


def imported(source: str, scratch: Path, taken: set[int], name: str = CANDIDATE) -> ModuleType:
    """Import the candidate from a file, which Triton needs. Branches that run add their number to `taken`. name: of the
    module; it is CANDIDATE in `sys.modules`, too."""
    path = scratch / name / "candidate.py"
    path.parent.mkdir(exist_ok=True)
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise Refused("the candidate cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[CANDIDATE] = sys.modules[name] = module
    for part in ("", ".version") if importlib.util.find_spec("packaging") is None else ():
        sys.modules[f"packaging{part}"] = importlib.import_module(f"torch._vendor.packaging{part}")
    setattr(module, MARK, taken.add)
    setattr(module, STAND_IN, stand_in)
    exec(compile(marked(syntax.parse(source)), str(path), "exec", dont_inherit=True), module.__dict__)
    return module


def planned(module: ModuleType, case: CaseShape, trace: Trace) -> plan.Plan:
    """The plan of a case. It constructs ModelNew (if there is one), calls twice, and refuses calls that differ."""
    parameters = {name: meta(spec) for name, spec in case.parameters.items()}
    init = [
        meta(codec.record(value, TensorSpec)) if place in case.init_tensors else value
        for place, value in enumerate(case.init)
    ]
    trace.spare.clear()  # what construction is given is not what it allocates
    call, arguments = called(module, case, parameters, init, trace)
    roots = (vars(module), None if isinstance(call, Both | ForwardAndBackward) else call, *parameters.values())
    with torch.set_grad_enabled(torch.is_grad_enabled() and not case.gradients):  # as in an autograd function's methods
        first = one_call(call, arguments, case, parameters, trace)
        between = Remains(*roots)
        second = one_call(call, arguments, case, parameters, trace)
    if first != second:
        raise Refused("a second call with inputs of the same shapes does something else than the first; nothing may be "
                      "kept between calls")  # fmt: skip
    between.refuse_changed(Remains(*roots))
    return first


Arguments = Callable[[list[Any]], tuple[list[Any], dict[str, Any]]]
"""Maps the inputs of a case to positional and keyword arguments of host code."""


def called(
    module: ModuleType, case: CaseShape, parameters: dict[str, torch.Tensor], init: list[Any], trace: Trace
) -> tuple[Callable[..., Any], Arguments]:
    """The callable of a candidate (a constructed ModelNew, a function, Both, or ForwardAndBackward), and the mapping to
    its arguments."""
    if hasattr(module, "ModelNew"):
        if case.gradients:
            raise Refused("the problem states GRADIENTS: define kernel_function and kernel_backward, not ModelNew")
        model = module.ModelNew(*init)
        adopt(model, parameters)
        model.eval()
        return model, lambda inputs: forward_arguments(case, inputs)
    if is_autograd_function(found := getattr(module, "kernel_function", None)):
        if not case.gradients:
            raise Refused(
                "kernel_function is an autograd function, and the problem asks for no backward: state GRADIENTS = True "
                "in it, or write a function that calls its .apply"
            )
        return ForwardAndBackward(found, case, parameters, init, trace), lambda inputs: (inputs, {})
    if hasattr(module, "kernel_function") and case.gradients:
        return Both(module, case, parameters, init, trace), lambda inputs: (inputs, {})
    if hasattr(module, "kernel_function"):
        function = module.kernel_function
        return function, lambda inputs: bind_arguments(function, case, inputs, parameters, init)
    raise Refused("the candidate defines neither a class ModelNew nor a function kernel_function")


def one_call(
    call: Callable[..., Any], arguments: Arguments, case: CaseShape, parameters: dict[str, torch.Tensor], trace: Trace
) -> plan.Plan:
    """Record one call, on new tensors for the inputs."""
    trace.start()
    inputs = [given(spec, trace) if isinstance(spec, TensorSpec) else spec for spec in case.inputs]
    for name, tensor in zip(case.input_names, inputs, strict=False):
        if isinstance(tensor, torch.Tensor):
            trace.bind(tensor, "input", name, before=_before(tensor.shape, trace))
    for name, tensor in parameters.items():
        trace.bind(tensor, "parameter", name)
    args, kwargs = arguments(inputs)
    tensors = [one for one in inputs if isinstance(one, torch.Tensor)]
    before = [state_of(one) for one in tensors]
    trace.recording = True
    result = call(*args, **kwargs)
    trace.recording = False
    if before != [state_of(one) for one in tensors]:
        raise Refused(
            "the call changed more of an input than its values, such as requires_grad; the next call would see it"
        )
    outputs: list[Any] = []
    try:
        returns = result_of(result, outputs)
    except ValueError as error:
        raise Refused(f"the call returned {error}") from error
    returns = "" if result is None and case.mutates else returns
    if returns != case.returns or not all(isinstance(o, torch.Tensor) for o in outputs):
        nesting = f", nested as {case.returns}" if case.returns else ""
        raise Refused(f"the call returned {described(result)}; a tensor or a tuple of tensors was expected{nesting}")
    views = tuple(trace.view(one, "an output") for one in outputs)
    if any(plan.is_kept(trace.buffers[view.buffer]) for view in views):
        raise Refused("an output is memory that construction allocates: the next call overwrites it; allocate it in "
                      "the call")  # fmt: skip
    return plan.Plan(
        buffers=tuple(trace.buffers.values()), steps=tuple(trace.steps), outputs=views,
        single=isinstance(result, torch.Tensor), returns=returns, forward=trace.forward,
    )  # fmt: skip


def given(spec: TensorSpec, trace: Trace) -> torch.Tensor:
    """A tensor for an input, as the surroundings have it."""
    tensor = meta(msgspec.structs.replace(spec, offset=spec.offset + _before(spec.shape, trace)))
    return trained(tensor) if trace.surroundings == "training" and tensor.is_floating_point() else tensor


def _before(shape: Sequence[int], trace: Trace) -> int:
    """How many elements are in front of an input in its storage, beside those that its layout says."""
    return 16 * (trace.surroundings == "inference" and all(shape))


def tensors_of(what: str, result: Any) -> tuple[torch.Tensor, ...]:
    """The result of a call as a tuple of tensors; refuses other results."""
    several = [result] if isinstance(result, torch.Tensor) else result
    if not isinstance(several, tuple | list) or not all(isinstance(one, torch.Tensor) for one in several):
        raise Refused(f"{what} returned {described(result)}; a tensor or a tuple of tensors was expected")
    return tuple(several)


class Both:
    """`kernel_function` and then `kernel_backward` of a candidate, as one call."""

    def __init__(
        self, module: ModuleType, case: CaseShape, parameters: dict[str, torch.Tensor], init: list[Any], trace: Trace
    ) -> None:
        self.module, self.case, self.parameters, self.init, self.trace = module, case, parameters, init, trace
        if not hasattr(module, "kernel_backward"):
            raise Refused("the problem states GRADIENTS, and the candidate has no function kernel_backward")
        saved = getattr(module, "SAVED", ())
        if not isinstance(saved, tuple) or not all(isinstance(name, str) for name in saved):
            raise Refused('SAVED is to be a tuple of names, such as ("rstd",)')
        self.saved: tuple[str, ...] = saved

    def __call__(self, *inputs: Any) -> tuple[torch.Tensor, ...]:
        """Outputs, then gradients of the inputs and of the parameters."""
        first = len(inputs) - self.case.gradients
        names = self.case.input_names
        made = tensors_of("kernel_function", self._called("kernel_function", names[:first], inputs[:first]))
        count = len(made) - len(self.saved)
        if count < 1:
            raise Refused(f"kernel_function returned {len(made)} tensors, the last {len(self.saved)} of them SAVED")
        self.trace.forward = plan.Forward(steps=len(self.trace.steps), outputs=count)
        known = (*names[first:], *names[:first], *self.saved, *(f"output_{number}" for number in range(count)))
        values = (*inputs[first:], *inputs[:first], *made[count:], *made[:count])
        found = self._called("kernel_backward", known, values)
        return (*made[:count], *tensors_of("kernel_backward", found))

    def _called(self, name: str, names: tuple[str, ...], values: tuple[Any, ...]) -> Any:
        """Call a function of the candidate with these values, by name or in this order, and with parameters by name."""
        call, case = getattr(self.module, name), msgspec.structs.replace(self.case, input_names=names)
        args, kwargs = bind_arguments(call, case, list(values), self.parameters, self.init)
        return call(*args, **kwargs)


def described(result: Any) -> str:
    """The type of a call's result, and the types of its elements."""
    inside = ", ".join(type(item).__name__ for item in result[:8]) if isinstance(result, tuple | list) else ""
    return f"{type(result).__name__}({inside})" if inside else type(result).__name__


def is_refusal(error: BaseException, source: str) -> bool:
    """Whether a `raise` or `assert` statement of the host code itself, which may have many lines, raised the error, or
    an assertion in what it calls, as in Triton's descriptors."""
    trace = traceback.extract_tb(error.__traceback__)
    if isinstance(error, AssertionError) and any(one.filename.endswith("candidate.py") for one in trace):
        return True
    if not trace or not trace[-1].filename.endswith("candidate.py"):
        return False
    refusals = [node for node in ast.walk(syntax.parse(source)) if isinstance(node, ast.Raise | ast.Assert)]
    return any(node.lineno <= (trace[-1].lineno or 0) <= (node.end_lineno or 0) for node in refusals)


def blame(error: BaseException) -> tuple[Status, str]:
    """The status and a short reason for an error that the candidate raised, with the line in its source."""
    if isinstance(error, SyntaxError):
        return Status.COMPILE_ERROR, syntax.complaint(error)
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename.endswith("candidate.py")]
    where = f"line {lines[-1]}: " if lines else ""
    if isinstance(error, Refused):
        return Status.REJECTED, f"{where}{error}"
    text = f"{type(error).__name__}: {error}".strip()[:600]
    if "meta" in str(error).lower() and isinstance(error, RuntimeError | NotImplementedError):
        return Status.REJECTED, f"{where}the host code depends on values, which a launch plan cannot hold ({text})"
    return Status.RUNTIME_ERROR, f"{where}{text}"
