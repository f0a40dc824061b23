"""What an operator computes of each element, as text of Triton.

The text is Inductor's own: its decompositions and lowerings say what an operator computes, its code generator how
Triton says so. So every elementwise operator that Inductor compiles can stand before, after and between products.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import SymInt, Tensor
from torch._inductor.codegen.triton import TritonOverrides
from torch._inductor.decomposition import select_decomp_table
from torch._inductor.graph import GraphLowering
from torch._inductor.ir import Pointwise, TensorBox
from torch._inductor.lowering import lowerings
from torch._inductor.ops_handler import DefaultHandler
from torch._inductor.virtualized import OpsValue, V
from torch._ops import OpOverload
from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensorMode
from torch.fx import Graph, GraphModule, Node
from torch.fx.experimental.proxy_tensor import make_fx

from kernelwright.inductor.faults import UnknownText
from kernelwright.inductor.kernels import in_triton
from kernelwright.worker.structures.arguments import NotWritten

FLOATS = (torch.float16, torch.bfloat16, torch.float32)
"""In a kernel all of them are of float32."""

INTEGERS = (torch.bool, torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64)

TEXTS = {
    "where": "tl.where({}, {}, {})", "relu": "tl.where({0} < 0, 0.0, {0})", "tanh": "libdevice.tanh({})",
    "reciprocal": "1.0 / {}", "logical_not": "{} == 0", "pow": "libdevice.pow({}, {})", "isnan": "{0} != {0}",
    "isinf": 'tl.abs({}) == float("inf")',
    **{name: f"tl.{name}({{}}, {{}}, propagate_nan=tl.PropagateNan.ALL)" for name in ("maximum", "minimum")},
}  # fmt: skip
"""In place of Inductor's texts that need its own functions, or a kernel around them."""


GPU = torch.device("cuda", 0)
"""Inductor computes some operators otherwise on a CPU. No GPU is asked for anything."""

LENGTH = 3
"""Of the tensors that stand for operands: more than 1, so that no operator on whole tensors does nothing."""


def is_elementwise(node: Node) -> bool:
    """Whether an operator computes each element of its result from one of each operand, and can be written."""
    try:
        return bool(element(node, lambda one: one.name))
    except NotWritten:
        return False


def element(node: Node, word: Callable[[Node], str]) -> str:
    """The text of an element of an elementwise operator's result. word: the text of an operand's element, or of a size.

    Raises: NotWritten, also where Inductor computes it in another way, or Triton's language has no text for it.
    """
    if not isinstance(node.target, OpOverload) or node.target._schema.is_mutable:
        raise NotWritten(node)
    operands = {one: _operand(place, one.meta["val"]) for place, one in enumerate(node.all_input_nodes)}
    args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), operands.__getitem__)
    if not (text := _known(node.target, args, tuple(kwargs.items()))):
        raise NotWritten(node)
    words = {name: word(one) for one, (name, *_) in operands.items()}
    return re.sub(r"operand_\d+", lambda found: words[found[0]], text)


class _Operand(NamedTuple):
    """dim: 1 for a tensor with sides, 0 for one of a number and for a size: the dtype of the result depends on it."""

    name: str
    dtype: torch.dtype
    is_number: bool
    dim: int


def _operand(place: int, value: Any) -> _Operand:
    if isinstance(value, Tensor):
        return _Operand(f"operand_{place}", value.dtype, False, min(value.dim(), 1))
    return _Operand(f"operand_{place}", torch.int64 if isinstance(value, SymInt) else torch.float64, True, 0)


@cache
def _known(*operator: Any) -> str:
    """`_text`; "" where it raises `NotWritten`, so that graphs of many operators ask once for each."""
    try:
        return _text(*operator)
    except NotWritten:
        return ""


