"""Values of parameters and buffers in a draw: negated, scaled, near zero, spread over many magnitudes.

What is positive in a buffer stays positive, as a variance has to; only buffers that the problem fills with one value
are drawn, because a table (angles, positions, a mask) has a structure.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from kernelwright.worker.reference.values import NEGATED_WEIGHTS, SCALE, SCALED_WEIGHTS, SPREAD_WEIGHTS, UNEVEN_WEIGHTS

BUFFER_SPREAD = 0.1
"""As `prepare.REDRAWN_SPREAD` for parameters, but relative, so that a variance stays positive."""

POSITIVE_EXPONENTS = {
    NEGATED_WEIGHTS: (-20, 0), SCALED_WEIGHTS: (0, 8), SPREAD_WEIGHTS: (-20, 8), UNEVEN_WEIGHTS: (-20, 8),
}  # fmt: skip
"""Least and largest power of two by which a positive buffer is multiplied. 2^-20 is a tenth of BatchNorm's epsilon."""

OTHER_SCALE = {NEGATED_WEIGHTS: 1.0, SCALED_WEIGHTS: SCALE, SPREAD_WEIGHTS: SCALE, UNEVEN_WEIGHTS: SCALE}
"""Standard deviation of what is added to a buffer of zeros, such as a running mean."""

HALF_RANGE = 8
"""At most this in float16, whose smallest normal number is 2^-14."""

SPREAD_EXPONENTS = {SPREAD_WEIGHTS: (-8, 20), UNEVEN_WEIGHTS: (-8, 4)}
"""Least and largest power of two by which each element of a parameter is multiplied: past the largest number of fp16,
and, where that overflows behind some layers, around what it was."""


def redraw(module: nn.Module, distribution: str, seed: int) -> None:
    """Change parameters and constant buffers in place; of all other distributions only buffers, by a little."""
    for position, buffer in enumerate(module.buffers()):
        if _real(buffer) and bool((buffer == buffer.flatten()[0]).all()):
            generator = torch.Generator(device=buffer.device).manual_seed(seed + position)
            _redraw_buffer(buffer, distribution, generator)
    for position, parameter in enumerate(module.parameters()):
        if not _real(parameter) or bool((parameter == parameter.round()).all()):
            continue
        if distribution == NEGATED_WEIGHTS:
            parameter.neg_()
        elif distribution == SCALED_WEIGHTS:
            parameter.mul_(SCALE)
        elif distribution in SPREAD_EXPONENTS:
            generator = torch.Generator(device=parameter.device).manual_seed(seed + position)
            parameter.mul_(_powers(parameter, SPREAD_EXPONENTS[distribution], generator))


def _redraw_buffer(buffer: Tensor, distribution: str, generator: torch.Generator) -> None:
    """A buffer of one value."""
    value = float(buffer.flatten()[0])
    if distribution in OTHER_SCALE and value > 0:
        buffer.mul_(_powers(buffer, POSITIVE_EXPONENTS[distribution], generator))
        return
    noise = torch.randn(buffer.shape, generator=generator, device=buffer.device)
    if distribution in OTHER_SCALE:
        buffer.add_((OTHER_SCALE[distribution] * noise).to(buffer.dtype))
    else:
        buffer.copy_(value + (abs(value) or 1.0) * BUFFER_SPREAD * noise)


def _powers(tensor: Tensor, exponents: tuple[int, int], generator: torch.Generator) -> Tensor:
    """Powers of two, each element's its own and not whole, so that no bits are special."""
    least, most = exponents
    if tensor.dtype == torch.float16:
        least, most = max(least, -HALF_RANGE), min(most, HALF_RANGE)
    drawn = torch.rand(tensor.shape, generator=generator, device=tensor.device)
    return torch.exp2(least + (most - least) * drawn).to(tensor.dtype)


def _real(tensor: Tensor) -> bool:
    """Whether it holds real-valued data at all."""
    if not tensor.is_floating_point() or tensor.element_size() < 2 or tensor.numel() == 0:
        return False
    return math.isfinite(float(tensor.flatten()[0])) and bool(tensor.isfinite().all())
