"""A problem as the coordinator knows it: its cases, what each takes and gives, and the least work it must do.

Only the worker imports the problem's file.
"""

from __future__ import annotations

from typing import Any, Literal

from kernelwright.model.base import LibraryMode, Record, Scalar

WhichCases = Literal["stated", "kept", "derived"]
"""Which cases a problem is loaded with: those that are stated; those in its files, derived ones that a sidecar keeps
too; or these and derived ones where small or held-out cases are lacking."""

OperatorKind = Literal["copy", "pointwise", "vector product", "product", "other"]
"""What an operator does to elements. copy: it only moves or views them. pointwise: each output follows from the
elements at the same place. product: it sums products, a vector product those with a vector. other: such as sums."""


class Case(Record, frozen=True, kw_only=True):
    """One concrete size of a problem.

    name: unique within the problem. params: what the problem's functions take by name (or module constants
    that they override). dtype: torch's name ("bfloat16"), None for as given. held_out: only for the
    confirmation. small: verified first, and the only ones that the CPU interpreter runs; never timed. derived: made
    from the file by kernelwright; the file does not state it.
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
    """Shape, dtype and strides (in elements) of a tensor, without its values. offset: of its first element in its
    storage, in elements."""

    shape: tuple[int, ...]
    dtype: str
    stride: tuple[int, ...]
    offset: int = 0


class Bound(Record, frozen=True, kw_only=True):
    """The time that no kernel can beat on this device for this work, and which limit sets it."""

    bound_us: float
    bound_by: Literal["bytes", "flop"]
    bytes: int
    flop: int
    peaks: str
    """Where the peaks come from: "measured <device> <date>" or "datasheet <target>"."""
    bytes_per_s: float | None = None
    flop_per_s: float | None = None
    """The two peaks that it is computed from: of memory for this mix of reads and writes, and of arithmetic in these
    dtypes. None where there is no such work, and in records of before they were kept."""
    stated: tuple[Literal["bytes", "flop"], ...] = ()
    """What the problem's `work()` states; the rest is derived from its forward."""
    stated_us: float = 0.0
    """The part of the bound that follows from what is stated alone; 0 where nothing is, and in older records."""
    written_bytes: int = 0
    """Those of `bytes` that are written."""
    flop_by_dtype: dict[str, int] = {}
    """`flop` by the dtype of the operands; empty in older records."""


class TensorRead(Record, frozen=True, kw_only=True):
    """What a forward has to read of one tensor that it is given. of_bytes: the tensor's own size.

    rows: entries of the first dimension of which something is read, None where the tensor is read whole or not at all.
    """

    name: str
    """ "input x", "parameter weight" or "buffer cache"."""
    bytes: int
    of_bytes: int
    rows: int | None = None


class CaseInfo(Record, frozen=True, kw_only=True):
    """A case with what it takes and gives, and the least work it must do."""

    case: Case
    inputs: tuple[TensorSpec | Scalar | None, ...]
    """In the order of forward's arguments; a None here is the value None."""
    outputs: tuple[TensorSpec, ...]
    bytes: int
    flop: int
    bound: Bound
    input_names: tuple[str, ...] = ()
    """forward's arguments; empty in journals of before this was kept, as are the next two."""
    parameters: dict[str, TensorSpec] = {}
    """The reference module's parameters and buffers."""
    init: tuple[Any, ...] = ()
    """What Model is constructed with, as plain data; a tensor as the fields of its `TensorSpec`."""
    init_names: tuple[str, ...] = ()
    reads: tuple[TensorRead, ...] = ()
    """What is read of each input, parameter and buffer; as derived, also where `work()` states bytes."""
    assumed: tuple[str, ...] = ()
    """What was taken for granted in deriving them."""
    mutates: tuple[str, ...] = ()
    """The inputs that forward changes in place, which are the last of `outputs`; empty in older journals."""
    arguments: str = ""
    """How inputs are nested in forward's arguments: a Python dict with the place of each; "" where they are not."""
    keywords: tuple[str, ...] = ()
    """The arguments that forward takes by name only."""
    returns: str = ""
    """How the outputs are nested in what forward returns, in the same way."""
    lies_in: tuple[str, ...] = ()
    """For each output before those the one of them that it is, "" where it has separate memory."""
    reads_changed: bool = False
    """Whether forward reads what it changes, so that a call depends on the one before it."""
    gradients_of: tuple[str, ...] = ()
    """Of which inputs and parameters the last outputs are the gradients, where the problem states GRADIENTS."""

    @property
    def restored(self) -> tuple[str, ...]:
        """The inputs that are put back before each call that is timed."""
        return self.mutates if self.reads_changed else ()


class StatedBySet(Record, frozen=True, kw_only=True):
    """What the problem set that a problem is from says of it, shown beside what is found here. It decides nothing.

    set: its name. name: the problem's there. facts: texts by their kind. cases: by case, the workload's identity and
    the set's own tolerance.
    """

    set: str
    name: str
    facts: dict[str, str] = {}
    cases: dict[str, dict[str, Scalar]] = {}


class ProblemInfo(Record, frozen=True, kw_only=True):
    """What the coordinator knows of a problem. It never imports the problem; the worker tells it."""

    name: str
    format: Literal["kernelbench", "native"]
    source: str
    """The problem file's text."""
    cases: tuple[CaseInfo, ...]
    parameters: dict[str, tuple[int, ...]] = {}
    """Names and shapes of the reference module's parameters and buffers (for the first case)."""
    docstring: str = ""
    left_alone: dict[str, str] = {}
    """Whole numbers of the file that no derived case shrinks, with the reason; under "" why there are no more cases.
    Empty where cases were not derived, and in older journals."""
    numbers: dict[str, int] = {}
    """Every whole number of the file that a case may replace, as it is in the first timed case; empty in older
    journals."""
    modules: dict[str, str] = {}
    """Texts of the modules that the file imports from `sources/` beside it, by their path there; empty in older
    journals."""
    precision: Literal["ieee", "tf32"] = "ieee"
    """How the framework multiplies float32 where it is the measure of a candidate."""
    layouts: Literal["dense", "any"] = "dense"
    """Whether a candidate may serve dense inputs only, or has to be right for inputs of any strides."""
    gradients: bool = False
    """Whether a candidate brings the backward, too."""
    stated: StatedBySet | None = None
    """What its problem set states; None where it is from none, and in older journals."""
    library: LibraryMode = "none"
    """What candidates may call of the framework; older journals allowed nothing."""
    operators: tuple[str, ...] = ()
    """The operators of one call on the first timed case, a line each, without any of the problem's text."""
    kinds: dict[str, OperatorKind] = {}
    """The kinds of these operators, by their names; empty in older journals."""
