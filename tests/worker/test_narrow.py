"""Which cases a config that is chosen for some dtypes is not judged on."""

from __future__ import annotations

from kernelwright.model import Case
from kernelwright.worker.session import wider


def case(name: str, dtype: str | None, kind: str = "") -> Case:
    return Case(name=name, dtype=dtype, small=kind == "small", held_out=kind == "held_out")


HALF, SMALL_HALF = case("half", "float16"), case("small_half", "float16", "small")
SMALL_FLOAT, OTHER_FLOAT = case("small_float", "float32", "small"), case("other_float", "float32", "held_out")
BRAIN = case("brain", "bfloat16", "held_out")


def test_wider_small_and_held_out_cases_do_not_decide_on_a_config_for_half_precision() -> None:
    assert wider([HALF, SMALL_FLOAT, SMALL_HALF, OTHER_FLOAT, BRAIN]) == {"small_float", "other_float"}


def test_all_stay_where_no_small_case_would_be_left() -> None:
    assert wider([HALF, SMALL_FLOAT, OTHER_FLOAT]) == set()


def test_all_stay_where_the_widest_is_scored_or_nothing_is() -> None:
    assert wider([HALF, case("float", "float32"), SMALL_FLOAT, SMALL_HALF, OTHER_FLOAT]) == set()
    assert wider([SMALL_FLOAT, SMALL_HALF]) == set()


def test_a_case_that_states_no_dtype_counts_as_narrow() -> None:
    assert wider([HALF, case("given", None, "small"), SMALL_FLOAT]) == {"small_float"}
