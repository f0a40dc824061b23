"""Capture of the code that Inductor generates for one case of a problem, as text, with a likely config for each kernel.

Everything happens on fake tensors, so a case of any size takes no memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import sympy
import torch
from torch import Tensor
from torch._dispatch.python import enable_python_dispatcher
from torch._guards import TracingContext, tracing
from torch._inductor import compile_fx, config, ir
from torch._inductor.codegen.common import BackendFeature
from torch._inductor.codegen.triton import TritonKernel, TritonScheduling
from torch._inductor.fx_passes import misc_patterns
from torch._inductor.graph import GraphLowering
from torch._inductor.runtime.hints import ReductionHint
from torch._ops import OpOverload
from torch._subclasses.fake_tensor import FakeTensorMode, unset_fake_temporarily
from torch.fx.experimental import symbolic_shapes
from torch.fx.experimental.proxy_tensor import make_fx

from kernelwright.model import Capture, Case, TensorSpec
from kernelwright.source.parameter_names import as_argument
from kernelwright.worker.generate.activations import ACTIVATIONS
from kernelwright.worker.generate.configs import listed_configs
from kernelwright.worker.generate.counting import counting_with_symbols
from kernelwright.worker.generate.depthwise import DEPTHWISE
from kernelwright.worker.generate.hints import choosing_by_hints
from kernelwright.worker.generate.joint import Part, divided
from kernelwright.worker.generate.pools import POOLS
from kernelwright.worker.generate.symbols import Symbols
from kernelwright.worker.generate.without_device import WithoutDevice, install
from kernelwright.worker.plan.structure import result_of
from kernelwright.worker.reference.instance import Instance
from kernelwright.worker.reference.load import LoadedProblem
from kernelwright.worker.reference.unmade import casting, faked

SETTINGS: dict[str, Any] = {
    "compile_threads": 1,
    "fx_graph_cache": False,
    "force_disable_caches": True,
    "layout_optimization": False,  # convolutions keep their layout
    "shape_padding": False,  # products of padded copies would have other sizes
    "comprehensive_padding": False,  # so that buffers are contiguous
    "joint_graph_constant_folding": False,  # it would compute on the device
    "triton.cooperative_reductions": False,
    "triton.mix_order_reduction": False,
}


class _Generated(BaseException):
    """Carries the generated text out of Inductor. It is no `Exception`, so that no handler in between catches it."""


def prepare() -> None:
    """Make Inductor stop when it has generated its text, and keep all masks in it. Call once per process, after
    `device.pretend`."""
    install()
    for name, value in SETTINGS.items():
        *parts, last = name.split(".")
        holder = getattr(config, parts[0]) if parts else config
        if hasattr(holder, last):  # not every version of torch has every setting
            setattr(holder, last, value)
    on_cpu, torch_device = misc_patterns._misc_patterns_init, torch.device("cpu")
    _replace(misc_patterns, "_misc_patterns_init", lambda *args, **kwargs: on_cpu(torch_device))

    def stop(graph: GraphLowering, *args: Any, **kwargs: Any) -> Any:
        code = graph.codegen()[0]
        raise _Generated(code.value if hasattr(code, "value") else str(code))

    _replace(GraphLowering, "compile_to_module", stop)
    _replace(TritonKernel, "_has_constant_mask", lambda kernel, tree: False)
    # One kernel for each tensor, and for each row of a scan: a launch with a grid of its own.
    features = [one for one in TritonScheduling.backend_features if one is not BackendFeature.FOREACH]
    _replace(TritonScheduling, "backend_features", type(TritonScheduling.backend_features)(features))
    _replace(ir.Scan, "num_splits", classmethod(lambda *args, **kwargs: (ReductionHint.DEFAULT, 1)))
    known = symbolic_shapes._maybe_evaluate_static_worker
    _replace(symbolic_shapes, "_maybe_evaluate_static_worker", lambda *args: _where_limited(known, *args))


def _where_limited(known: Any, condition: Any, symbols: Any, *others: Any) -> Any:
    """What `known` says of a condition on indices; None (not known) where an index has no limits. torch 2.13 raises
    AssertionError for it, as in a replicate padding of a view that splits dimensions (`pixel_shuffle`)."""
    return None if any(limits is None for _, limits, *_ in symbols) else known(condition, symbols, *others)


def _replace(holder: Any, name: str, value: Any) -> None:
    """Replace an attribute; raises AttributeError if this version of torch does not have it."""
    getattr(holder, name)
    setattr(holder, name, value)


def capture(problem: LoadedProblem, case: Case, symbols: Symbols | None = None) -> Capture:
    """Generate the text for one case. symbols: in place of numbers of the case, so that the text serves other sizes.
    Raises `ProblemError`, and any error that Inductor raises."""
    with ExitStack() as stack:
        params: dict[str, Any] = dict(case.params)
        if symbols is not None:
            params |= symbols.numbers
            stack.enter_context(counting_with_symbols(symbols))
            stack.enter_context(choosing_by_hints(symbols))
        with faked(symbols.env if symbols is not None else None) as mode:  # whose real values a constructor may read
            instance = problem.instance(msgspec.structs.replace(case, params=params), seed=0)
        return _capture(instance, mode, symbols)


def _capture(instance: Instance, mode: FakeTensorMode, symbols: Symbols | None) -> Capture:
    """See `capture`."""
    counts: list[Any] = []
    returned: list[str] = []
    device = "cpu" if instance.joint else "cuda"
    with mode, casting(), torch.no_grad():
        held = dict([*instance.module.named_parameters(), *instance.module.named_buffers()])
        inputs = dict(zip(instance.input_names, instance.inputs, strict=True))
        given = {name: value for name, value in {**inputs, **held}.items() if isinstance(value, Tensor)}
        tensors = {name: _on_device(tensor, device) for name, tensor in given.items()}
        if symbols is not None:
            symbols.keep_untold(tensors)
            symbols.settle(instance.module)

        def forward(*values: Any) -> list[Tensor]:
            passed = dict(zip(tensors, values, strict=True))
            called = replace(instance, inputs=tuple(passed.get(name, one) for name, one in inputs.items()))
            made = _called(called, {name: passed[name] for name in held}, device)
            result_of(made, leaves := list[Tensor]())
            changed = {id(passed[name]): name for name in instance.mutates}
            returned[:] = [changed.get(id(one), "") for one in leaves]
            return [one for one, name in zip(leaves, returned, strict=True) if not name]

        with enable_python_dispatcher() if symbols is not None else nullcontext():
            if symbols is not None:
                # finds the sizes that are symbols of their own, before they become arguments
                forward(*tensors.values())
                counts = symbols.symints
            if instance.joint:
                first, after = divided(
                    forward, counts, tensors, instance.input_names[-instance.joint :], len(instance.gradients_of)
                )
                done = [_lowered(first, counts, mode, symbols)]
                done += [_lowered(after(done[0].results), counts, mode, symbols)]
            else:
                done = [_lowered(Part(forward, tensors), counts, mode, symbols)]
    taken = frozenset(map(as_argument, {**inputs, **held}))
    made, *backward = [_captured(one, symbols, taken) for one in done]
    return msgspec.structs.replace(
        made, backward=backward[0] if backward else None, returned=tuple(returned if any(returned) else ())
    )


@dataclass(frozen=True)
class _Lowered:
    """A part with Inductor's text for it. floats: see `Symbols.mark_floats`. results: fake tensors."""

    part: Part
    text: str
    is_one_operator: bool
    results: list[Tensor]
    floats: Mapping[float, sympy.Expr]


