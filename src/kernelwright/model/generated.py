"""Code that torch.compile generates for a reference."""

from __future__ import annotations

from typing import Literal

from kernelwright.model.base import Record
from kernelwright.model.problem import TensorSpec


class Sizes(Record, frozen=True, kw_only=True):
    """The sizes of a capture as expressions of the host code.

    names: an expression for each symbol in the text. values: by name, at the captured size. shapes: of each
    argument. reads: symbols that are computed from shapes, each as name, expression and what has to be true for it.
    conditions: what has to be true of the sizes; least: the smallest values of names. floats: an expression for each
    number in the text that is computed from sizes.
    """

    names: dict[str, str]
    values: dict[str, int]
    shapes: tuple[tuple[str, ...], ...]
    reads: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    conditions: tuple[str, ...] = ()
    least: dict[str, int] = {}
    floats: dict[str, str] = {}


class Capture(Record, frozen=True, kw_only=True):
    """Inductor's generated code.

    names, tensors: the arguments of its function, in order: forward's tensors, then parameters and buffers by their
    names in the module. is_one_operator: whether forward is a single operator of PyTorch, beside views. configs: by
    Inductor's name of a kernel, the blocks, num_warps and num_stages of each config that Inductor would time, a likely
    one first. sizes: None where all sizes are numbers. returned: for each output of forward the changed input that it
    is, "" for those that the function returns. backward: of a problem that states GRADIENTS. saved: names of the
    tensors that the function returns last, for `backward`.
    """

    text: str
    names: tuple[str, ...]
    tensors: tuple[TensorSpec, ...]
    configs: dict[str, tuple[dict[str, int], ...]]
    is_one_operator: bool = False
    sizes: Sizes | None = None
    backward: Capture | None = None
    saved: tuple[str, ...] = ()
    returned: tuple[str, ...] = ()

    @property
    def parts(self) -> tuple[Capture, ...]:
        """The capture, and that of the backward."""
        return (self,) if self.backward is None else (self, self.backward)


class Generated(Record, frozen=True, kw_only=True):
    """Captures of one problem, with symbols in place of sizes where that is possible, and last at those of the timed
    case; empty if nothing was generated.

    templates: the same with Triton templates for products and convolutions, if `captures` call a library besides
    kernels. rows: the same with rows that are reduced in one piece, if `captures` loop over them. inputs: forward's
    arguments in order (of nested ones the leaves), each with None for a tensor, else the Python literal of its value.
    mutates: those that are changed in place. arguments, returns: how arguments and outputs are nested
    (`worker.plan.structure`), "" if they are not. precision: of float32 products. is_only_case: whether the problem
    states no other case than the timed one, so that a kernel may serve its sizes only. reason: why nothing was
    generated, or not at all sizes, or no templates or rows; empty if nothing failed.
    """

    captures: tuple[Capture, ...] = ()
    templates: tuple[Capture, ...] = ()
    rows: tuple[Capture, ...] = ()
    inputs: tuple[tuple[str, str | None], ...] = ()
    mutates: tuple[str, ...] = ()
    arguments: str = ""
    returns: str = ""
    precision: Literal["ieee", "tf32"] = "ieee"
    torch: str = ""
    is_only_case: bool = False
    reason: str = ""
