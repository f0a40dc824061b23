"""Triton templates of products become kernels with blocks as tunables and a grid that follows from sizes."""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec
import pytest

from generated import (
    LAUNCH,
    MM,
    OF_TEMPLATE,
    OUT,
    SQUARE,
    Change,
    capture,
    kernel,
    of,
    template,
    unchanged,
)
from kernelwright.inductor import NotConverted, can_split, candidate_text, candidate_texts
from kernelwright.inductor.products import WAYS, has_sizes, is_split
from kernelwright.model import Alias, Environment, Generated, Launch, Tiles, View
from kernelwright.source.tunables import default_config

Precision = Literal["ieee", "tf32"]


def converted(change: Change = unchanged, **others: Any) -> str:
    return candidate_text(Generated(captures=(template(change, **others),), inputs=(("x", None),)))


def test_the_blocks_of_a_template_are_tunables() -> None:
    assert default_config(converted()) == {
        "BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32, "GROUP_M": 8, "NUM_WARPS": 4, "NUM_STAGES": 3,
    }  # fmt: skip


def templates(
    dtype: str = "float32", precision: Precision = "ieee", change: Change = unchanged, **others: Any
) -> Generated:
    """A product and a kernel beside it, with the product as a template in its place. others: of the template."""
    call = capture(dtype=dtype, steps=(OUT, LAUNCH, MM))
    made = template(change, dtype=dtype, **others)
    return Generated(captures=(call,), templates=(made,), inputs=(("x", None),), precision=precision)


def dots(texts: list[str]) -> list[str]:
    return [line.strip() for text in texts for line in text.splitlines() if "tl.dot(" in line]


def test_float32_products_are_split_on_tensor_cores() -> None:
    texts = candidate_texts(templates(), "finish", split=True)
    assert dots(texts[:1]) == [
        "part = tl.dot(a_low, b, input_precision='tf32')",
        "part = tl.dot(a_high, b_low, part, input_precision='tf32')",
        "acc += tl.dot(a_high, b, part, input_precision='tf32')",
    ]
    assert dots(texts[1:]) == [
        "acc += tl.dot(a, b, input_precision='tf32x3', out_dtype=tl.float32)",
        "acc += tl.dot(a, b, allow_tf32=False, out_dtype=tl.float32)",
    ]
    assert dots(candidate_texts(templates(), "finish")) == [
        "acc += tl.dot(a, b, allow_tf32=False, out_dtype=tl.float32)"
    ]
    assert [default_config(text) for text in texts[:2]] == [
        {
            "BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32, "GROUP_M": 8, "NUM_WARPS": 4, "NUM_STAGES": 3,
            "split_factor.num_warps": 4, "split_factor.num_stages": 3,
        },
        {"BLOCK_M": 128, "BLOCK_N": 64, "BLOCK_K": 32, "GROUP_M": 8, "NUM_WARPS": 4, "NUM_STAGES": 3},
    ], "no block is wider than the 64 columns"  # fmt: skip


def test_the_second_factor_is_split_before_the_product() -> None:
    text = candidate_texts(templates(), "finish", split=True)[0]
    host = " ".join(text.partition("def kernel_function")[2].split())
    assert "x_parts = torch.empty((2, rows * dim), dtype=torch.float32, device=x.device)" in host
    assert "split_factor[(triton.cdiv(rows * dim, 1024),)](x, x_parts, rows * dim, WIDTH=1024)" in host
    assert re.search(r"mm_relu_tiles\[.*?\]\( x, x_parts, out, ", host)
    assert "if max(rows * dim, rows * rows) >= 2**31:" in host
    low = re.search(r"b_low = tl\.load\((.*?), mask=(.*?), other=0\.0,? ?\)", " ".join(text.split()))
    assert low is not None
    assert low[1].startswith("B + rows * dim + "), "added to the pointer: the sum of offsets may exceed 32 bits"
    assert f"b = tl.load({low[1].replace('B + rows * dim', 'B')}, mask={low[2]}, other=0.0)" in text
    assert text.index("def high_and_low(") < text.index("def split_factor(") < text.index("def mm_relu_tiles(")


def test_a_factor_that_is_computed_while_it_is_loaded_is_not_split_before() -> None:
    texts = candidate_texts(
        templates(change=lambda text: text.replace("b = tl.load(", "b = 2 * tl.load(")), "finish", True
    )
    assert ["split_factor" in text for text in texts] == [False, False, False]
    assert ["tf32x3" in text for text in texts] == [True, True, False]