def _lowered(part: Part, counts: Sequence[Any], mode: FakeTensorMode, symbols: Symbols | None) -> _Lowered:
    given = [*counts, *part.tensors.values()]
    call = lambda *values: tuple(part.call(*values[len(counts) :]))  # noqa: E731
    graph = make_fx(call, {**ACTIVATIONS, **POOLS, **DEPTHWISE})(*given)
    graph.graph.eliminate_dead_code()
    floats = symbols.mark_floats(graph) if symbols is not None else {}
    called = [one for one in graph.graph.nodes if isinstance(one.target, OpOverload) and not one.target.is_view
              and isinstance(one.meta.get("val"), Tensor)]  # fmt: skip
    returned: Any = graph.graph.output_node().args[0]
    try:
        with unset_fake_temporarily(), tracing(TracingContext(mode)):
            compile_fx.compile_fx(graph, given)
    except _Generated as generated:
        return _Lowered(part, str(generated), len(called) == 1, [one.meta["val"] for one in returned], floats)
    raise RuntimeError("Inductor generated nothing")


def _captured(done: _Lowered, symbols: Symbols | None, taken: frozenset[str]) -> Capture:
    """taken: names of the host code."""
    sized = (lambda one: symbols.hint(symbols.of(one))) if symbols is not None else int
    tensors = done.part.tensors
    return Capture(
        text=done.text,
        names=tuple(tensors),
        tensors=tuple(
            TensorSpec(
                shape=tuple(map(sized, t.shape)),
                dtype=str(t.dtype).removeprefix("torch."),
                stride=tuple(map(sized, t.stride())),
            )
            for t in tensors.values()
        ),
        configs=listed_configs(done.text),
        is_one_operator=done.is_one_operator,
        sizes=symbols.told(done.text, tensors, taken, done.floats) if symbols is not None else None,
        saved=done.part.saved,
    )


def _on_device(tensor: Tensor, device: str) -> Tensor:
    """A tensor for a kernel's argument. One that is not dense is contiguous there, because host code copies it."""
    expected, stride = 1, tensor.stride()
    for step, size in sorted(zip(stride, tensor.shape, strict=True)):
        if size != 1 and step != expected:
            return torch.empty(tensor.shape, dtype=tensor.dtype, device=device)
        expected *= size
    return torch.empty_strided(tensor.shape, stride, dtype=tensor.dtype, device=device)


def _called(instance: Instance, held: dict[str, Tensor], device: str) -> Any:
    args, named = instance.called()
    with torch.device(device), WithoutDevice():
        return torch.func.functional_call(instance.module, held, tuple(args), named)
