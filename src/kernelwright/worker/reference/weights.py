"""Distributions of parameters and buffers in a random draw: negated, scaled, near zero, spread over many magnitudes.

A bias of a few hundredths under a sum of thousands of terms is below the tolerance, so it is scaled up where the other
parameters are only negated.

Positive buffers stay positive, as a variance has to. Only buffers filled with one value change, because others may be
tables (angles, positions, a mask).
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from kernelwright.worker.reference.values import NEGATED_WEIGHTS, SCALE, SCALED_WEIGHTS, SPREAD_WEIGHTS, UNEVEN_WEIGHTS

BUFFER_SPREAD = 0.1
"""Standard deviation of the change to a constant buffer, as `prepare.REDRAWN_SPREAD` for parameters. It is relative, so
that a variance stays positive."""

POSITIVE_EXPONENTS = {
    NEGATED_WEIGHTS: (-20, 0), SCALED_WEIGHTS: (0, 8), SPREAD_WEIGHTS: (-20, 8), UNEVEN_WEIGHTS: (-20, 8),
}  # fmt: skip
"""Least and largest exponent of the powers of two that multiply a positive buffer. 2^-20 is a tenth of BatchNorm's
epsilon."""

OTHER_SCALE = {NEGATED_WEIGHTS: 1.0, SCALED_WEIGHTS: SCALE, SPREAD_WEIGHTS: SCALE, UNEVEN_WEIGHTS: SCALE}
"""Standard deviation of the values added to a buffer that is not positive, such as a running mean of zeros."""

HALF_RANGE = 8
"""Limit on the size of these exponents in float16, whose smallest normal number is 2^-14."""

SPREAD_EXPONENTS = {SPREAD_WEIGHTS: (-8, 20), UNEVEN_WEIGHTS: (-8, 4)}
"""Least and largest exponent of the powers of two that multiply each element of a parameter. SPREAD_WEIGHTS goes past
the largest fp16 number. UNEVEN_WEIGHTS stays around the given values, for networks that overflow after some layers."""


MOST_BIAS_FACTOR = 1024.0
"""Limit on the factor of small biases. PyTorch draws them below 1 / sqrt(n) for n inputs, and n is rarely over 2^20."""


def redraw(module: nn.Module, distribution: str, seed: int) -> None:
    """Change parameters and constant buffers in place. Distributions of inputs only change the buffers, by a little."""
    for position, buffer in enumerate(module.buffers()):
        if _real(buffer) and bool((buffer == buffer.flatten()[0]).all()):
            generator = torch.Generator(device=buffer.device).manual_seed(seed + position)
            _redraw_buffer(buffer, distribution, generator)
    for position, (name, parameter) in enumerate(module.named_parameters()):
        if not _real(parameter) or bool((parameter == parameter.round()).all()):
            continue
        if distribution == NEGATED_WEIGHTS:
            parameter.mul_(-_bias_factor(parameter) if _is_bias(name) else -1.0)
        elif distribution == SCALED_WEIGHTS:
            parameter.mul_(SCALE)
        elif distribution in SPREAD_EXPONENTS:
            generator = torch.Generator(device=parameter.device).manual_seed(seed + position)
            parameter.mul_(_powers(parameter, SPREAD_EXPONENTS[distribution], generator))


def _is_bias(name: str) -> bool:
    """Whether a parameter of this name is a bias: "bias", "conv.bias", "bias_ih_l0"."""
    return "bias" in name.rpartition(".")[2]


def _bias_factor(bias: Tensor) -> float:
    """The power of two that takes a small bias to a root mean square of about 1; 1 for a larger one."""
    rms = float(bias.double().square().mean().sqrt())
    return 2.0 ** round(math.log2(min(max(1 / rms, 1.0), MOST_BIAS_FACTOR))) if rms else 1.0


def _redraw_buffer(buffer: Tensor, distribution: str, generator: torch.Generator) -> None:
    """Change a buffer that is filled with one value, in place."""
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
    """A random power of two for each element. The exponents are not whole numbers, so the bits are ordinary."""
    least, most = exponents
    if tensor.dtype == torch.float16:
        least, most = max(least, -HALF_RANGE), min(most, HALF_RANGE)
    drawn = torch.rand(tensor.shape, generator=generator, device=tensor.device)
    return torch.exp2(least + (most - least) * drawn).to(tensor.dtype)


def _real(tensor: Tensor) -> bool:
    """Whether a tensor holds finite floats of at least 16 bits."""
    if not tensor.is_floating_point() or tensor.element_size() < 2 or tensor.numel() == 0:
        return False
    return math.isfinite(float(tensor.flatten()[0])) and bool(tensor.isfinite().all())
