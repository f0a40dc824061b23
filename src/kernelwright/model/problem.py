"""Records that describe a problem: its cases, their inputs and outputs, and the least work of each.

They are all that the coordinator knows: only the worker imports the problem's file.
"""

from __future__ import annotations

import math
from typing import Any, Literal

from kernelwright.model.base import LibraryMode, Record, Scalar

WhichCases = Literal["stated", "kept", "derived"]
"""Which cases a problem is loaded with. "stated": only stated cases. "kept": all cases in its files, also derived ones
that its sidecar has. "derived": these, and newly derived ones if small or held-out cases are missing."""


class Loading(Record, frozen=True, kw_only=True):
    """How a problem is loaded.

    dtype: that every case is cast to (torch's name); None: its own. cases: names of the cases to score, () for all;
    small and held-out cases stay. library: which library steps candidates may contain, in place of the mode that the
    problem states; None: that mode. narrow: leave out small and held-out cases with wider elements than the cases to
    score, for a config that is chosen for the scored cases only. unqualified: go on even if trivial answers solve the
    problem.
    """

    dtype: str | None = None
    cases: tuple[str, ...] = ()
    library: LibraryMode | None = None
    which: WhichCases = "kept"
    narrow: bool = False
    unqualified: bool = False


AS_KEPT = Loading()
"""All cases in the problem's files, and nothing else than it states."""

OperatorKind = Literal["copy", "pointwise", "vector product", "product", "other"]
"""What an operator does. copy: moves or views elements. pointwise: computes each output element from the input elements
at the same position. product: sums products, such as a matrix product or a convolution. vector product: a product with
a vector, or a depthwise convolution. other: for example sums."""


FOR_INTERPRETER = "float32"
"""The dtype of small cases in place of bfloat16 without a GPU: Triton's CPU interpreter computes bfloat16 wrongly."""


def titled(name: str, dtype: str | None) -> str:
    """The name of a problem or a case for people: "softmax", or "softmax in bfloat16" where its tensors are cast."""
    return name if dtype is None else f"{name} in {dtype}"


class Case(Record, frozen=True, kw_only=True):
    """One concrete size of a problem.

    name: unique within the problem. params: arguments of the problem's functions by name, or module constants that they
    override. dtype: torch's name ("bfloat16"); None: the problem's dtype. held_out: used only for the confirmation.
    small: verified first, never timed; the CPU interpreter runs only small cases. derived: made by kernelwright, not
    stated in the file.
    """

    name: str
    params: dict[str, Scalar] = {}
    dtype: str | None = None
    held_out: bool = False
    small: bool = False
    derived: bool = False

    @property
    def timed(self) -> bool:
        """Whether a search scores this case."""
        return not (self.small or self.held_out)


class TensorSpec(Record, frozen=True, kw_only=True):
    """Shape, dtype and strides (in elements) of a tensor, without its values. offset: position of its first element in
    its storage, in elements."""

    shape: tuple[int, ...]
    dtype: str
    stride: tuple[int, ...]
    offset: int = 0


def bits(dtype: str) -> int:
    """The number of bits in torch's name of a dtype: 8 for "float8_e4m3fn"; 0 for a name without a number (bool)."""
    return int("".join(letter for letter in dtype.partition("_")[0] if letter.isdigit()) or 0)


