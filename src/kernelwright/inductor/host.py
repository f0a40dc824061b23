"""The host function of a candidate: the steps of Inductor's generated `call`, with explicit grids."""

from __future__ import annotations

import ast
import copy
import math
from collections.abc import Mapping, Sequence, Set
from typing import Any

from kernelwright.inductor.faults import NotConverted, UnknownText
from kernelwright.inductor.kernels import Converted
from kernelwright.inductor.left import operator_of
from kernelwright.inductor.offsets import Reach, product
from kernelwright.inductor.parts import host_lines
from kernelwright.inductor.reading import Kernel, Module
from kernelwright.inductor.symbolic import POINTS, Holes
from kernelwright.inductor.writing import called

LIBRARY = {
    "mm": "torch.mm", "bmm": "torch.bmm", "addmm": "torch.addmm", "baddbmm": "torch.baddbmm",
    "addmv": "torch.addmv", "mv": "torch.mv", "dot": "torch.dot", "convolution": "torch.convolution",
    "sort": "torch.sort", "topk": "torch.topk", "cumsum": "torch.cumsum", "cumprod": "torch.cumprod",
}  # fmt: skip
"""Library calls of generated code by operator name, and the host code for each."""

MOST_ALONG_Y = 65535
"""Maximum programs along a grid's second axis: CUDA C++ Programming Guide 13.0, "Technical Specifications"."""


