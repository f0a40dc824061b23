"""First configs of generated kernels, and what of them follows from the GPU."""

from __future__ import annotations

import msgspec
import pytest

from kernelwright.devices import TARGETS
from kernelwright.devices.first_configs import (
    FETCHED,
    LONG,
    SHORT,
    STRIDED,
    Rows,
    changes_for,
    tile_for,
    tile_of_parts,
    tile_of_product,
    tile_of_tf32x3,
)
from kernelwright.model import Tiles

IN_FLIGHT = {**SHORT, "num_stages": 4}
LIKELY = {"XBLOCK": 1, "R0_BLOCK": 2048, "num_warps": 16, "num_stages": 1}


@pytest.mark.parametrize(("target", "half"), [("sm_80", 3), ("sm_86", 2), ("sm_89", 2), ("sm_90", 3), ("sm_120", 2)])
def test_stages_of_a_tile_fit_the_shared_memory(target: str, half: int) -> None:
    has_bytes = TARGETS[target].shared_bytes_per_block
    assert tile_for(2, has_bytes, 128)["num_stages"] == half
    assert tile_for(4, has_bytes, 128)["num_stages"] == 3
    assert (half + 1) * 32 * 1024 <= has_bytes


@pytest.mark.parametrize(("columns", "block"), [(5, 16), (48, 64), (64, 64), (100, 128), (4096, 128)])
def test_a_tile_in_half_precision_is_no_wider_than_the_result(columns: int, block: int) -> None:
    assert tile_for(2, TARGETS["sm_90"].shared_bytes_per_block, columns)["BLOCK_N"] == block


@pytest.mark.parametrize(
    ("channels", "block"), [(16, 16), (24, 32), (32, 32), (48, 64), (64, 64), (96, 32), (128, 64), (1000, 64)]
)
def test_a_step_of_a_convolution_in_half_precision_has_no_more_channels_than_it_must(channels: int, block: int) -> None:
    shared_bytes = TARGETS["sm_90"].shared_bytes_per_block
    assert tile_for(2, shared_bytes, 128, channels)["BLOCK_K"] == block
    assert tile_for(4, shared_bytes, 128, channels)["BLOCK_K"] == tile_for(4, shared_bytes, 128)["BLOCK_K"]


@pytest.mark.parametrize(
    ("target", "length", "is_read_twice", "change"),
    [("sm_90", 65536, True, LONG), ("sm_90", 131072, True, IN_FLIGHT), ("sm_90", 65536, False, IN_FLIGHT),
     ("sm_90", 16384, True, IN_FLIGHT), ("sm_89", 131072, True, IN_FLIGHT), ("sm_100", 131072, True, LONG),
     ("sm_86", 32768, True, IN_FLIGHT)],
)  # fmt: skip
def test_large_blocks_are_for_rows_that_stay_in_the_cache_until_they_are_read_again(
    target: str, length: int, is_read_twice: bool, change: dict[str, int]
) -> None:
    gpu, rows = TARGETS[target], Rows(length, 0, is_read_twice, is_strided=False, loads=1)
    _, then = changes_for(rows, LIKELY, gpu.multiprocessors, gpu.l2_bytes, gpu.shared_bytes_per_block)
    assert then == change


@pytest.mark.parametrize(("target", "loads", "stages"), [
    ("sm_90", 1, 4), ("sm_90", 3, 4), ("sm_90", 4, 3), ("sm_90", 6, 1), ("sm_86", 1, 4), ("sm_86", 2, 3),
    ("sm_86", 3, 1)])  # fmt: skip
def test_a_loop_has_as_many_blocks_in_flight_as_shared_memory_has_room_for(
    target: str, loads: int, stages: int
) -> None:
    gpu, rows = TARGETS[target], Rows(131072, 0, is_read_twice=False, is_strided=False, loads=loads)
    first, _ = changes_for(rows, LIKELY, gpu.multiprocessors, gpu.l2_bytes, gpu.shared_bytes_per_block)
    assert first == {**FETCHED, "num_stages": stages}
    assert stages * loads * 4096 * 4 <= gpu.shared_bytes_per_block or stages == 1


@pytest.mark.parametrize(("length", "changes"), [(64, [STRIDED]), (128, [STRIDED]), (256, [])])
def test_strided_rows_get_many_columns_while_a_thread_can_hold_them(length: int, changes: list[dict[str, int]]) -> None:
    rows = Rows(length, length, is_read_twice=False, is_strided=True, loads=1)
    assert list(changes_for(rows, {"XBLOCK": 8}, 132, 60 << 20, 227 << 10)) == changes


@pytest.mark.parametrize(("in_registers", "warps"), [(False, (4, 4)), (True, (8, 8))])
def test_tiles_of_split_products_have_more_threads_where_factors_are_in_registers(
    in_registers: bool, warps: tuple[int, int]
) -> None:
    product = Tiles(rows=1024, columns=2048, depth=4096, in_registers=in_registers)
    assert (tile_of_parts(product)["num_warps"], tile_of_tf32x3(product)["num_warps"]) == warps
    small = msgspec.structs.replace(product, is_product=False)
    assert tile_of_tf32x3(small)["num_warps"] == 4, "64 x 64 results are few enough"


PRODUCTS = {
    "many tiles": ((1, 4096, 4096, 1, 2, 2), (128, 256, 4, 1)),
    "two tiles for each multiprocessor": ((1, 1024, 8192, 1, 2, 2), (128, 256, 4, 1)),
    "the same, and much is done to them": ((1, 1024, 8192, 1, 30, 2), (128, 256, 4, 0)),
    "many tiles to which much is done": ((1, 16384, 4096, 1, 30, 2), (128, 256, 4, 1)),
    "few rows": ((1, 128, 16384, 1, 2, 2), (128, 128, 5, 0)),
    "a batch": ((128, 512, 2048, 1, 2, 2), (128, 256, 4, 1)),
    "a gate": ((1, 4096, 4096, 2, 2, 2), (128, 128, 4, 1)),
    "a result in float32": ((1, 4096, 4096, 1, 2, 4), (128, 256, 3, 1)),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_a_product_in_half_precision_gets_the_tile_that_all_multiprocessors_finish_first(name: str) -> None:
    given, expected = PRODUCTS[name]
    found = tile_of_product(*given, multiprocessors=132, shared_bytes=227 << 10, major=9)
    assert (found["BLOCK_M"], found["BLOCK_N"], found["num_stages"], found["FLATTEN"]) == expected


def test_a_gpu_without_a_copy_engine_gets_the_tile_of_templates_for_products() -> None:
    tile = tile_for(2, 99 << 10, 4096)
    found = tile_of_product(1, 4096, 4096, 1, 2, 2, multiprocessors=142, shared_bytes=99 << 10, major=8)
    assert found.items() > tile.items()
    assert not found["FLATTEN"]
