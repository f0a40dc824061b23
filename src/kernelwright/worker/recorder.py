"""The recorder: runs a candidate's host code once per case, confined and without data, and reports launch plans.

Nothing it says is believed: a plan only names buffers and the candidate's own kernels, and is judged by what its
replay computes. The process is killed after use.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import torch
import triton
from triton.runtime.autotuner import Autotuner
from triton.runtime.jit import JITFunction

from kernelwright import codec
from kernelwright.devices import find_target
from kernelwright.model import Record, Scalar, Status, TensorSpec
from kernelwright.worker import confine, plan
from kernelwright.worker.channel import Channel
from kernelwright.worker.fake import Refused, Trace, faked
from kernelwright.worker.faults import MAX_GRID
from kernelwright.worker.plan import Recorded, Recording
from kernelwright.worker.target import install


class CaseShape(Record, frozen=True, kw_only=True):
    """All that a candidate learns of a case: shapes, dtypes, strides and plain arguments."""

    name: str
    inputs: tuple[TensorSpec | Scalar | None, ...]
    input_names: tuple[str, ...]
    parameters: dict[str, TensorSpec]
    init: tuple[Any, ...]
    init_names: tuple[str, ...]


class Job(Record, frozen=True, kw_only=True):
    source: str
    autotune: dict[str, int]
    """Which config to take for a kernel under `triton.autotune`; the first where not said."""
    target: str
    cases: tuple[CaseShape, ...]


def main(channel: Channel, options: dict[str, Any]) -> None:
    scratch = Path(options["scratch"])
    torch.set_num_threads(1)  # no more can be started, and OpenMP ends the process over that
    in_force = confine.enter(scratch, channel.socket.fileno())
    channel.send({"confinement": in_force})
    job = codec.record(channel.receive(30.0), Job)
    channel.send(codec.plain(record(job, scratch)))


def record(job: Job, scratch: Path) -> Recorded:
    """One recording per case, and the number of configs of each autotuned kernel."""
    target = find_target(job.target)
    install(target)
    torch.set_grad_enabled(False)
    recordings: list[Recording] = []
    tuned: dict[str, int] = {}
    module: ModuleType | None = None
    for case in job.cases:
        with faked(target) as trace, launches_to(trace, job.autotune, tuned) as names:
            try:
                if module is None:
                    module = imported(job.source, scratch)
                names.update(kernel_names(module))
                recordings.append(Recording(case=case.name, plan=planned(module, case, trace)))
            except BaseException as error:  # noqa: BLE001 - whatever a candidate raises is a result
                status, reason = blame(error)
                recordings.append(Recording(case=case.name, status=status, reason=reason))
    return Recorded(recordings=tuple(recordings), autotune=tuned)


def imported(source: str, scratch: Path) -> ModuleType:
    """The candidate as a module (Triton wants its source in a file)."""
    path = scratch / "candidate.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location("candidate", path)
    if spec is None or spec.loader is None:
        raise Refused("the candidate cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules["candidate"] = module
    spec.loader.exec_module(module)
    return module


def kernel_names(module: ModuleType) -> dict[int, str]:
    """id of each module-level JIT function to its name."""
    found: dict[int, str] = {}
    for value in vars(module).values():
        while not isinstance(value, JITFunction) and hasattr(value, "fn"):
            value = value.fn
        if isinstance(value, JITFunction):
            found[id(value)] = value.fn.__name__
    return found


def planned(module: ModuleType, case: CaseShape, trace: Trace) -> plan.Plan:
    """Construct (where there is a ModelNew) and call twice; the plan, if both calls do the same."""
    parameters = {name: meta(spec) for name, spec in case.parameters.items()}
    init = [meta(value) if isinstance(value, TensorSpec) else value for value in case.init]
    if hasattr(module, "ModelNew"):
        model = module.ModelNew(*init)
        adopt(model, parameters)
        model.eval()
        first, second = (one_call(model, lambda inputs: (inputs, {}), case, parameters, trace) for _ in range(2))
    elif hasattr(module, "kernel_function"):
        call = module.kernel_function
        first, second = (
            one_call(call, lambda inputs: bound(call, case, inputs, parameters, init), case, parameters, trace)
            for _ in range(2)
        )
    else:
        raise Refused("the candidate defines neither a class ModelNew nor a function kernel_function")
    if first != second:
        raise Refused("a second call with inputs of the same shapes does something else than the first; nothing may be "
                      "kept between calls")  # fmt: skip
    return first


def one_call(
    call: Callable[..., Any],
    arguments: Callable[[list[Any]], tuple[list[Any], dict[str, Any]]],
    case: CaseShape,
    parameters: dict[str, torch.Tensor],
    trace: Trace,
) -> plan.Plan:
    """Record one call on inputs of its own."""
    trace.start()
    inputs = [meta(spec) if isinstance(spec, TensorSpec) else spec for spec in case.inputs]
    for name, tensor in zip(case.input_names, inputs, strict=False):
        if isinstance(tensor, torch.Tensor):
            trace.bind(tensor, "input", name)
    for name, tensor in parameters.items():
        trace.bind(tensor, "parameter", name)
    args, kwargs = arguments(inputs)
    trace.recording = True
    result = call(*args, **kwargs)
    trace.recording = False
    outputs = [result] if isinstance(result, torch.Tensor) else result
    if not isinstance(outputs, tuple | list) or not all(isinstance(o, torch.Tensor) for o in outputs):
        raise Refused(f"the call returned {described(result)}; a tensor or a tuple of tensors was expected")
    return plan.Plan(
        buffers=tuple(trace.buffers.values()), steps=tuple(trace.steps),
        outputs=tuple(trace.view(o, "an output") for o in outputs), single=isinstance(result, torch.Tensor),
    )  # fmt: skip


def described(result: Any) -> str:
    """The type of what a call returned, and of what is in it."""
    inside = ", ".join(type(item).__name__ for item in result[:8]) if isinstance(result, tuple | list) else ""
    return f"{type(result).__name__}({inside})" if inside else type(result).__name__


def meta(spec: TensorSpec) -> torch.Tensor:
    dtype = getattr(torch, spec.dtype)
    if not spec.offset:
        return torch.empty_strided(spec.shape, spec.stride, dtype=dtype, device="meta")
    reach = spec.offset + sum((size - 1) * stride for size, stride in zip(spec.shape, spec.stride, strict=True)) + 1
    storage = torch.empty(reach, dtype=dtype, device="meta")
    return storage.as_strided(spec.shape, spec.stride, spec.offset)


def adopt(model: torch.nn.Module, parameters: dict[str, torch.Tensor]) -> None:
    """Give a candidate's module the reference's parameters and buffers, by name; refuses a differing shape.

    One that the reference does not have is refused when a kernel or copy uses it.
    """
    own = [*model.named_parameters(remove_duplicate=False), *model.named_buffers(remove_duplicate=False)]
    for name, tensor in own:
        same = [other for other, shared in own if shared is tensor and other in parameters]
        if not same:
            continue
        given = parameters[name if name in same else same[0]]
        if tuple(tensor.shape) != tuple(given.shape):
            raise Refused(f"the parameter {name} has shape {tuple(tensor.shape)}, the reference's {tuple(given.shape)}")
        holder, leaf = model.get_submodule(name.rpartition(".")[0]), name.rpartition(".")[2]
        is_parameter = isinstance(tensor, torch.nn.Parameter)
        setattr(holder, leaf, torch.nn.Parameter(given, requires_grad=False) if is_parameter else given)


def bound(
    call: Any, case: CaseShape, inputs: list[Any], parameters: dict[str, torch.Tensor], init: list[Any]
) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of `kernel_function`, by name: forward arguments, parameters (dots as underscores, or a unique
    last part), constructor arguments; what is left takes the inputs not yet named, in order, and then its default."""
    named: dict[str, Any] = dict(zip(case.init_names, init, strict=False))
    leaves = [name.rpartition(".")[2] for name in parameters]
    named |= {
        name.rpartition(".")[2]: t for name, t in parameters.items() if leaves.count(name.rpartition(".")[2]) == 1
    }
    named |= {name.replace(".", "_"): tensor for name, tensor in parameters.items()}
    by_input = dict(zip(case.input_names, inputs, strict=False))
    named |= by_input
    wanted = [p for p in inspect.signature(call).parameters.values() if p.kind is not p.VAR_KEYWORD]
    unnamed = [value for name, value in by_input.items() if name not in {p.name for p in wanted}]
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for parameter in wanted:
        if parameter.kind is parameter.VAR_POSITIONAL:
            args += unnamed
            unnamed = []
            continue
        if parameter.name in named:
            value = named[parameter.name]
        elif unnamed and parameter.default in (parameter.empty, None):
            value = unnamed.pop(0)
        elif parameter.default is not parameter.empty:
            value = parameter.default
        else:
            known = ", ".join(named)
            raise Refused(f"kernel_function's argument {parameter.name!r} is none of the problem's: {known}")
        if parameter.kind is parameter.KEYWORD_ONLY:
            kwargs[parameter.name] = value
        else:
            args.append(value)
    return args, kwargs


