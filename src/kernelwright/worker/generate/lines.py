"""Inductor's lines of host code as records: allocations, launches, library calls and other names of tensors.

torch 2.9 to 2.15 have these lines as dataclasses whose fields only grew. `READ` and `LEFT_OUT` name all that is known
of them; every other line becomes `Unknown`, with its text.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
import sympy
import torch
from torch._inductor import ir
from torch._inductor.graph import GraphLowering
from torch._inductor.virtualized import V
from torch._ops import OpOverload

from kernelwright import codec
from kernelwright.model import (
    Alias,
    Allocation,
    Items,
    Launch,
    LibraryCall,
    Step,
    Structure,
    StructureCall,
    Tiles,
    TritonKernel,
    Unknown,
    View,
    Zeros,
)
from kernelwright.worker.generate.configs import listed_configs
from kernelwright.worker.generate.hints import value_of
from kernelwright.worker.generate.library import spelled_as
from kernelwright.worker.generate.recurrent import OPERATORS
from kernelwright.worker.plan.schemas import fault_of, functional_of
from kernelwright.worker.structures.found import CALL

LEFT_OUT = frozenset({
    "CommentLine", "EnterDeviceContextManagerLine", "EnterDeviceContextManagerWithStreamInfoLine",
    "ExitDeviceContextManagerLine", "ExitDeviceContextManagerWithStreamInfoLine", "EnterKernelProfileScopeLine",
    "ExitKernelProfileScopeLine", "FreeIfNotReusedLine", "FreeLine", "NullLine", "SymbolicCallArgLine",
    "KernelDefinitionLine", "LineContext", "AssertSizeStrideLine", "GroupedAssertSizeStrideLine", "AssertAlignmentLine",
})  # fmt: skip
"""Lines that only concern devices, the lifetime of tensors, checks and names of sizes."""

BOOKKEEPING = re.compile(r"#|(\w+) = copy_(?:if_)?misaligned\(\1\)$|\w*stream\w* = get_raw_stream\(")
"""The beginnings of lines of text that are left out, too."""


FEW_ELEMENTS = 1 << 14
"""Up to this number, a tensor gets memory of its own: the judge leaves each kernel out in turn, and one that computes a
shift of a softmax is missed only where it leaves poison, not an earlier tensor. Memory is reused for speed only."""


class _Unread(Exception):
    """A line has a part that no record can hold; the message shows it."""


class Lines:
    """The lines of a lowered graph. say: the text of a size. names: of the tensors among the graph's inputs."""

    def __init__(self, graph: GraphLowering, say: Callable[[Any], str], names: Sequence[str]) -> None:
        self._graph, self._sizes = graph, say
        inputs = graph.graph_input_names
        self._names: Mapping[str, str] = dict(zip(inputs[len(inputs) - len(names) :], names, strict=True))
        self._grids: dict[str, str] = {}
        self._tiles: Mapping[str, Tiles] = getattr(graph, "tiles", {})
        lines: list[Any] = graph.wrapper_code.lines
        self._freed = {one.node.get_name() for one in lines if getattr(one, "is_reused", False)}
        with V.set_graph_handler(graph):
            self.steps = tuple(step for line in lines for step in self._read(line))
            self.outputs = tuple(map(self._view, graph.graph_outputs))
        self.kernels = tuple(self._kernels())

    @property
    def texts(self) -> Iterator[str]:
        """Texts in which numbers are written: of kernels, and the arguments of structures and library calls."""
        yield from (one.source for one in self.kernels)
        for one in self.steps:
            if isinstance(one, StructureCall):
                yield from one.numbers
            elif isinstance(one, LibraryCall):
                yield from (given for given in (*one.arguments, *one.named.values()) if isinstance(given, str))

    def _read(self, line: Any) -> Iterator[Step]:
        kind = type(line).__name__
        if kind in LEFT_OUT or (isinstance(line, str) and BOOKKEEPING.match(line)):
            return
        if kind == "UnbackedSymbolDefsLine" and not line.unbacked_bindings:
            return
        try:
            if kind in READ:
                yield READ[kind](self, line)
            elif isinstance(line, str) and (found := re.fullmatch(r"(\w+)\.zero_\(\)", line)):
                yield Zeros(tensor=found[1])
            else:
                raise _Unread(line if isinstance(line, str) else kind)
        except _Unread as why:
            yield Unknown(text=" ".join(str(why).split())[:120])

    def _kernels(self) -> Iterator[TritonKernel]:
        lines: list[Any] = self._graph.wrapper_code.lines
        for line in lines:
            if type(line).__name__ == "KernelDefinitionLine" and line.kernel_name in self._grids:
                made: Any = ast.parse(line.kernel_body.strip(), mode="eval")
                source = ast.literal_eval(made.body.args[1])
                operations = re.search(r"Original ATen: \[(.*)\]", line.metadata or "")
                yield TritonKernel(
                    name=line.kernel_name, source=source, grid=self._grids[line.kernel_name],
                    operations=tuple(one.strip() for one in operations[1].split(",")) if operations else (),
                    configs=listed_configs(line.kernel_name, source),
                    tiles=self._tiles.get(line.kernel_name),
                )  # fmt: skip

    def _allocation(self, line: Any) -> Step:
        if line.comm_buffer:
            raise _Unread(f"an allocation of other elements than {line.node.get_name()} has")
        return self._allocated(line.node)

    def _allocated(self, node: Any) -> Step:
        shape, stride = node.get_size(), node.get_stride()
        if list(self._graph.get_allocation_size(node)) != list(shape):
            raise _Unread(f"an allocation of other elements than {node.get_name()} has")
        rows = [sympy.prod(shape[side + 1 :]) for side in range(len(shape))]
        is_dense = all(size == 1 or sympy.expand(step - row) == 0
                       for size, step, row in zip(shape, stride, rows, strict=True))  # fmt: skip
        return Allocation(
            name=node.get_name(), shape=self._all(shape), stride=None if is_dense else self._all(stride),
            dtype=str(node.get_dtype()),
        )  # fmt: skip

    def _reused(self, line: Any) -> Step:
        old, new = line.node, line.reused_as
        if old.get_name() in self._freed and math.prod(map(value_of, new.get_size())) <= FEW_ELEMENTS:
            return self._allocated(new)
        if (old.get_size(), old.get_stride()) == (new.get_size(), new.get_stride()):
            return Alias(name=new.get_name(), view=self._named(old))
        return Alias(name=new.get_name(), view=self._window(old, new.get_size(), new.get_stride(), 0))

    def _reinterpreted(self, line: Any) -> Step:
        return Alias(name=line.reused_as.get_name(), view=self._view(line.layout.view))

    def _result(self, line: Any) -> Step:
        if any(not issubclass(kind, list | tuple) for kind, _ in line.indices):
            raise _Unread(f"a result of {line.arg_name} by name")
        node = self._graph.get_buffer(line.result_name)
        view = View(tensor=line.arg_name, item=tuple(place for _, place in line.indices))
        return Alias(name=line.result_name, view=view, shape=self._all(node.get_size()))

    def _launch(self, line: Any) -> Step:
        kind = FIXED if line.kernel_name in self._tiles else (line.inductor_meta or {}).get("grid_type")
        if not line.triton or kind is None:
            raise _Unread(f"a launch of {line.kernel_name}, which is no kernel of Inductor's")
        self._grids[line.kernel_name] = kind
        given = [self._names.get(one, one) if isinstance(one, str) else self._say(getattr(one, "inner_expr", one))
                 for one in line.call_args]  # fmt: skip
        count = len(given) - (OF_GRID if kind == FIXED else 0)
        grid = given[count:]
        while len(grid) > 1 and grid[-1] == "1":
            grid.pop()
        return Launch(kernel=line.kernel_name, arguments=tuple(given[:count]), grid=tuple(grid))

    def _call(self, line: Any) -> Step:
        node = line.node
        if isinstance(node, ir.FallbackKernel):
            args, kwargs = node.unflatten_args(node.inputs, node.constant_args)
            return self._library(node, args, {**node.kwargs, **kwargs})
        return self._library(node, [*node.inputs, *node.constant_args], node.kwargs)

    def _index_put(self, line: Any) -> Step:
        x, values, *_ = line.node.inputs
        return self._library(line.node, [x, line.indices, values, *line.node.constant_args], {})

    def _scatter(self, line: Any) -> Step:
        x, index, *source = line.node.inputs
        dim, *other = line.node.constant_args
        return self._library(line.node, [x, dim, index, *source, *other], line.node.kwargs)

    def _library(self, node: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Step:
        called = node.op_overload or getattr(torch.ops.aten, node.get_kernel_name().rpartition(".")[2]).default
        if not isinstance(called, OpOverload):
            raise _Unread(f"a call of {called}")
        if called is CALL:
            tensors, numbers, structure = args
            return StructureCall(
                structure=codec.decode(structure.encode(), Structure),
                tensors=tuple(map(self._view, tensors)), numbers=tuple(str(self._argument(one)) for one in numbers),
                result=node.get_name(),
            )  # fmt: skip
        called = OPERATORS.get(called, called)
        operator, own = functional_of(called), called._schema.arguments
        given = {**dict(zip((one.name for one in own), args, strict=False)), **kwargs}
        last = max((place for place, one in enumerate(own) if one.name in given and not one.kwarg_only), default=-1)
        placed = [given.get(one.name, one.default_value) for one in own[: last + 1]]
        named = {one.name: given[one.name] for one in own if one.kwarg_only and not one.is_out and one.name in given}
        function, layout = "", getattr(node, "layout", None)
        if not (fault := fault_of(operator)):
            function = spelled_as(operator, [*map(_meta, placed)], {name: _meta(one) for name, one in named.items()})
            fault = "" if function else "has no public function in PyTorch"
        writes = isinstance(node, ir.ExternKernelOut)
        return LibraryCall(
            operator=str(operator).removeprefix("aten."), function=function, fault=fault,
            arguments=tuple(map(self._argument, placed)),
            named={name: self._argument(one) for name, one in named.items()},
            result="" if writes or operator is not called else node.get_name(),
            out=self._view(node.output_view or node) if writes else None,
            copied=self._view(args[0]) if not writes and operator is not called else None,
            shape=self._all(layout.size) if isinstance(layout, ir.Layout) else None,
        )  # fmt: skip

    def _argument(self, value: Any) -> View | Items | str:
        match value:
            case ir.ShapeAsConstantBuffer():
                return self._say(value.expr)
            case ir.NoneAsConstantBuffer():
                return "None"
            case ir.IRNode():
                return self._view(value)
            case list() | tuple():
                return Items(items=tuple(map(self._argument, value)))
            case torch.SymInt() | torch.SymFloat():
                return self._say(value.node.expr)
            case sympy.Basic():
                return self._say(value)
            case None | bool() | int() | float() | str():
                return repr(value)
            case torch.dtype() | torch.memory_format() | torch.layout():
                return str(value)
            case _:
                raise _Unread(f"an argument of a library call: {value}")

    def _view(self, node: Any) -> View:
        window, inner = None, node
        while not isinstance(inner, ir.Buffer) and hasattr(inner, "data"):
            window = window or (inner.layout if isinstance(inner, ir.ReinterpretView) else None)
            inner = inner.data
        if not isinstance(inner, ir.Buffer) or inner.get_name() in self._graph.constants:
            raise _Unread(f"a tensor that the host code does not make: {type(inner).__name__}")
        whole = inner.get_output_spec()
        if window is None or (isinstance(whole, ir.Layout) and window == whole and not window.offset):
            return self._named(inner)
        dtype = str(window.dtype) if window.dtype != inner.get_dtype() else ""
        found = self._window(inner, window.size, window.stride, window.offset)
        return msgspec.structs.replace(found, dtype=dtype)

    def _named(self, node: Any) -> View:
        return View(tensor=self._names.get(node.get_name(), node.get_name()))

    def _window(self, node: Any, shape: Any, stride: Any, offset: Any) -> View:
        return View(
            tensor=self._named(node).tensor, shape=self._all(shape), stride=self._all(stride), offset=self._say(offset)
        )

    def _all(self, sizes: Any) -> tuple[str, ...]:
        return tuple(map(self._say, sizes))

    def _say(self, size: Any) -> str:
        return self._sizes(self._graph.sizevars.remove_precomputed_replacements(sympy.sympify(size)))


def _meta(value: Any) -> Any:
    """An argument of a library call on meta tensors, at the captured size."""
    match value:
        case ir.ShapeAsConstantBuffer():
            return value_of(value.expr)
        case ir.NoneAsConstantBuffer():
            return None
        case ir.IRNode():
            shape, stride = ([*map(value_of, sizes)] for sizes in (value.get_size(), value.get_stride()))
            return torch.empty_strided(shape, stride, dtype=value.get_dtype(), device="meta")
        case list() | tuple():
            return [*map(_meta, value)]
        case sympy.Basic():
            return value_of(value)
        case _:
            return value


FIXED, OF_GRID = "FixedGrid", 3
"""The kind of a template's grid, and the number of arguments at the end of its launch that state it."""

READ: Mapping[str, Callable[[Lines, Any], Step]] = {
    "AllocateLine": Lines._allocation, "ReuseLine": Lines._reused, "ReinterpretLine": Lines._reinterpreted,
    "MultiOutputLine": Lines._result, "KernelCallLine": Lines._launch, "ExternKernelAllocLine": Lines._call,
    "ExternKernelOutLine": Lines._call, "IndexPutFallbackLine": Lines._index_put,
    "ScatterFallbackLine": Lines._scatter,
}  # fmt: skip