def dense_stride(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a dense, row-major tensor."""
    return tuple(math.prod(max(size, 1) for size in shape[place + 1 :]) for place in range(len(shape)))


class Bound(Record, frozen=True, kw_only=True):
    """The roofline bound: the time that no kernel can beat on this device for this work, and the limit that sets it."""

    bound_us: float
    bound_by: Literal["bytes", "flop"]
    bytes: int
    flop: int
    peaks: str
    """Where the peaks come from: "measured <device> <date>" or "datasheet <target>"."""
    bytes_per_s: float | None = None
    flop_per_s: float | None = None
    """`bytes_per_s` and `flop_per_s` are the peaks behind the bound: of memory for this mix of reads and writes, and of
    arithmetic in these dtypes. None if there is no such work."""
    stated: tuple[Literal["bytes", "flop"], ...] = ()
    """Which of the two the problem's `work()` states; the rest is derived from its forward."""
    stated_us: float = 0.0
    """The bound from the stated figures alone; 0 if none is stated."""
    written_bytes: int = 0
    """The part of `bytes` that is written."""
    flop_by_dtype: dict[str, int] = {}
    """`flop` by the dtype of the operands."""


class TensorRead(Record, frozen=True, kw_only=True):
    """How much a forward has to read of one input, parameter or buffer. of_bytes: size of the whole tensor.

    rows: number of entries of the first dimension that are at least partly read; None if the tensor is read completely
    or not at all.
    """

    name: str
    """ "input x", "parameter weight" or "buffer cache"."""
    bytes: int
    of_bytes: int
    rows: int | None


class CaseFacts(Record, frozen=True, kw_only=True):
    """A case with its inputs and outputs, and the least work that it requires."""

    case: Case
    inputs: tuple[TensorSpec | Scalar | None, ...]
    """In the order of forward's arguments; a None in it is the argument value None."""
    outputs: tuple[TensorSpec, ...]
    bytes: int
    flop: int
    input_names: tuple[str, ...] = ()
    """Names of forward's arguments."""
    parameters: dict[str, TensorSpec] = {}
    """The reference module's parameters and buffers."""
    init: tuple[Any, ...] = ()
    """The constructor arguments of Model, as plain data; a tensor as the fields of its `TensorSpec`."""
    init_names: tuple[str, ...] = ()
    reads: tuple[TensorRead, ...] = ()
    """Derived reads of each input, parameter and buffer, even if `work()` states bytes."""
    assumed: tuple[str, ...] = ()
    """Assumptions behind the derived reads."""
    mutates: tuple[str, ...] = ()
    """The inputs that forward changes in place; they are the last of `outputs`."""
    arguments: str = ""
    """How inputs are nested in forward's arguments: a Python dict with the index of each input; "" if not nested."""
    keywords: tuple[str, ...] = ()
    """The arguments that forward takes by name only."""
    returns: str = ""
    """How outputs are nested in forward's return value, in the same form."""
    lies_in: tuple[str, ...] = ()
    """For each output before the changed inputs: the changed input whose memory it shares, "" for separate memory."""
    reads_changed: bool = False
    """Whether forward reads inputs that it changes, so that a call depends on the previous one."""
    gradients_of: tuple[str, ...] = ()
    """The inputs and parameters whose gradients are the last outputs, if the problem states GRADIENTS."""

    @property
    def restored(self) -> tuple[str, ...]:
        """The inputs whose values are restored before each timed call."""
        return self.mutates if self.reads_changed else ()


class CaseInfo(CaseFacts, frozen=True, kw_only=True):
    """A case with its roofline bound on one device."""

    bound: Bound


class StatedBySet(Record, frozen=True, kw_only=True):
    """Statements of a problem set about its problem. Reports show them; they affect no result.

    set: the set's name. name: the problem's name in the set. facts: texts by their kind. cases: by case, the workload's
    id and the set's tolerance.
    """

    set: str
    name: str
    facts: dict[str, str]
    cases: dict[str, dict[str, Scalar]] = {}


class ProblemInfo(Record, frozen=True, kw_only=True):
    """Description of a problem that the worker sends to the coordinator, which never imports the problem."""

    name: str
    format: Literal["kernelbench", "native"]
    source: str
    """The problem file's text."""
    cases: tuple[CaseInfo, ...]
    parameters: dict[str, tuple[int, ...]] = {}
    """Names and shapes of the reference module's parameters and buffers (for the first case)."""
    docstring: str = ""
    left_alone: dict[str, str] = {}
    """By integer of the file that derived cases do not shrink, the reason; under "" why there are no more cases. Empty
    if no cases were derived."""
    numbers: dict[str, int] = {}
    """Every integer of the file that a case may replace, with its value in the first timed case."""
    modules: dict[str, str] = {}
    """Texts of the modules that the file imports from the folder `sources/`, by their path in it."""
    precision: Literal["ieee", "tf32"] = "ieee"
    """How the framework multiplies float32 as the baseline of a candidate."""
    layouts: Literal["dense", "any"] = "dense"
    """Whether a candidate may support dense inputs only, or must be correct for inputs with any strides."""
    gradients: bool = False
    """Whether a candidate must contain the backward pass, too."""
    stated: StatedBySet | None = None
    """Statements of the problem set; None if the problem is from no set."""
    library: LibraryMode = "none"
    """Which framework operators candidates may call."""
    is_library_stated: bool = False
    """Whether the problem or the user states that mode."""
    dtype: str | None = None
    """The dtype to which the floating-point tensors of all cases were cast; None: as the file states them."""
    operators: tuple[str, ...] = ()
    """The operators of one call on the first timed case, a line each, without text of the problem."""
    kinds: dict[str, OperatorKind] = {}
    """The kinds of these operators, by their names."""

    @property
    def title(self) -> str:
        """See `titled`; also names the other dtype of small cases, where Triton's CPU interpreter needs one."""
        others = self.dtype is not None and any(one.case.dtype == FOR_INTERPRETER != self.dtype for one in self.cases)
        return titled(self.name, self.dtype) + f" (small cases in {FOR_INTERPRETER})" * others
