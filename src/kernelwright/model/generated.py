"""What torch.compile would run in place of a reference, as text."""

from __future__ import annotations

from typing import Literal

from kernelwright.model.base import Record
from kernelwright.model.problem import TensorSpec


class Capture(Record, frozen=True, kw_only=True):
    """What Inductor generates at one size.

    names, tensors: of what its function takes, in order: forward's tensors, then parameters and buffers by the module's
    own names. numbers: the whole numbers of the problem file. configs: by Inductor's name of a kernel, the blocks,
    num_warps and num_stages that it would try first.
    """

    text: str
    names: tuple[str, ...]
    tensors: tuple[TensorSpec, ...]
    numbers: dict[str, int]
    configs: dict[str, dict[str, int]]


class Generated(Record, frozen=True, kw_only=True):
    """Captures of one problem, first at the sizes of a timed case, then at others; none, with the reason, where nothing
    was generated.

    templates: the same sizes with Triton templates in place of products and convolutions, where the captures call the
    library beside kernels. inputs: forward's arguments in order, each with None for a tensor, else the Python literal
    of its value. precision: in which products of float32 are computed.
    """

    captures: tuple[Capture, ...] = ()
    templates: tuple[Capture, ...] = ()
    inputs: tuple[tuple[str, str | None], ...] = ()
    precision: Literal["ieee", "tf32"] = "ieee"
    torch: str = ""
    reason: str = ""