def _text(target: OpOverload, args: tuple[Any, ...], kwargs: tuple[tuple[str, Any], ...]) -> str:
    operands = sorted({one for one in (*args, *dict(kwargs).values()) if isinstance(one, _Operand)})

    def call(*tensors: Tensor) -> Any:
        given = dict(zip(operands, tensors, strict=True))
        return target(*(given.get(one, one) for one in args), **{name: given.get(one, one) for name, one in kwargs})

    with FakeTensorMode() as fake, V.set_fake_mode(fake), V.set_graph_handler(_no_graph()), V.set_ops_handler(_Text()):
        graph = _steps(target, call, operands)
        known: dict[Any, Any] = dict(zip(graph.find_nodes(op="placeholder"), map(_given, operands), strict=True))
        try:
            for node in (one for one in graph.nodes if one.op == "call_function"):
                rest, named = torch.fx.node.map_arg((node.args, node.kwargs), known.__getitem__)
                known[node] = lowerings[node.target](*rest, **named)
            made = known[graph.output_node().args[0]].data.data
            if not isinstance(made, Pointwise):  # Inductor calls a function of PyTorch
                raise NotWritten(target)
            return in_triton(str(made.inner_fn([0] * len(made.ranges)).value))
        except (UnknownText, KeyError) as error:
            raise NotWritten(target) from error


def _steps(target: OpOverload, call: Callable[..., Any], operands: Sequence[_Operand]) -> Graph:
    """The elementwise operators that Inductor makes of one."""
    table, is_one = select_decomp_table(), torch.Tag.pointwise in target.tags
    if not is_one and operands and target not in table:
        raise NotWritten(target)
    try:
        graph = make_fx(call, table)(*(torch.empty([LENGTH] * one.dim, dtype=one.dtype) for one in operands)).graph
    except Exception as error:
        is_given = not any(one.is_number for one in operands)
        if is_one and is_given and not isinstance(error, DataDependentOutputException):
            raise
        raise NotWritten(target) from error  # on whole tensors of other shapes, or with a size where a number is due
    made = [one for one in graph.nodes if one.op == "call_function"]
    if not all(torch.Tag.pointwise in one.target.tags or not one.all_input_nodes for one in made):
        raise NotWritten(target)
    return graph


def _given(operand: _Operand) -> Any:
    """An operand for Inductor, of which only an element is read."""
    word = _Number(operand.name) if operand.is_number else operand.name
    return TensorBox.create(Pointwise(device=GPU, dtype=operand.dtype, ranges=[LENGTH] * operand.dim,
                                      inner_fn=lambda index: OpsValue(word)))  # fmt: skip


@cache
def _no_graph() -> GraphLowering:
    """Lowerings ask a graph for sizes and options, and its device."""
    empty = Graph()
    empty.output(())
    graph = GraphLowering(GraphModule({}, empty))
    graph.current_device = GPU
    return graph


class _Number(str):
    """The text of a number of the host, which has no dtype in Triton."""


class _Text(DefaultHandler):
    """Inductor's operations on an element, as text."""

    def _default(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        words = [one.value if isinstance(one, OpsValue) else one for one in args]
        if name in TEXTS:
            text = TEXTS[name].format(*words)
        else:
            try:
                text = getattr(TritonOverrides, name)(*words, **kwargs)
                text = text.value if isinstance(text, OpsValue) else text
            except (AttributeError, NotImplementedError) as error:  # it reads the kernel around it
                raise NotWritten(name) from error
        if any(f"{word}.dtype" in text for word in words if isinstance(word, _Number)):
            raise NotWritten(name)
        return (_Number if all(isinstance(one, _Number) for one in words) else str)(f"({text})")

    def constant(self, value: Any, dtype: torch.dtype) -> str:
        return _Number(number_text(float(value) if dtype.is_floating_point else int(value)))

    def to_dtype(self, word: str, dtype: torch.dtype, src_dtype: Any = None, use_compute_types: bool = True) -> str:
        if isinstance(word, _Number) or (dtype in FLOATS and src_dtype in FLOATS):
            return word
        return f"{word}.to({triton_dtype(dtype)})"


def number_text(value: Any) -> str:
    """Raises: NotWritten, for what is no number."""
    if not isinstance(value, bool | int | float):
        raise NotWritten(value)
    return repr(value) if math.isfinite(value) else f'float("{value}")'


def triton_dtype(dtype: torch.dtype) -> str:
    """The dtype of an element in a kernel."""
    if dtype not in (*FLOATS, *INTEGERS):
        raise NotWritten(dtype)
    name = "float32" if dtype in FLOATS else {torch.bool: "int1"}.get(dtype, str(dtype).removeprefix("torch."))
    return f"tl.{name}"
