"""Products and convolutions as Inductor's Triton templates, with one config for all sizes.

Inductor usually chooses between templates and the library by timing them on the device. Here it always takes the
template, so that a problem whose library mode forbids these calls gets a first kernel too. The tuner finds a better
config later.

The second factor of a float32 product is copied first where its columns are not contiguous: tensor cores read 32-bit
factors along the depth of the product only, and Triton transposes each tile otherwise. On an H200 (torch 2.11, Triton
3.6, `input_precision="tf32x3"`) 8205 x 2949 times 2949 x 5921, in padded copies, took 3.7 ms with the copy and 5.6 ms
without.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch._inductor import config, ir
from torch._inductor.lowering import lowerings
from torch._inductor.select_algorithm import AlgorithmSelectorCache, TritonTemplate, TritonTemplateCaller
from torch._inductor.virtualized import V

from kernelwright.worker.generate.convolution import CONVOLUTION, convolution

TEMPLATES = ("mm", "bmm", "convolution_of_1", "convolution_of_2", "convolution_of_3")
"""The templates that `kernelwright.inductor.templates` can read."""

SETTINGS = {
    "max_autotune_gemm": True, "max_autotune_gemm_backends": "TRITON,ATEN", "max_autotune_conv_backends": "TRITON,ATEN",
}  # fmt: skip

BLOCKS = {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32}
"""The first config for operands of 32 bits: 16 KiB per stage, which fits any target."""

LEAST_ROWS = 512
"""A product with fewer rows is not slower than reading its second factor several times: that factor is not copied."""

FACTORS = {
    torch.ops.aten.mm.default: (0, 1), torch.ops.aten.bmm.default: (0, 1), torch.ops.aten.addmm.default: (1, 2),
    torch.ops.aten.baddbmm.default: (1, 2),
}  # fmt: skip
"""Products, and which of their arguments are the factors."""

HALF_BLOCKS = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64}
"""The first config for half precision: 32 KiB per stage, and a tile that fills wgmma on sm_90."""


@contextmanager
def in_templates() -> Iterator[None]:
    """Inside, Inductor takes a template wherever it has one."""
    choose, generate = AlgorithmSelectorCache.__call__, TritonTemplate.generate

    def chosen(cache: Any, name: str, choices: list[Any], *args: Any, **kwargs: Any) -> Any:
        templates: list[Any] = [
            one for one in choices if isinstance(one, TritonTemplateCaller) and _template(one) in TEMPLATES
        ]
        return choose(cache, name, templates[:1] or choices[:1], *args, **kwargs)

    def of_one_config(template: Any, *args: Any, **kwargs: Any) -> Any:
        if "BLOCK_M" in kwargs:
            is_half = kwargs["layout"].dtype in (torch.float16, torch.bfloat16)
            kwargs |= HALF_BLOCKS if is_half else BLOCKS
            kwargs |= {"num_warps": 8 if is_half else 4, "num_stages": 3}
        if "EVEN_K" in kwargs:  # whether the last block is full; it would depend on size and config
            kwargs["EVEN_K"] = False
        return generate(template, *args, **kwargs)

    before = {name: getattr(config, name) for name in SETTINGS}
    _set(config, SETTINGS)
    _set(AlgorithmSelectorCache, {"__call__": chosen})
    _set(TritonTemplate, {"generate": of_one_config})
    own: dict[Any, Callable[..., Any]] = {operator: lowerings[operator] for operator in (CONVOLUTION, *FACTORS)}
    lowerings[CONVOLUTION] = convolution
    for operator, places in FACTORS.items():
        lowerings[operator] = _with_columns(own[operator], *places)
    try:
        yield
    finally:
        _set(config, before)
        _set(AlgorithmSelectorCache, {"__call__": choose})
        _set(TritonTemplate, {"generate": generate})
        lowerings.update(own)


def _with_columns(lowering: Callable[..., Any], first: int, second: int) -> Callable[..., Any]:
    """The lowering of a product, for a second factor whose columns are contiguous. first, second: the places of the
    factors among its arguments."""

    def product(*args: Any, **kwargs: Any) -> Any:
        rows, factor = args[first].get_size()[-2], args[second]
        if factor.get_dtype() == torch.float32 and is_worth_a_copy(int(rows)):
            order = [*range(len(factor.get_size()) - 1, 1, -1), 0, 1]
            factor = ir.ExternKernel.require_stride_order(ir.ExternKernel.realize_input(factor), order)
            V.graph.no_fuse_buffer_names.add(factor.get_name())  # or the template would make the copy, tile by tile
        return lowering(*args[:second], factor, *args[second + 1 :], **kwargs)

    return product


def is_worth_a_copy(rows: int) -> bool:
    """Whether a product with this number of rows takes long beside a copy of its second factor."""
    return rows >= LEAST_ROWS


def _template(choice: TritonTemplateCaller) -> str:
    """The template's name: "mm" for the choice "triton_mm_3"."""
    return choice.name.removeprefix("triton_").rpartition("_")[0]


def _set(holder: Any, values: dict[str, Any]) -> None:
    for name, value in values.items():
        setattr(holder, name, value)