class launches_to:  # noqa: N801 - reads as a verb at its use
    """Within: Triton launches are appended to the trace instead of being run."""

    def __init__(self, trace: Trace, choices: dict[str, int], tuned: dict[str, int]) -> None:
        self.trace, self.choices, self.tuned = trace, choices, tuned
        self.names: dict[int, str] = {}

    def __enter__(self) -> dict[int, str]:
        recorder = self

        def run(self: JITFunction[Any], *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> None:
            recorder.launch(self, grid, args, kwargs)

        def run_autotuned(self: Autotuner, *args: Any, **kwargs: Any) -> Any:
            return recorder.autotuned(self, args, kwargs)

        self.patches: list[Any] = [
            mock.patch.object(JITFunction, "run", run),
            mock.patch.object(Autotuner, "run", run_autotuned),
            mock.patch.object(triton, "set_allocator"),
        ]
        for patch in self.patches:
            patch.start()
        return self.names

    def __exit__(self, *exception: object) -> None:
        for patch in self.patches:
            patch.stop()

    def autotuned(self, tuner: Autotuner, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        name = tuner.base_fn.__name__
        self.tuned[name] = len(tuner.configs)
        index = self.choices.get(name, 0)
        if not 0 <= index < len(tuner.configs):
            raise Refused(f"autotune:{name} = {index}, but there are {len(tuner.configs)} configs")
        config = tuner.configs[index]
        if config.pre_hook is not None:
            config.pre_hook({**dict(zip(tuner.arg_names, args, strict=False)), **kwargs, **config.all_kwargs()})
        return tuner.fn.run(*args, **kwargs, **config.all_kwargs())

    def launch(self, kernel: JITFunction[Any], grid: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        name = self.names.get(id(kernel))
        if name is None:
            raise Refused("a kernel was launched that is not a module-level @triton.jit function of the candidate")
        signature = inspect.signature(kernel.fn)
        options = {k: kwargs[k] for k in plan.OPTIONS if k in kwargs}
        kwargs = {k: v for k, v in kwargs.items() if k not in options or k in signature.parameters}
        arguments = signature.bind(*args, **kwargs)
        arguments.apply_defaults()
        if callable(grid):
            grid = grid({**arguments.arguments, **options})
        grid = tuple(grid) if isinstance(grid, tuple | list | torch.Size) else (grid,)
        if not 1 <= len(grid) <= 3 or not all(isinstance(g, int) for g in grid):
            shown = [g if isinstance(g, int | float | str) else type(g).__name__ for g in grid]
            raise Refused(f"the grid of {name} is {shown}; one to three integers were expected")
        if not all(0 <= g <= most for g, most in zip(grid, MAX_GRID, strict=False)):
            raise Refused(f"the grid of {name} is {grid!r}; a device takes at most {MAX_GRID}")
        self.trace.append(
            plan.Launch(
                kernel=name,
                grid=grid,
                arguments={k: self.argument(v, f"{name}'s argument {k}") for k, v in arguments.arguments.items()},
                options={k: v for k, v in options.items() if v is not None},
            )
        )

    def argument(self, value: Any, what: str) -> plan.Argument:
        if isinstance(value, triton.language.constexpr):
            value = value.value
        if isinstance(value, torch.Tensor):
            return plan.Tensor(view=self.trace.view(value, what))
        if value is None or isinstance(value, bool | int | float | str):
            kind: Any = "none" if value is None else type(value).__name__
            return plan.Value(kind=kind, text=repr(value) if kind not in ("str", "none") else str(value or ""))
        if isinstance(value, triton.language.dtype):
            return plan.Value(kind="dtype", text=value.name)
        if isinstance(value, JITFunction) and id(value) in self.names:
            return plan.Value(kind="kernel", text=self.names[id(value)])
        if isinstance(value, tuple | list):
            return plan.Tuple(items=tuple(self.argument(item, what) for item in value))
        if type(value).__name__ == "TensorDescriptor":
            view = self.trace.view(value.base, what)
            shaped = plan.View(buffer=view.buffer, dtype=view.dtype, shape=tuple(value.shape),
                               stride=tuple(value.strides), offset=view.offset)  # fmt: skip
            padding = getattr(value, "padding", "zero")
            return plan.Descriptor(view=shaped, block_shape=tuple(value.block_shape), padding=str(padding))
        raise Refused(f"{what} is a {type(value).__name__}; tensors, numbers, strings, Triton dtypes, tensor "
                      "descriptors and kernels can be passed")  # fmt: skip


def blame(error: BaseException) -> tuple[Status, str]:
    """The status and a short reason for whatever the candidate raised, with the line in its source."""
    if isinstance(error, SyntaxError):
        return Status.COMPILE_ERROR, f"line {error.lineno}: {error.msg}"
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename.endswith("candidate.py")]
    where = f"line {lines[-1]}: " if lines else ""
    if isinstance(error, Refused):
        return Status.REJECTED, f"{where}{error}"
    text = f"{type(error).__name__}: {error}".strip()[:600]
    if "meta" in str(error).lower() and isinstance(error, RuntimeError | NotImplementedError):
        return Status.REJECTED, f"{where}the host code depends on values, which a launch plan cannot hold ({text})"
    return Status.RUNTIME_ERROR, f"{where}{text}"
