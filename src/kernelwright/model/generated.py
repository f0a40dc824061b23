"""Code that torch.compile generates for a reference."""

from __future__ import annotations

from typing import Literal

from kernelwright.model.base import Record
from kernelwright.model.problem import TensorSpec


class Split(Record, frozen=True, kw_only=True):
    """A reduction in parts, whose results a second reduction combines. length: number of elements. count: of the parts.
    chosen: number of parts that Inductor chose at the first size."""

    length: int
    count: int
    chosen: int


class Capture(Record, frozen=True, kw_only=True):
    """Inductor's generated code at one size.

    names, tensors: the arguments of its function, in order: forward's tensors, then parameters and buffers by their
    names in the module. outputs: the shapes of its results. is_one_operator: whether forward is a single operator of
    PyTorch, beside views. numbers: the integers of the problem file. configs: by Inductor's name of a kernel, the
    blocks, num_warps and num_stages of each config that Inductor would time, a likely one first. splits: reductions in
    parts, in the order in which Inductor asked.
    """

    text: str
    names: tuple[str, ...]
    tensors: tuple[TensorSpec, ...]
    numbers: dict[str, int]
    configs: dict[str, tuple[dict[str, int], ...]]
    outputs: tuple[tuple[int, ...], ...] = ()
    is_one_operator: bool = False
    splits: tuple[Split, ...] = ()


class Generated(Record, frozen=True, kw_only=True):
    """Captures of one problem, first at the sizes of a timed case, then at others; empty if nothing was generated.

    templates: captures at the same sizes with Triton templates for products and convolutions, if `captures` call a
    library besides kernels. rows: captures at the same sizes that reduce rows in one piece, if `captures` loop over
    them. inputs: forward's arguments in order (of nested ones the leaves), each with None for a tensor, else the Python
    literal of its value. arguments, returns: how arguments and outputs are nested (`worker.plan.structure`), "" if they
    are not. precision: of float32 products. is_only_case: whether the problem states no case but that of the first
    capture, so that a kernel may serve its sizes only. reason: why nothing was generated, or not at every size, or no
    templates or rows; empty if nothing failed.
    """

    captures: tuple[Capture, ...] = ()
    templates: tuple[Capture, ...] = ()
    rows: tuple[Capture, ...] = ()
    inputs: tuple[tuple[str, str | None], ...] = ()
    arguments: str = ""
    returns: str = ""
    precision: Literal["ieee", "tf32"] = "ieee"
    torch: str = ""
    is_only_case: bool = False
    reason: str = ""
