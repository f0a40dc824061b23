"""The host function of a candidate: the steps that Inductor's host code has, with explicit grids."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence, Set
from typing import Any

import msgspec

from kernelwright.inductor.arithmetic import named, parsed
from kernelwright.inductor.faults import NotConverted, UnknownText
from kernelwright.inductor.kernels import Converted
from kernelwright.inductor.offsets import Reach, product
from kernelwright.inductor.parts import host_lines
from kernelwright.inductor.reading import Kernel
from kernelwright.inductor.structures import Structures
from kernelwright.inductor.symbolic import Sized
from kernelwright.inductor.writing import called, tuple_of
from kernelwright.model import (
    Alias,
    Allocation,
    Capture,
    Items,
    Launch,
    LibraryCall,
    Step,
    StructureCall,
    Unknown,
    View,
    Zeros,
)

MOST_ALONG_Y = 65535
"""Maximum programs along a grid's second axis: CUDA C++ Programming Guide 13.0, "Technical Specifications"."""


class Host:
    """Converts the steps one by one.

    dimensions: of the arguments, by name. dtypes: replacements for dtypes. device: expression for the device of new
    tensors. structures: of the candidate; those that are called are added. returns: how the outputs are nested, with a
    number for each; None: one, or a flat tuple. returned: for each output the changed input that it is, "" for what the
    steps make; () where they make all.
    """

    def __init__(
        self, capture: Capture, sized: Sized, dimensions: Mapping[str, Sequence[str]], dtypes: Mapping[str, str],
        device: str, structures: Structures, returns: Any = None, returned: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self.sized, self.device = sized, device
        self._said = {**dtypes, **sized.sizes.floats}
        """Replacements for dtypes and marked numbers."""
        self.lines: list[str] = []
        self.elements: dict[str, Reach | None] = {name: product(sides) for name, sides in dimensions.items()}
        """Number of elements of each tensor, None where it is not known; of a tensor of parts, those of one part."""
        self.reached: list[Reach] = []
        """Offsets that kernels with 32-bit offsets need to reach."""
        self._structures = structures
        self.library: list[str] = []
        """Operators of the library steps."""
        self.launches: list[tuple[int, Kernel, tuple[str, ...]]] = []
        """Line, kernel and arguments of each launch. Launches are written after the kernels have names."""
        self._views: dict[str, View] = {}
        self._renamed = outputs_of(capture, {*dimensions, *sized.sizes.values})
        for step in capture.steps:
            self._convert(step)
        texts = [*map(self.text, capture.outputs)]
        for place in capture.pairs_made:
            texts[place] = f"torch.view_as_complex({texts[place]})"
        made = iter(texts)
        outputs = [*(name or next(made) for name in returned), *made]
        self.lines.append(f"return {_spelled(returns, outputs) if returns else ', '.join(outputs)}")

    def _convert(self, step: Step) -> None:
        """Raises `NotConverted` for a step that a candidate cannot have."""
        match step:
            case Allocation(name=name, shape=shape, stride=stride, dtype=dtype):
                self.elements[name] = product(shape)
                options = f"dtype={self._said.get(dtype, dtype)}, device={self.device}"
                sides = tuple_of(shape) if stride is None else f"{tuple_of(shape)}, {tuple_of(stride)}"
                function = "empty" if stride is None else "empty_strided"
                self.lines.append(f"{self._renamed.get(name, name)} = torch.{function}({sides}, {options})")
            case Alias(name=name, view=view, shape=shape):
                self._views[name] = self._resolved(view)
                self.elements[name] = self.elements[view.tensor] if shape is None else product(shape)
            case Zeros(tensor=tensor):
                self.lines.append(f"{self.text(View(tensor=tensor))}.zero_()")
            case Launch():
                self.launches.append((len(self.lines), *self.sized.launched(step)))
                self.lines.append("")
            case StructureCall(structure=structure, tensors=tensors, numbers=numbers, result=result):
                self.elements[result] = None
                said = [*map(self.text, tensors), *map(self.text, numbers)]
                name = self._structures.name(structure)
                self.lines.append(called(f"{self._renamed.get(result, result)} = {name}", said, "    "))
            case LibraryCall():
                self.lines.append(self._library(step))
            case Unknown(text=text):
                raise UnknownText(f"a step of the host code: {text}")

    def _library(self, call: LibraryCall) -> str:
        self.library.append(f"aten.{call.operator.partition('.')[0]}")
        if call.fault:
            raise NotConverted(f"it calls {self.library[-1]}, which {call.fault}")
        given = dict(call.named) if call.out is None else {**call.named, "out": call.out}
        words = [*map(self.text, call.arguments), *(f"{name}={self.text(one)}" for name, one in given.items())]
        said = f"{call.function}({', '.join(words)})"
        if call.copied is not None:
            return f"{self.text(call.copied)}.copy_({said})"
        if call.result:
            self.elements[call.result] = None if call.shape is None else product(call.shape)
        return f"{self._renamed.get(call.result, call.result)} = {said}" if call.result else said

    def text(self, given: View | Items | str) -> str:
        """An argument or an output as host code."""
        if isinstance(given, str):
            return self._said.get(given, given)
        if isinstance(given, Items):
            return f"[{', '.join(map(self.text, given.items))}]"
        view = self._resolved(given)
        name = self._renamed.get(view.tensor, view.tensor) + "".join(f"[{place}]" for place in view.item)
        if view.shape is not None:
            start = "" if view.offset == "0" else f", {name}.storage_offset() + {view.offset}"
            name = f"{name}.as_strided({tuple_of(view.shape)}, {tuple_of(view.stride)}{start})"
        return f"{name}.view({self._said.get(view.dtype, view.dtype)})" if view.dtype else name

    def _resolved(self, view: View) -> View:
        """The view, of a tensor that is no alias."""
        if view.tensor not in self.elements:
            raise NotConverted(f"the host code has no tensor {view.tensor}")
        base = self._views.get(view.tensor)
        if base is None:
            return view
        if view.shape is None:
            return msgspec.structs.replace(base, item=(*base.item, *view.item), dtype=view.dtype or base.dtype)
        if base.dtype:
            raise NotConverted(f"a view of {view.tensor}, which is a view in another dtype")
        both = [one for one in (base.offset, view.offset) if one != "0"]
        return msgspec.structs.replace(view, tensor=base.tensor, item=base.item, offset=" + ".join(both) or "0")

    def elements_of(self, tensor: str) -> Reach:
        """Raises `NotConverted` where the number of elements is not known."""
        if (found := self.elements.get(tensor)) is None:
            raise NotConverted(f"the size of {tensor} is not known")
        return found

    def tensor_of(self, name: str) -> str | None:
        """The tensor that this is a name of, or of a view that begins where it does; None for other views."""
        view = self._resolved(View(tensor=name))
        return self._renamed.get(view.tensor, view.tensor) if view.offset == "0" and not view.item else None

    def parts_of(self, factor: str, tensor: str) -> tuple[str, list[str]]:
        """A tensor for the parts of a product's factor, and the lines that make it, see `parts`. tensor: the one that
        the factor begins with, see `tensor_of`."""
        name, elements = f"{tensor}_parts", self.elements_of(factor).text()
        self.elements[name] = self.elements_of(factor)  # a kernel's offsets begin at either part
        return name, host_lines(tensor, name, elements, self.device)

    def launch(self, kernel: Kernel, made: Converted, arguments: Sequence[str]) -> str:
        """A launch with an explicit grid: extents / blocks, rounded up, along x, y and z."""
        count = len(made.pointers)
        given = [self.text(View(tensor=one)) for one in arguments[:count]]
        extents = dict(zip(made.extents, arguments[count:], strict=True))
        if not kernel.is_wide:
            self.reached += [product(extents.values()), *map(self.elements_of, arguments[:count])]
        block = {**made.constants, **{name: str(value) for name, value in made.widths.items()}}
        blocks = {name: ast.Name(text, ast.Load()) for name, text in block.items()}
        sides = [ast.unparse(named(parsed(one), blocks)) for one in kernel.grid] or [
            f"triton.cdiv({extents[f'{axis}numel']}, {block[f'{axis.upper()}BLOCK']})"
            for axis in "xyz" if f"{axis}numel" in extents]  # fmt: skip
        if kernel.generated.grid == "Grid2DWithYZOverflow":
            over = f"triton.cdiv({sides[1]}, {MOST_ALONG_Y})"
            sides = [sides[0], f"triton.cdiv({sides[1]}, {over})", over]
        if not sides:
            raise NotConverted(f"{kernel.name} has no extent along x")
        sizes = {name: text.format(**extents) for name, text in made.sizes.items()}
        passed = {
            **extents,
            **sizes,
            **{name: made.constants[name] for name in (*made.blocks, "num_warps", "num_stages")},
        }
        words = [*given, *(f"{name}={value}" for name, value in passed.items())]
        return called(f"{made.name}[({', '.join(sides)},)]", words, "    ")


def _spelled(structure: Any, values: Sequence[str]) -> str:
    """The nested outputs as an expression. structure: with a number for each value."""
    if isinstance(structure, dict):
        return "{" + ", ".join(f"{key!r}: {_spelled(one, values)}" for key, one in structure.items()) + "}"
    if isinstance(structure, tuple):
        return "(" + "".join(f"{_spelled(one, values)}, " for one in structure).rstrip() + ")"
    return "None" if structure is None else values[structure]


def outputs_of(capture: Capture, taken: Set[str]) -> dict[str, str]:
    """New names for tensors that are allocated, or made by a library call, and returned unchanged: out, or out_1,
    out_2, ..."""
    same = {one.name: one.view.tensor for one in capture.steps if isinstance(one, Alias)
            and one.view == View(tensor=one.view.tensor)}  # fmt: skip
    made = {one.name for one in capture.steps if isinstance(one, Allocation)}
    made |= {one.result for one in capture.library_calls} | {one.result for one in capture.structures}
    found: dict[str, str] = {}
    for number, output in enumerate(capture.outputs, 1):
        name = output.tensor if output.shape is None else ""
        while name in same:
            name = same[name]
        new = "out" if len(capture.outputs) == 1 else f"out_{number}"
        if name in made and name not in found and new not in taken:
            found[name] = new
    return found
