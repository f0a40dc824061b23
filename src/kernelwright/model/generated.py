"""Code that torch.compile generates for a reference."""

from __future__ import annotations

from typing import Literal

from kernelwright.model.base import Record
from kernelwright.model.problem import TensorSpec


class Sizes(Record, frozen=True, kw_only=True):
    """The sizes of a capture as expressions of the host code.

    values: by name, at the captured size. shapes: of each argument. reads: names that are computed from shapes, each
    with its expression and what has to be true for it. conditions: what has to be true of the sizes; least: the
    smallest values of names. floats: an expression for each number in the kernels that is computed from sizes.
    """

    values: dict[str, int]
    shapes: tuple[tuple[str, ...], ...]
    reads: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    conditions: tuple[str, ...] = ()
    least: dict[str, int] = {}
    floats: dict[str, str] = {}


class View(Record, frozen=True, kw_only=True, tag="view"):
    """A tensor by name, or a window on it. shape: None for the tensor as it is. offset: in elements from where the
    tensor begins. item: the place among the results of a library call. dtype: such as "torch.int32"; "" for the
    tensor's."""

    tensor: str
    shape: tuple[str, ...] | None = None
    stride: tuple[str, ...] = ()
    offset: str = "0"
    item: tuple[int, ...] = ()
    dtype: str = ""


class Items(Record, frozen=True, kw_only=True, tag="items"):
    """A list among the arguments of a library call."""

    items: tuple[View | Items | str, ...]


class Allocation(Record, frozen=True, kw_only=True, tag="allocation"):
    """A new tensor. stride: None for a contiguous one."""

    name: str
    shape: tuple[str, ...]
    stride: tuple[str, ...] | None
    dtype: str


class Alias(Record, frozen=True, kw_only=True, tag="alias"):
    """Another name of a view. shape: None for as many elements as the viewed tensor has."""

    name: str
    view: View
    shape: tuple[str, ...] | None = None


class Zeros(Record, frozen=True, kw_only=True, tag="zeros"):
    """A fill of a tensor with zeros."""

    tensor: str


class Launch(Record, frozen=True, kw_only=True, tag="launch"):
    """A launch of a kernel. arguments: names of tensors, then sizes. grid: of a template, by its names of blocks."""

    kernel: str
    arguments: tuple[str, ...]
    grid: tuple[str, ...] = ()


class LibraryCall(Record, frozen=True, kw_only=True, tag="library"):
    """A call of an operator of PyTorch, such as "mm.default".

    function: its name in host code. arguments, named: a text is a size or a literal. result: the name of what it
    returns; "" where it writes to `out`, which has its shape, or where the result is copied to `copied`. shape: of one
    result that is a tensor. fault: why it can be no library step; "" if it can.
    """

    operator: str
    function: str
    arguments: tuple[View | Items | str, ...]
    named: dict[str, View | Items | str] = {}
    result: str = ""
    out: View | None = None
    copied: View | None = None
    shape: tuple[str, ...] | None = None
    fault: str = ""


class Structure(Record, frozen=True, kw_only=True):
    """Functions of a candidate that compute a part of a reference.

    function: the name of the host function, with which all other names begin. source: their text. config: of the
    module's tunables, whose names begin with that name in capitals. shape: of the result: for each side the sides of
    arguments whose product it is, each as the places of a tensor and of its side; a number after the tensors is a side
    itself. dtype: of the result; "" for that of the tensor at the place `like`. idea: the algorithm in a sentence, for
    prompts.
    """

    function: str
    source: str
    config: dict[str, int]
    shape: tuple[tuple[tuple[int, int], ...], ...]
    like: int
    dtype: str = ""
    idea: str


class StructureCall(Record, frozen=True, kw_only=True, tag="structure"):
    """A call of a structure's host function, with tensors and then numbers."""

    structure: Structure
    tensors: tuple[View, ...]
    numbers: tuple[str, ...]
    result: str


class Unknown(Record, frozen=True, kw_only=True, tag="unknown"):
    """A line of Inductor's host code that is none of these. text: what it is, for a message."""

    text: str


Step = Allocation | Alias | Zeros | Launch | LibraryCall | StructureCall | Unknown


