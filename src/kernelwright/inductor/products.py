"""Ways to compute the float32 products of a Triton template on tensor cores without losing precision.

`tl.dot` splits each factor into parts of fewer bits, multiplies the parts on tensor cores and adds the products up in
float32. On an H100 (torch 2.11, Triton 3.6), 1,024 x 8,192 times 8,192 x 8,192 took cuBLAS 2,696 µs, bf16x6 2,074,
tf32x3 1,676 and ieee 5,391, with the second matrix transposed in memory, as `nn.Linear` has it. 4,096 x 4,096 squared
took 2,643, 2,004, 2,478 and 3,066. The largest and the rms errors of bf16x6 and tf32x3 were at most 0.22 of cuBLAS's.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import NamedTuple

from kernelwright.devices.first_configs import tile_of_parts, tile_of_tf32x3
from kernelwright.inductor.faults import NotConverted
from kernelwright.inductor.parts import with_parts
from kernelwright.model import Environment, Generated, Tiles

EXACT, TF32X3 = "allow_tf32=False", 'input_precision="tf32x3"'
"""Of `tl.dot` in the texts of structures: exact products, and split ones."""

PARTS = "parts"
"""The second factor is split before the kernel begins, see `parts`."""


class Way(NamedTuple):
    """A way to compute the products of templates. precision: an `input_precision` of `tl.dot`, or PARTS; None: as they
    are. config: what it changes of the one that a template begins with. with_sizes: whether sizes are arguments of a
    convolution's kernel."""

    precision: str | None
    config: Callable[[Tiles], Mapping[str, int]]
    with_sizes: bool = False


WAYS = (
    Way(PARTS, tile_of_parts), Way("tf32x3", tile_of_tf32x3, with_sizes=True),
    Way(PARTS, tile_of_parts, with_sizes=True),
)  # fmt: skip
"""The ways that are tried first.

Convolutions have sizes as arguments in all but the first, because of a fault of the compiler (Triton 3.6): with sizes
as constants, three convolutions with windows of 3 were wrong on an H200 where an output had three places along a side,
and with arguments right. Times differed by -14 to +20 %."""

WITH_SIZES = Way(None, lambda tiles: {}, with_sizes=True)
"""For convolutions whose products are not split: one with windows of 3 was wrong in bfloat16, too."""


FIRST_CAPABILITY = 80
"""From here on tensor cores multiply bfloat16 and TF32."""


def can_split(environment: Environment) -> bool:
    """Whether split products can be judged here: Triton's CPU interpreter does not compute them as a GPU does."""
    capability = environment.target.removeprefix("sm_").rstrip("af")
    return environment.device is not None and capability.isdigit() and int(capability) >= FIRST_CAPABILITY


def ways_for(generated: Generated, split: bool) -> tuple[Way | None, ...]:
    """The ways in which templates are tried, the best first; None: as Inductor has them."""
    if split and is_splittable(generated):
        return (*WAYS, None)
    tiles = [one.tiles for capture in generated.templates for one in capture.kernels if one.tiles is not None]
    return (None,) if all(one.is_product for one in tiles) else (None, WITH_SIZES)


def is_splittable(generated: Generated) -> bool:
    """Whether structures and templates multiply float32 in full precision."""
    tensors = [tensor for one in (*generated.structures, *generated.templates)[:1] for tensor in one.tensors]
    floating = {one.dtype for one in tensors if "float" in one.dtype}
    return generated.precision == "ieee" and floating == {"float32"}


def is_split(source: str) -> bool:
    """Whether a converted candidate has split products."""
    return "input_precision=" in source


SIZES_ARE_ARGUMENTS = " Its sizes are arguments, not constants of the compiler."
"""A comment on such a kernel."""


def has_sizes(source: str) -> bool:
    """Whether the sizes of a converted candidate's products are arguments."""
    return SIZES_ARE_ARGUMENTS in source


def is_exact(source: str) -> bool:
    """Whether a converted candidate has products of its own that are not split."""
    return "tl.dot(" in source and not is_split(source)


def split_products(main: ast.FunctionDef, split: str) -> tuple[ast.FunctionDef, int | None]:
    """A copy of a template's kernel whose exact products have this `input_precision`. For PARTS also the place of the
    split factor among its arguments; tf32x3 where the kernel does not load that factor as it is. Raises `NotConverted`
    where it has no exact product."""
    if split == PARTS:
        with suppress(NotConverted):
            return with_parts(main)
        split = "tf32x3"
    made = copy.deepcopy(main)
    found = [one for one in ast.walk(made) if isinstance(one, ast.keyword) and one.arg == "allow_tf32"]
    if not found or any(ast.unparse(one.value) != "False" for one in found):
        raise NotConverted(f"{main.name} has no product in full precision")
    for one in found:
        one.arg, one.value = "input_precision", ast.Constant(split)
    return made, None
