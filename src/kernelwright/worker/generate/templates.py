"""Products and convolutions as Inductor's Triton templates, with one config for all sizes.

Inductor usually chooses between templates and the library by timing them on the device. Here it always takes the
template, so that a problem whose library mode forbids these calls gets a first kernel too. The tuner finds a better
config later.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import sympy
import torch
from torch._inductor import config
from torch._inductor.lowering import lowerings
from torch._inductor.select_algorithm import (
    AlgorithmSelectorCache,
    TritonTemplate,
    TritonTemplateCaller,
    TritonTemplateKernel,
)
from torch._inductor.virtualized import V

from kernelwright.devices.first_configs import tile_for
from kernelwright.model import Tiles
from kernelwright.worker.generate.convolution import CONVOLUTION, convolution
from kernelwright.worker.generate.factors import OF_DTYPE, PLACES, of_dtype, with_copies
from kernelwright.worker.generate.hints import value_of
from kernelwright.worker.generate.replacing import given_other, replaced

TEMPLATES = ("mm", "bmm", "convolution_of_1", "convolution_of_2", "convolution_of_3")
"""The templates that `kernelwright.inductor.templates` can read."""

SETTINGS = {
    "max_autotune_gemm": True, "max_autotune_gemm_backends": "TRITON,ATEN", "max_autotune_conv_backends": "TRITON,ATEN",
}  # fmt: skip

BLOCKS = ("BLOCK_M", "BLOCK_N", "BLOCK_K")


@contextmanager
def in_templates() -> Iterator[None]:
    """Inside, Inductor takes a template wherever it has one."""

    def chosen(given: dict[str, Any]) -> None:
        choices = given["choices"]
        templates: list[Any] = [
            one for one in choices if isinstance(one, TritonTemplateCaller) and _template(one) in TEMPLATES
        ]
        given["choices"] = templates[:1] or choices[:1]

    def of_one_config(own: Any) -> Any:
        def generate(template: Any, *args: Any, **kwargs: Any) -> Any:
            if "BLOCK_M" in kwargs:
                gpu: Any = torch.cuda.get_device_properties(0)
                groups, columns = kwargs.get("GROUPS"), kwargs["layout"].size[1 if "GROUPS" in kwargs else -1]
                kwargs |= tile_for(
                    kwargs["input_nodes"][-1].get_dtype().itemsize, gpu.shared_memory_per_block_optin,
                    value_of(columns) // (groups or 1), _channels(kwargs) if kwargs.get("BY_ELEMENT") else None,
                )  # fmt: skip
            if "EVEN_K" in kwargs:  # whether the last block is full; it would depend on size and config
                kwargs["EVEN_K"] = False
            return own(template, *args, **kwargs)

        return generate

    def copied(operator: Any, plain: Any) -> tuple[Any, Any, Any]:
        first, second = PLACES[plain]
        if operator is plain:
            return lowerings, operator, lambda own: with_copies(own, first, second)
        return lowerings, operator, lambda _: with_copies(of_dtype(lowerings[plain]), first, second)

    with (
        config.patch(SETTINGS),
        replaced(
            (lowerings, CONVOLUTION, lambda _: convolution),
            *(copied(operator, plain) for operator, plain in OF_DTYPE.items()),
            *(copied(plain, plain) for plain in PLACES),
            (AlgorithmSelectorCache, "__call__", given_other(chosen)),
            (TritonTemplate, "generate", of_one_config),
            (TritonTemplateKernel, "additional_call_args_and_types", lambda _: _grid),
            (TritonTemplateKernel, "call_kernel", _noting_tiles),
        ),
    ):
        yield


CDIV = sympy.Function("triton.cdiv", integer=True, positive=True)


def _cdiv(one: Any, other: Any) -> Any:
    one, other = sympy.sympify(one), sympy.sympify(other)
    return CDIV(one, other) if other != 1 and (one.free_symbols or other.free_symbols) else -(-one // other)


def _grid(kernel: Any) -> tuple[Any, Any]:
    """The grid of a template by the names of its blocks, in place of its arguments for the timed config."""
    blocks = {name: sympy.Symbol(name, integer=True, positive=True) for name in BLOCKS}
    functions = {**kernel.grid_fn.kwargs_sym, "cdiv": _cdiv}
    sides = kernel.grid_fn.fn(*kernel.call_sizes, {**kernel.meta, **blocks}, **functions)
    return sides, [type(side) for side in sides]


def _channels(given: Mapping[str, Any]) -> int:
    """Input channels of a group of a convolution, from the arguments of its template."""
    x = given["input_nodes"][-2]
    return value_of(x.get_size()[-1 if given["CHANNELS_LAST"] else 1]) // int(given["GROUPS"])


def _noting_tiles(own: Any) -> Any:
    """Notes what a template makes, by the name of its kernel, in the graph."""

    def called(kernel: Any, name: str, *args: Any, **kwargs: Any) -> None:
        graph: Any = V.graph
        factor, groups = kernel.input_nodes[-2], kernel.meta.get("GROUPS")
        in_registers = torch.cuda.get_device_capability(0)[0] not in (9, 10)
        if groups is None:
            *_, rows, columns = map(value_of, kernel.call_sizes)
            depth = value_of(factor.get_size()[-1])
            tiles = Tiles(rows=rows, columns=columns, depth=depth, in_registers=in_registers)
        else:
            batch, columns, *sides = map(value_of, kernel.call_sizes)
            channels = _channels({**kernel.meta, "input_nodes": kernel.input_nodes})
            tiles = Tiles(
                rows=batch * math.prod(sides) // kernel.meta["PHASES"], columns=columns // groups, is_product=False,
                depth=channels * kernel.meta["ELEMENTS"], channels=channels if kernel.meta["BY_ELEMENT"] else None,
                in_registers=in_registers,
            )  # fmt: skip
        graph.tiles = {**getattr(graph, "tiles", {}), name: tiles}
        own(kernel, name, *args, **kwargs)

    return called


def _template(choice: TritonTemplateCaller) -> str:
    """The template's name: "mm" for the choice "triton_mm_3"."""
    return choice.name.removeprefix("triton_").rpartition("_")[0]
