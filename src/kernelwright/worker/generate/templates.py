"""Products and convolutions as Inductor's Triton templates, with one config for all sizes.

Inductor usually chooses between templates and the library by timing them on the device. Here it always takes the
template, so that a problem whose library mode forbids these calls gets a first kernel too. The tuner finds a better
config later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch._inductor import config
from torch._inductor.lowering import lowerings
from torch._inductor.select_algorithm import AlgorithmSelectorCache, TritonTemplate, TritonTemplateCaller

from kernelwright.worker.generate.convolution import CONVOLUTION, convolution
from kernelwright.worker.generate.factors import PLACES, with_copies

TEMPLATES = ("mm", "bmm", "convolution_of_1", "convolution_of_2", "convolution_of_3")
"""The templates that `kernelwright.inductor.templates` can read."""

SETTINGS = {
    "max_autotune_gemm": True, "max_autotune_gemm_backends": "TRITON,ATEN", "max_autotune_conv_backends": "TRITON,ATEN",
}  # fmt: skip

BLOCKS = {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32}
"""The first config for operands of 32 bits: 16 KiB per stage, which fits any target."""

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
    own: dict[Any, Callable[..., Any]] = {operator: lowerings[operator] for operator in (CONVOLUTION, *PLACES)}
    lowerings[CONVOLUTION] = convolution
    for operator, places in PLACES.items():
        lowerings[operator] = with_copies(own[operator], *places)
    try:
        yield
    finally:
        _set(config, before)
        _set(AlgorithmSelectorCache, {"__call__": choose})
        _set(TritonTemplate, {"generate": generate})
        lowerings.update(own)


def _template(choice: TritonTemplateCaller) -> str:
    """The template's name: "mm" for the choice "triton_mm_3"."""
    return choice.name.removeprefix("triton_").rpartition("_")[0]


def _set(holder: Any, values: dict[str, Any]) -> None:
    for name, value in values.items():
        setattr(holder, name, value)
