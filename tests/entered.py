"""Problems as a worker describes them, for tests of entries: inputs, parameters and outputs by shape."""

from __future__ import annotations

from kernelwright.model import Bound, Case, CaseInfo, LibraryMode, ProblemInfo, Scalar, TensorSpec

Shape = tuple[int, ...]


def tensor(shape: Shape, dtype: str = "float32") -> TensorSpec:
    stride, strides = 1, list[int]()
    for size in reversed(shape):
        strides.insert(0, stride)
        stride *= size
    return TensorSpec(shape=shape, dtype=dtype, stride=tuple(strides))


def case(
    inputs: dict[str, Shape | Scalar], outputs: list[Shape], params: dict[str, Scalar] | None = None, **fields: object
) -> CaseInfo:
    """A case with float32 tensors. fields: further ones of `CaseInfo`."""
    bound = Bound(bound_us=1.0, bound_by="bytes", bytes=1, flop=0, peaks="none")
    return CaseInfo(
        case=Case(name="one", params=params or {}), bytes=1, flop=0, bound=bound, input_names=tuple(inputs),
        inputs=tuple(tensor(one) if isinstance(one, tuple) else one for one in inputs.values()),
        outputs=tuple(tensor(one) for one in outputs), **fields,  # type: ignore[arg-type]
    )  # fmt: skip


def problem(*cases: CaseInfo, gradients: bool = False, library: LibraryMode = "finish") -> ProblemInfo:
    return ProblemInfo(name="made", format="native", source="", cases=cases, gradients=gradients, library=library)
