"""Records of a whole model: what its time goes into, and the problems that were written from it."""

from __future__ import annotations

from typing import Literal

from kernelwright.model.base import Record
from kernelwright.model.problem import OperatorKind

PartKind = Literal["region", "gemm", "attention", "convolution", "other"]
"""A region, or the class of a library call. other: no product, such as a sort, or a write of a part of an input."""


class LeastWork(Record, frozen=True, kw_only=True):
    """The least bytes and FLOP of a region or of a library call. remark: on what counts. kinds: of a region's
    operators, by name."""

    bytes: int
    written_bytes: int
    flop: dict[str, int] = {}
    remark: str = ""
    kinds: dict[str, OperatorKind] = {}


class PartCase(Record, frozen=True, kw_only=True):
    """A part of a model at one size. key: equal for equal computations on equal shapes and strides. shapes: of its
    inputs. places: how often one call of the model has it, by the shares of the sets of inputs. time_us: of one place,
    measured; None without a GPU."""

    key: str
    shapes: str
    places: float
    work: LeastWork
    time_us: float | None = None


class Part(Record, frozen=True, kw_only=True):
    """A region or a library call, at all sizes that the model has it. module: where most of it is, with * for numbers
    of layers. text: of its problem; None for a library call, and where `refused` says why there is none."""

    kind: PartKind
    name: str
    family: str
    operators: tuple[str, ...]
    module: str
    is_backward: bool
    cases: tuple[PartCase, ...]
    text: str | None = None
    refused: str = ""


class Baseline(Record, frozen=True, kw_only=True):
    """The model as PyTorch runs it, on one set of inputs. called_us: of one synchronised call. graph_us, graph_ci95: of
    a replay of a CUDA graph, with the 95 % interval of the median; None where none can be captured, for `reason`."""

    name: str
    inputs: str
    called_us: float
    graph_us: float | None = None
    graph_ci95: tuple[float, float] | None = None
    reason: str = ""


class ModelSurvey(Record, frozen=True, kw_only=True):
    """The parts of a script's module. sets: the shares of the model's calls, by name of the inputs. graphs: captured,
    also backward ones. baselines: empty without a GPU."""

    name: str
    is_trained: bool
    sets: dict[str, float]
    graphs: int
    parts: tuple[Part, ...]
    baselines: tuple[Baseline, ...] = ()