class Tiles(Record, frozen=True, kw_only=True):
    """The matrix that a template makes tile by tile for one group, at the captured size. depth: the number of products
    in an element. channels: under one element of the window, of a convolution whose steps each are there. in_registers:
    whether tensor cores of the GPU read both factors from registers."""

    rows: int
    columns: int
    depth: int
    is_product: bool = True
    channels: int | None = None
    in_registers: bool = False


class TritonKernel(Record, frozen=True, kw_only=True):
    """A generated kernel. operations: the fused operators, such as "aten.relu". grid: Inductor's name of its kind.
    configs: the blocks, num_warps and num_stages of each config that Inductor would time, a likely one first. tiles: of
    a template."""

    name: str
    source: str
    operations: tuple[str, ...]
    grid: str
    configs: tuple[dict[str, int], ...] = ()
    tiles: Tiles | None = None


class Capture(Record, frozen=True, kw_only=True):
    """Inductor's generated code: kernels, and the steps of the host code that launches them. Sizes are Python
    expressions of the names in `sizes`.

    names, tensors: the arguments of the host code, in order: forward's tensors, then parameters and buffers by their
    names in the module. is_one_operator: whether forward is a single operator of PyTorch, beside views. sizes: None
    where all sizes are numbers. returned: for each output of forward the changed input that it is, "" for those that
    the host code returns. matched: the structures that match parts of forward. backward: of a problem that states
    GRADIENTS. saved: names of the tensors that the host code returns last, for `backward`. pairs: which arguments are
    complex: the steps read them as real tensors, real and imaginary parts along one side more. pairs_made: the places
    of outputs that are such tensors. numbers: those that differ between cases and are no tensors, of forward's inputs
    and of the constructor's arguments (`levels[0]`): an expression of `sizes`, or else the literal that is served.
    """

    kernels: tuple[TritonKernel, ...]
    steps: tuple[Step, ...]
    outputs: tuple[View, ...]
    names: tuple[str, ...]
    tensors: tuple[TensorSpec, ...]
    is_one_operator: bool = False
    sizes: Sizes | None = None
    matched: tuple[str, ...] = ()
    backward: Capture | None = None
    saved: tuple[str, ...] = ()
    returned: tuple[str, ...] = ()
    pairs: tuple[str, ...] = ()
    pairs_made: tuple[int, ...] = ()
    numbers: dict[str, str] = {}

    @property
    def parts(self) -> tuple[Capture, ...]:
        """The capture, and that of the backward."""
        return (self,) if self.backward is None else (self, self.backward)

    @property
    def structures(self) -> tuple[StructureCall, ...]:
        return tuple(one for one in self.steps if isinstance(one, StructureCall))

    @property
    def library_calls(self) -> tuple[LibraryCall, ...]:
        return tuple(one for one in self.steps if isinstance(one, LibraryCall))


class Generated(Record, frozen=True, kw_only=True):
    """Captures of one problem, the first of a timed case: with symbols in place of sizes where that is possible, else
    with constants. One candidate has them all: each next one is of a case with other numbers than those before serve.

    structures: the same with structures for the parts that they match, and with templates where the problem allows no
    library steps. templates: the same with Triton templates for products and convolutions, if `captures` call a library
    besides kernels. rows: the same with rows that are reduced in one piece, if `captures` loop over them. inputs:
    forward's arguments in order (of nested ones the leaves), each with None for a tensor, else the Python literal of
    its value. mutates: those that are changed in place. arguments, returns: how arguments and outputs are nested
    (`worker.plan.structure`), "" if they are not. precision: of float32 products. torch: its version, "" if it is not
    known. reason: why nothing was generated, or not at all sizes, or no templates or rows; empty if nothing
    failed.
    """

    captures: tuple[Capture, ...] = ()
    structures: tuple[Capture, ...] = ()
    templates: tuple[Capture, ...] = ()
    rows: tuple[Capture, ...] = ()
    inputs: tuple[tuple[str, str | None], ...] = ()
    mutates: tuple[str, ...] = ()
    arguments: str = ""
    returns: str = ""
    precision: Literal["ieee", "tf32"] = "ieee"
    torch: str = ""
    reason: str = ""