class Host:
    """Converts the steps one by one.

    renamed: the candidate's names by generated names.
    dtypes: replacements for dtypes in the code. dimensions: of the arguments, by generated name. device: expression for
    the device of new tensors. returns: how the outputs are nested, with a number for each; None: one, or a flat tuple.
    returned: for each output the changed input that it is, "" for what the steps return; () where they return all.
    """

    def __init__(
        self, module: Module, holes: Holes, renamed: Mapping[str, str], dimensions: Mapping[str, Sequence[str]],
        dtypes: Mapping[str, str], device: str, returns: Any = None, returned: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self.module, self.holes, self.found = module, holes, holes.found
        self.renamed, self.dtypes, self.device = dict(renamed), dtypes, device
        self.returns, self.returned = returns, returned
        self.lines: list[str] = []
        self.elements = {name: product(sides) for name, sides in dimensions.items()}
        """Number of elements of each tensor, by generated name; of a tensor of parts, those of one part."""
        self.elements |= {name: self._product(shape) for name, shape in module.shapes.items()}
        self.reached: list[Reach] = []
        """Offsets that kernels with 32-bit offsets need to reach."""
        self.library: list[str] = []
        """Operators of the library steps."""
        self.launches: list[tuple[int, Kernel, list[ast.expr]]] = []
        """Line, kernel and arguments of each launch. Launches are written after the kernels have names."""

    def text(self, node: ast.AST) -> str:
        return ast.unparse(_Renamed({**self.renamed, **self.found}, self.dtypes).visit(copy.deepcopy(node)))

    def convert(self, steps: Sequence[ast.stmt]) -> None:
        """Raises `NotConverted` for an unknown step."""
        self.renamed |= outputs_of(steps, {*self.renamed.values(), *self.found.values()})
        for step in steps:
            match step:
                case ast.Assign(
                    targets=[ast.Name(id=target)],
                    value=ast.Call(func=ast.Name(id="empty_strided_cuda"), args=[shape, stride, dtype]),
                ):
                    self.elements[target] = self._product(shape)
                    self.lines.append(f"{self.renamed.get(target, target)} = {self._empty(shape, stride, dtype)}")
                case ast.Assign(targets=[ast.Name(id=target)], value=value) if (said := self._view(value)) is not None:
                    self.renamed[target] = said
                    if target not in self.elements:  # the generated text states those of several results
                        self.elements[target] = self.elements_of(value)
                case ast.Expr(
                    value=ast.Call(func=ast.Attribute(value=ast.Name(id=kernel), attr="run"), args=arguments)
                ) if kernel in self.module.kernels:
                    self.launches.append((len(self.lines), self.module.kernels[kernel], arguments))
                    self.lines.append("")
                case ast.Expr(value=ast.Call() as call) if (said := self._library(call)) is not None:
                    self.lines.append(said)
                case ast.Assign(targets=[ast.Name(id=target)], value=ast.Call() as call) if (
                    said := self._library(call)
                ) is not None:
                    self.lines.append(f"{self.renamed.get(target, target)} = {said}")
                case ast.Return(value=ast.Tuple(elts=outputs)):
                    made = (self._value(one) for one in outputs)
                    values = [*(name or next(made) for name in self.returned), *made]
                    self.lines.append(f"return {_spelled(self.returns, values) if self.returns else ', '.join(values)}")
                case _:
                    first = {name: str(values[0]) for name, values in self.holes.values.items()}
                    shown = ast.unparse(_Renamed(first, {}).visit(copy.deepcopy(step)))
                    raise UnknownText(f"a step of the host code: {' '.join(shown.split())[:120]}")

    def _value(self, node: ast.expr) -> str:
        said = self._view(node)
        if said is None:
            raise NotConverted(f"an output of the host code: {ast.unparse(node)[:120]}")
        return said

    def _empty(self, shape: ast.expr, stride: ast.expr, dtype: ast.expr) -> str:
        options = f"dtype={self.text(dtype)}, device={self.device}"
        if self.is_contiguous(shape, stride):
            return f"torch.empty({self.text(shape)}, {options})"
        return f"torch.empty_strided({self.text(shape)}, {self.text(stride)}, {options})"

    def _product(self, shape: ast.expr) -> Reach:
        return product(self.text(one) for one in _elements(shape))

    def elements_of(self, tensor: ast.expr) -> Reach:
        """The number of elements of the tensor that this is the name or a view of."""
        for one in ast.walk(tensor):
            if isinstance(one, ast.Name) and one.id in self.elements:
                return self.elements[one.id]
        raise NotConverted(f"the size of {ast.unparse(tensor)[:120]} is not known")

    def tensor_of(self, view: ast.expr) -> str | None:
        """The tensor that a view begins with; None where it begins inside."""
        match ast.parse(self._argument(view), mode="eval").body:
            case ast.Name(id=tensor):
                return tensor
            case ast.Call(func=ast.Attribute(value=ast.Name(id=tensor), attr="as_strided"), args=[_, _]):
                return tensor
            case _:
                return None

    def parts_of(self, factor: ast.expr, tensor: str) -> tuple[ast.Name, list[str]]:
        """A tensor for the parts of a product's factor, and the lines that make it, see `parts`. tensor: the one that
        the factor begins with, see `tensor_of`."""
        name, elements = f"{tensor}_parts", self.elements_of(factor).text()
        self.elements[name] = self.elements_of(factor)  # a kernel's offsets begin at either part
        return ast.Name(name, ast.Load()), host_lines(tensor, name, elements, self.device)

    def _view(self, node: ast.expr) -> str | None:
        """An expression for another name or view of a tensor; None for anything else."""
        match node:
            case ast.Name(id=name) if name not in self.found:
                return self.renamed.get(name, name)
            case ast.Subscript(value=ast.Name(), slice=ast.Constant(value=int())):
                return self.text(node)
            case ast.Call(func=ast.Name(id="reinterpret_tensor"), args=[tensor, shape, stride, offset]):
                base = self._view(tensor)
                if base is None:
                    return None
                start = self.text(offset)
                return (
                    f"{base}.as_strided({self.text(shape)}, {self.text(stride)}{'' if start == '0' else f', {start}'})"
                )
            case _:
                return None

    def _library(self, call: ast.Call) -> str | None:
        """A library step; None for another call. Raises `NotConverted` for a library call that a candidate may not
        make."""
        if not (operator := operator_of(call)):
            return None
        self.library.append(f"aten.{operator}")
        if operator not in LIBRARY:
            raise NotConverted(f"it calls aten.{operator}, which is no library step")
        given = [self._argument(one) for one in call.args]
        named = {str(one.arg): self._argument(one.value) for one in call.keywords}
        if operator == "convolution":
            given = [*given, *(named[name] for name in CONVOLUTION)]
            named = {}
        return f"{LIBRARY[operator]}({', '.join([*given, *(f'{name}={one}' for name, one in named.items())])})"

    def _argument(self, node: ast.expr) -> str:
        said = self._view(node)
        return self.text(node) if said is None else said

    def is_contiguous(self, shape: ast.expr, stride: ast.expr) -> bool:
        """Whether the strides are contiguous at all sizes; sides of length 1 do not count."""
        lengths, steps = _elements(shape), _elements(stride)
        for size in range(POINTS + 1):
            at = [int(self.holes.at(one, size)) for one in lengths]
            rows = [math.prod(at[place + 1 :]) for place in range(len(at))]
            given = [self.holes.at(one, size) for one in steps]
            if any(n != 1 and s != row for n, s, row in zip(at, given, rows, strict=True)):
                return False
        return True

    def launch(
        self, kernel: Kernel, made: Converted, arguments: Sequence[ast.expr], constants: Mapping[str, str]
    ) -> str:
        """A launch with an explicit grid: extents / blocks, rounded up, along x, y and z. constants: the module's names
        of blocks, num_warps and num_stages."""
        given = [self._argument(one) for one in arguments]
        if len(given) != len(made.pointers) + len(made.extents):
            raise NotConverted(f"{kernel.name} is launched with other arguments than it has")
        extents = dict(zip(made.extents, given[len(made.pointers) :], strict=True))
        if not kernel.is_wide:
            self.reached += [product(extents.values()), *map(self.elements_of, arguments[: len(made.pointers)])]
        block = {**constants, **{name: str(value) for name, value in made.widths.items()}}
        sides = [self.text(_Renamed(block, {}).visit(copy.deepcopy(one))) for one in kernel.grid] or [
            f"triton.cdiv({extents[f'{axis}numel']}, {block[f'{axis.upper()}BLOCK']})"
            for axis in "xyz" if f"{axis}numel" in extents]  # fmt: skip
        if kernel.grid_type == "Grid2DWithYZOverflow":
            over = f"triton.cdiv({sides[1]}, {MOST_ALONG_Y})"
            sides = [sides[0], f"triton.cdiv({sides[1]}, {over})", over]
        if not sides:
            raise NotConverted(f"{kernel.name} has no extent along x")
        sizes = {name: text.format(**extents) for name, text in made.sizes.items()}
        passed = {**extents, **sizes, **{name: constants[name] for name in (*made.blocks, "num_warps", "num_stages")}}
        words = [*given[: len(made.pointers)], *(f"{name}={value}" for name, value in passed.items())]
        return called(f"{made.name}[({', '.join(sides)},)]", words, "    ")


def _spelled(structure: Any, values: Sequence[str]) -> str:
    """The nested outputs as an expression. structure: with a number for each value."""
    if isinstance(structure, dict):
        return "{" + ", ".join(f"{key!r}: {_spelled(one, values)}" for key, one in structure.items()) + "}"
    if isinstance(structure, tuple):
        return "(" + "".join(f"{_spelled(one, values)}, " for one in structure).rstrip() + ")"
    return "None" if structure is None else values[structure]


def outputs_of(steps: Sequence[ast.stmt], taken: Set[str]) -> dict[str, str]:
    """New names for tensors that are allocated, or made by a library call, and returned unchanged: out, or out_1,
    out_2, ..."""
    returned = [one.value.elts for one in steps if isinstance(one, ast.Return) and isinstance(one.value, ast.Tuple)]
    same = {one.targets[0].id: one.value.id for one in steps if isinstance(one, ast.Assign)
            and isinstance(one.targets[0], ast.Name) and isinstance(one.value, ast.Name)}  # fmt: skip
    made = {one.targets[0].id for one in steps if isinstance(one, ast.Assign)
            and isinstance(one.targets[0], ast.Name) and isinstance(one.value, ast.Call)}  # fmt: skip
    found: dict[str, str] = {}
    for elements in returned:
        for number, output in enumerate(elements, 1):
            name = output.id if isinstance(output, ast.Name) else ""
            while name in same:
                name = same[name]
            new = "out" if len(elements) == 1 else f"out_{number}"
            if name in made and name not in found and new not in taken:
                found[name] = new
    return found


CONVOLUTION = ("bias", "stride", "padding", "dilation", "transposed", "output_padding", "groups")
"""Parameters of `torch.convolution` in their order; it is called with positional arguments."""


def _elements(node: ast.expr) -> list[ast.expr]:
    if not isinstance(node, ast.Tuple):
        raise NotConverted(f"a shape that is no tuple: {ast.unparse(node)[:120]}")
    return node.elts


class _Renamed(ast.NodeTransformer):
    def __init__(self, names: Mapping[str, str], dtypes: Mapping[str, str]) -> None:
        self.names, self.dtypes = names, dtypes

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.parse(self.names.get(node.id, node.id), mode="eval").body

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        text = ast.unparse(node)
        return ast.parse(self.dtypes[text], mode="eval").body if text in self.dtypes else self.generic_visit(node)  # type: ignore[return-value]