def test_a_factor_that_is_also_added_is_not_split_before() -> None:
    added = "tmp0 = triton_helpers.maximum(acc + tl.load(arg_B + idx_n), 0.0)"
    found = templates(change=lambda text: text.replace("tmp0 = triton_helpers.maximum(acc, 0.0)", added))
    texts = candidate_texts(found, "finish", True)
    assert ["split_factor" in text for text in texts] == [False, False, False]
    assert all("tl.load(B_ptr + idx_n)" in text or "tl.load(x_ptr + idx_n)" in text for text in texts)


def part(offset: str) -> Alias:
    return Alias(name="buf1", view=View(tensor="x", shape=("rows", "dim"), stride=("dim", "1"), offset=offset))


def of_factor(second: str) -> Launch:
    return msgspec.structs.replace(OF_TEMPLATE, arguments=("x", second, "buf0", "dim", "rows"))


@pytest.mark.parametrize(("offset", "is_split"), [(0, True), (7, False)])
def test_a_factor_that_begins_inside_its_tensor_is_not_split(offset: int, is_split: bool) -> None:
    """Parts are made of all elements of a tensor."""
    found = templates(steps=(SQUARE, part(str(offset)), of_factor("buf1")))
    first = candidate_texts(found, "finish", split=True)[0]
    assert ("split_factor[(triton.cdiv(rows * dim, 1024),)](x, x_parts," in first) == is_split
    assert ("tf32x3" in first) != is_split


@pytest.mark.parametrize(
    ("second", "is_split"),
    [("x", True), ("buf1", False), ("buf0", False)],
    ids=["the same tensor", "a part of it", "a tensor of another size"],
)
def test_a_kernel_that_is_launched_twice_is_split_only_if_one_offset_serves_both(second: str, is_split: bool) -> None:
    found = templates(steps=(SQUARE, part("7"), OF_TEMPLATE, of_factor(second)))
    texts = candidate_texts(found, "finish", True)
    assert ("split_factor" in texts[0], "tf32x3" in texts[0]) == (is_split, not is_split)
    assert "(None, " not in texts[0]


@pytest.mark.parametrize(
    "generated", [templates(dtype="float16"), templates(precision="tf32")], ids=["half precision", "TF32 stated"]
)
def test_other_products_are_not_split(generated: Generated) -> None:
    assert candidate_texts(generated, "finish", split=True) == candidate_texts(generated, "finish")


@pytest.mark.parametrize("split", [True, False])
def test_convolutions_that_are_not_split_have_their_sizes_as_arguments_next(split: bool) -> None:
    """With sizes as constants, the compiler breaks some of them in every dtype."""
    made = templates("bfloat16")
    capture = made.templates[0]
    tiles = Tiles(rows=9, columns=64, depth=27, is_product=False)
    kernels = tuple(msgspec.structs.replace(one, tiles=tiles) for one in capture.kernels)
    made = msgspec.structs.replace(made, templates=(msgspec.structs.replace(capture, kernels=kernels),))
    first, second = candidate_texts(made, "finish", split=split)
    assert "rows: tl.constexpr" in first
    assert "rows: tl.constexpr" not in second
    assert [has_sizes(one) for one in (first, second)] == [False, True]
    assert not is_split(second)


def test_a_template_without_an_exact_product_is_not_split() -> None:
    rounded = templates(
        change=lambda text: text.replace("ALLOW_TF32 : tl.constexpr = False", "ALLOW_TF32 : tl.constexpr = True")
    )
    with pytest.raises(NotConverted, match="no product in full precision"):
        candidate_texts(rounded, "finish", split=True)


@pytest.mark.parametrize(
    ("device", "target", "can"),
    [
        ("NVIDIA H100", "sm_90", True),
        ("NVIDIA A100", "sm_80", True),
        ("NVIDIA B200", "sm_100a", True),
        ("Tesla T4", "sm_75", False),
        (None, "sm_90", False),
    ],
)
def test_products_are_split_on_a_gpu_whose_tensor_cores_have_the_formats(
    device: str | None, target: str, can: bool
) -> None:
    assert can_split(Environment(device=device, target=target, python="3.11", torch="2.13", triton="3.7")) is can


