"""Which names say how work is cut up, and which say what is computed."""

from __future__ import annotations

import pytest

from kernelwright.source.names import constexpr_choices, is_tunable_name, words_of

TUNABLE = """
BLOCK BLOCK_SIZE BLOCK_M BLOCKSIZE XBLOCK RBLOCK BLOCK_HW TILE TILE_K N_TILE BM BN BK GROUP_M GROUP_SIZE_M CHUNK
SPLIT_K NUM_SPLITS UNROLL ROWS ROWS_PER_PROGRAM COLS_PER_THREAD ELEMS_PER_PROGRAM NUM_WARPS NUM_STAGES
block_size blockSizeM tile_n FLATTEN WARP_SPECIALIZE EPILOGUE_SUBTILE
"""
NOT_TUNABLE = """
STRIDE KERNEL KERNEL_SIZE PAD PADDING DIM HEAD_DIM BLOCK_DMODEL EPS ACTIVATION DILATION GROUPS NUM_GROUPS
CHANNELS_PER_GROUP N M K SIZE STAGE N_ROWS IS_CAUSAL SCALE_BLOCK NUM_HEADS Q_PER_KV dtype _
"""


@pytest.mark.parametrize("name", TUNABLE.split())
def test_a_name_that_cuts_up_work_is_tunable(name: str) -> None:
    assert is_tunable_name(name)


@pytest.mark.parametrize("name", NOT_TUNABLE.split())
def test_a_name_that_says_what_is_computed_is_not(name: str) -> None:
    assert not is_tunable_name(name)


def test_snake_and_camel_case_have_the_same_words() -> None:
    assert words_of("blockSizeM") == words_of("BLOCK_SIZE_M") == ("BLOCK", "SIZE", "M")


def test_choices_stay_within_two_steps_and_the_limits() -> None:
    assert constexpr_choices(("BLOCK",), 64, 1) == (16, 32, 64, 128, 256)
    assert constexpr_choices(("BLOCK",), 32, 16) == (16, 32, 64, 128)
    assert constexpr_choices(("BLOCK",), 8, 16) == (8, 16, 32)
    assert constexpr_choices(("BLOCK",), 32768, 1) == (8192, 16384, 32768, 65536)
    assert constexpr_choices(("GROUP_M",), 1, 16) == (1, 2, 4)


def test_a_default_beyond_the_limits_is_kept_as_a_choice() -> None:
    assert constexpr_choices(("BLOCK",), 131072, 1) == (32768, 65536, 131072)


def test_a_number_that_cannot_be_stepped_has_no_choices() -> None:
    assert constexpr_choices(("BLOCK",), 96, 1) == ()
    assert constexpr_choices(("BLOCK",), 0, 1) == ()
    assert constexpr_choices(("STAGES",), 12, 1) == ()


def test_a_switch_of_the_schedule_is_on_or_off_and_a_tile_is_stored_in_few_parts() -> None:
    assert constexpr_choices(("FLATTEN",), 1, 16) == (0, 1)
    assert constexpr_choices(("WARP_SPECIALIZE",), 0, 16) == (0, 1)
    assert constexpr_choices(("WARP_SPECIALIZE",), 2, 16) == ()
    assert constexpr_choices(("EPILOGUE_SUBTILE",), 2, 16) == (1, 2, 4)
    assert constexpr_choices(("EPILOGUE_SUBTILE",), 8, 16) == ()
