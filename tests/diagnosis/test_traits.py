"""Which moves a problem has a place for, by its operators, sizes, dtypes and device."""

from __future__ import annotations

import msgspec
import pytest

from fakes import BOUND, PROBLEM
from kernelwright.diagnosis import MOVES, Trait, fitting, traits
from kernelwright.diagnosis.traits import multiplies_float32
from kernelwright.model import Case, CaseInfo, OperatorKind, ProblemInfo, TensorSpec

TENSOR_MOVES = {"use the tensor cores", "larger tensor tiles"}
GRID_MOVES = {"fill the last wave", "order for L2", "descriptors", "split the reduction"}
"""Moves of kernels that loop over tiles, or share inputs."""


def problem(
    kinds: dict[str, OperatorKind], dtype: str = "float16", columns: int = 4096, bound_us: float = 50.0, **more: object
) -> ProblemInfo:
    spec = TensorSpec(shape=(64, columns), dtype=dtype, stride=(columns, 1))
    bound = msgspec.structs.replace(BOUND, bound_us=bound_us, flop_by_dtype={dtype: 1})
    case = CaseInfo(case=Case(name="big"), inputs=(spec,), outputs=(spec,), bytes=1, flop=1, bound=bound)
    return msgspec.structs.replace(PROBLEM, cases=(case,), kinds=kinds, **more)


def names(info: ProblemInfo, target: str = "sm_90") -> set[str]:
    return {one.name for one in fitting(traits(info, target))}


MATMUL = problem({"mm": "product"}, bound_us=179.0)
SWIGLU = problem({"detach": "copy", "silu": "pointwise", "mul": "pointwise"})
SOFTMAX = problem({"_softmax": "other"})


def test_an_elementwise_problem_gets_no_move_of_products_reductions_or_tile_loops() -> None:
    found = names(SWIGLU)
    assert not found & (TENSOR_MOVES | GRID_MOVES)
    assert not found & {one.name for one in MOVES if Trait.REDUCES in one.needs}
    assert {"wider loads", "no mask inside", "more bytes in flight", "cheaper functions"} <= found
    assert "cheaper functions" not in names(problem({"add": "pointwise", "relu_": "pointwise"}))


def test_a_product_gets_the_moves_of_tiles_and_none_of_rows_and_exponentials() -> None:
    found = names(MATMUL)
    assert found >= TENSOR_MOVES | GRID_MOVES
    assert not found & {"a reference near the maximum", "fewer warps for the tile", "cheaper functions", "one launch"}


def test_a_softmax_gets_the_moves_of_rows_and_none_of_products() -> None:
    found = names(SOFTMAX)
    assert {"a reference near the maximum", "cheaper functions", "split the reduction", "one launch"} <= found
    assert not found & (TENSOR_MOVES | {"order for L2", "several outputs a program", "skip known zeros"})
    assert "a reference near the maximum" in names(problem({"exp": "pointwise", "sum": "other"}))
    assert "a reference near the maximum" not in names(problem({"exp": "pointwise"}))


def test_tensor_cores_need_a_product_of_matrices_in_a_dtype_that_they_multiply_exactly() -> None:
    assert not names(problem({"mm": "vector product"})) & TENSOR_MOVES
    exact = problem({"mm": "product"}, "float32")
    assert not names(exact) & TENSOR_MOVES
    assert names(msgspec.structs.replace(exact, precision="tf32")) >= TENSOR_MOVES


def test_windows_share_inputs_and_have_zeros() -> None:
    found = names(problem({"max_pool3d_with_indices": "other"}))
    assert {"several outputs a program", "order for L2", "skip known zeros"} <= found
    assert "cheaper functions" not in found


def test_descriptors_need_a_device_with_a_copy_engine_and_aligned_rows() -> None:
    assert "descriptors" in names(MATMUL, "sm_100")
    assert "descriptors" not in names(MATMUL, "sm_80")
    assert "descriptors" not in names(problem({"mm": "product"}, columns=4097))
    assert "descriptors" in names(problem({"mm": "product"}, "float8_e4m3fn", columns=4112))


def test_moves_against_the_cost_of_launches_need_a_short_case() -> None:
    assert "one launch" in names(problem({"mm": "product"}, bound_us=99.0))
    assert "one launch" not in names(problem({"mm": "product"}, bound_us=100.0))


def test_where_the_operators_are_not_known_nothing_is_ruled_out() -> None:
    assert traits(problem({}), "sm_90") == frozenset(Trait)
    assert fitting(traits(problem({}), "sm_80")) == MOVES
    assert multiplies_float32(problem({}, "float32"))


@pytest.mark.parametrize("trait", Trait)
def test_every_trait_decides_about_a_move(trait: Trait) -> None:
    assert [one for one in MOVES if trait in one.needs] != []
    assert len(fitting(frozenset(Trait) - {trait})) < len(MOVES)


def test_a_choice_of_precision_concerns_products_of_float32_in_any_case() -> None:
    assert multiplies_float32(problem({"mm": "product"}, "float32"))
    assert not multiplies_float32(MATMUL)
    assert not multiplies_float32(problem({"_softmax": "other"}, "float32"))
