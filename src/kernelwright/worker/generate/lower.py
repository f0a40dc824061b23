"""Lowering of an FX graph by Inductor to records of kernels and host code.

The graph has fake tensors of a device, and sizes that are symbols of one ShapeEnv. `capture` makes one from a problem's
file; any other source is as good.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import msgspec
import sympy
import torch
from torch import SymInt, Tensor
from torch._guards import TracingContext, detect_fake_mode, tracing
from torch._inductor import compile_fx
from torch._inductor.codegen.wrapper import PythonWrapperCodegen, SubgraphPythonWrapperCodegen
from torch._inductor.graph import GraphLowering
from torch._inductor.virtualized import V
from torch._ops import OpOverload
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.fx import GraphModule

from kernelwright.model import Capture, TensorSpec
from kernelwright.source.parameter_names import as_argument
from kernelwright.worker.generate.counting import counting_with_symbols
from kernelwright.worker.generate.hints import choosing_by_hints
from kernelwright.worker.generate.lines import Lines
from kernelwright.worker.generate.symbols import Symbols, floats_in


class _Stopped(BaseException):
    """Carries a lowered graph out of Inductor. It is no `Exception`, so that no handler in between catches it."""

    def __init__(self, graph: GraphLowering) -> None:
        self.graph = graph


def stop_at_lines() -> None:
    """Make Inductor stop where it would write its lines as text, in this process and until it ends."""
    passes = PythonWrapperCodegen.run_wrapper_ir_passes

    def stop(wrapper: PythonWrapperCodegen, *args: Any) -> None:
        passes(wrapper, *args)
        if not isinstance(wrapper, SubgraphPythonWrapperCodegen):
            raise _Stopped(V.graph)

    PythonWrapperCodegen.run_wrapper_ir_passes = stop  # type: ignore[assignment, method-assign]


@contextmanager
def with_symbols(symbols: Symbols) -> Iterator[None]:
    """Inside, PyTorch traces and Inductor lowers graphs whose sizes are these symbols."""
    if not symbols.values:
        yield
        return
    with counting_with_symbols(symbols), choosing_by_hints(symbols):
        yield


@dataclass(frozen=True)
class Lowered:
    """A graph that Inductor lowered. tensors: its arguments, by name. floats: see `Symbols.mark_floats`."""

    graph: GraphLowering
    tensors: Mapping[str, Tensor]
    floats: Mapping[float, sympy.Expr]
    is_one_operator: bool


def lower(graph: GraphModule, names: Sequence[str], symbols: Symbols) -> Lowered:
    """Lower a graph, inside of `with_symbols`. names: of the tensors among its placeholders. Raises any error that
    Inductor raises."""
    floats = symbols.mark_floats(graph)
    inputs = [node.meta["val"] for node in graph.graph.nodes if node.op == "placeholder"]
    tensors = dict(zip(names, (one for one in inputs if isinstance(one, Tensor)), strict=True))
    called = [one for one in graph.graph.nodes if isinstance(one.target, OpOverload) and not one.target.is_view
              and isinstance(one.meta.get("val"), Tensor)]  # fmt: skip
    try:
        with torch.no_grad(), unset_fake_temporarily(), tracing(TracingContext(detect_fake_mode(inputs))):
            compile_fx.compile_fx(graph, [*inputs])
    except _Stopped as stopped:
        return Lowered(stopped.graph, tensors, floats, len(called) == 1)
    raise RuntimeError("Inductor generated nothing")


def recorded(lowered: Lowered, symbols: Symbols, others: Sequence[str] = ()) -> Capture:
    """The records of a lowered graph. symbols: with what all graphs of one candidate assumed of them. others: names of
    the host code that no size may have."""
    arguments = [*map(as_argument, lowered.tensors)]
    sizes, say = symbols.told(lowered.tensors, frozenset({*arguments, *others}))
    lines = Lines(lowered.graph, say, arguments)
    floats = {text: say(found) for text, found in floats_in(lines.texts, lowered.floats)}
    return Capture(
        kernels=lines.kernels, steps=lines.steps, outputs=lines.outputs, names=tuple(lowered.tensors),
        tensors=tuple(_spec(one, symbols) for one in lowered.tensors.values()),
        is_one_operator=lowered.is_one_operator,
        sizes=msgspec.structs.replace(sizes, floats=floats) if symbols.values else None,
        numbers={text: say(one.node.expr) if isinstance(one, SymInt) else repr(one)
                 for text, one in symbols.plain.items()},
    )  # fmt: skip


def _spec(tensor: Tensor, symbols: Symbols) -> TensorSpec:
    shape, stride = (tuple(symbols.hint(symbols.of(one)) for one in sizes) for sizes in (tensor.shape, tensor.stride()))
    return TensorSpec(shape=shape, dtype=str(tensor.dtype).removeprefix("torch."), stride=stride)