def test_loads_of_an_operator_that_computes_a_factor_leave_zeros_where_they_are_masked() -> None:
    def with_operator(text: str) -> str:
        line = next(one for one in text.splitlines() if " b = tl.load(" in one)
        indent = line[: len(line) - len(line.lstrip())]
        return text.replace(
            line, f"{indent}tmp0 = tl.load(B + idx_m, b_mask, eviction_policy='evict_last')\n{indent}b = tmp0"
        )

    assert "tmp0 = tl.load(B + idx_m, b_mask, other=0.0, eviction_policy='evict_last')" in converted(with_operator)


def test_its_grid_is_computed_from_sizes_and_blocks() -> None:
    text = converted()
    assert "mm_relu_tiles[(triton.cdiv(rows, BLOCK_M) * triton.cdiv(rows, BLOCK_N),)](" in text
    assert "dtype=tl.float32" in text
    assert "return\n    pid" not in text


def test_the_offset_within_the_last_sides_is_not_divided() -> None:
    def with_remainder(divisor: str) -> Change:
        store = "    tl.store(out_ptr1 + (idx_n + {rows} * idx_m)"
        made = f"    xindex = idx_n + {{rows}}*idx_m\n    x0 = (xindex % {divisor})\n"
        return lambda text: text.replace(store, made + store.replace("idx_n", "x0"))

    assert "x0 = tl.broadcast_to(idx_n, [BLOCK_M, BLOCK_N])" in converted(with_remainder("{rows}"))
    assert "x0 = xindex % 7" in converted(with_remainder("7")), "7 is no stride"


@pytest.mark.parametrize(
    ("columns", "depth", "tiles"),
    [
        (128, 576, [(64, 128, 32), (64, 64, 32), (64, 128, 32)]),
        (64, 576, [(128, 64, 32), (64, 64, 32), (128, 64, 32)]),
        (20, 576, [(128, 64, 32), (64, 64, 32), (128, 64, 32)]),
        (128, 363, [(128, 128, 16), (128, 64, 16), (128, 128, 16)]),
        (64, 27, [(128, 64, 16), (128, 64, 16), (128, 64, 16)]),
    ],
)
def test_convolutions_begin_with_tiles_of_their_channels(
    columns: int, depth: int, tiles: list[tuple[int, int, int]]
) -> None:
    made = Tiles(rows=9, columns=columns, depth=depth, is_product=False)
    found = [way.config(made) for way in WAYS]
    assert [tuple(one[block] for block in ("BLOCK_M", "BLOCK_N", "BLOCK_K")) for one in found] == tiles
    assert [one.precision for one in WAYS] == ["parts", "tf32x3", "parts"]
    assert [one.with_sizes for one in WAYS] == [False, True, True], "what the compiler breaks is in the first only"


@pytest.mark.parametrize(
    ("columns", "channels", "tile"),
    [
        (128, 64, (64, 128, 32)),
        (256, 16, (64, 128, 16)),
        (64, 32, (64, 64, 32)),
        (48, 48, (128, 64, 16)),
        (16, 32, (128, 16, 32)),
    ],
)
def test_convolutions_by_elements_of_the_window_begin_with_steps_of_their_channels(
    columns: int, channels: int, tile: tuple[int, int, int]
) -> None:
    made = Tiles(rows=9, columns=columns, depth=9 * channels, channels=channels, is_product=False)
    config = WAYS[0].config(made)
    assert (config["BLOCK_M"], config["BLOCK_N"], config["BLOCK_K"]) == tile


def test_another_template_is_named() -> None:
    other = kernel(name=OF_TEMPLATE.kernel, grid="FixedGrid")
    with pytest.raises(NotConverted, match="has the grid FixedGrid"):
        converted(kernels=(other,))


def test_a_template_takes_the_place_of_a_library_call_that_the_problem_does_not_allow() -> None:
    found = of(steps=(OUT, LAUNCH, MM), templates=(template(),))
    assert "torch.mm" in candidate_text(found, "any")
    for library in ("none", "finish"):
        assert "mm_relu_tiles" in candidate_text(found, library)  # type: ignore[arg-type]


def test_a_library_call_that_no_template_replaces_needs_its_mode() -> None:
    found = of(steps=(OUT, LAUNCH, MM))
    with pytest.raises(NotConverted, match=r"aten\.mm, which needs LIBRARY"):
        candidate_text(msgspec.structs.replace(found, templates=found.captures), "finish")
