"""Weight gains for deep networks whose output hardly depends on their inputs.

With default initialisation the signal of the inputs can fade from layer to layer. Then biases decide the output, and a
kernel that ignores an input looks right. In that case the weights of each layer are multiplied by a power of two that
brings the layer's output to a standard deviation of about one. The gains are found layer by layer, in float64, on
random inputs. Nothing else of the network changes.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from torch import Tensor, nn

from kernelwright.worker.reference.instance import Instance, cast, outputs

DEEP = 3
"""Networks with fewer layers that have weights keep their signal and get no gains."""

LOST = 1 / 64
"""The signal is lost if other inputs change every output by less than this share of its size, which is several times
the rounding error of bfloat16."""

MOST = 10
"""Limit on the exponents: gains are 2^-10 to 2^10."""

RECURRENT = (nn.RNNBase, nn.RNNCellBase)
"""Layers that get no gain: larger weights would let rounding errors grow from step to step."""


def gains(one: Instance, other: Instance) -> dict[str, float]:
    """The gain of each parameter, by its name; empty if the signal is not lost, or if gains do not improve it.

    one, other: instances of the same case with different inputs."""
    if not is_deep(one.module):
        return {}
    wide, another = cast(one, "float64"), cast(other, "float64").inputs
    before = heard(wide, another)
    if before >= LOST:
        return {}
    found: dict[str, float] = {}
    names = {parameter: name for name, parameter in wide.module.named_parameters()}
    done: set[nn.Module] = set()

    def rescaled(module: nn.Module, args: Any, kwargs: Any, made: Any) -> Any:
        if module in done:
            return None
        done.add(module)
        gain = _gain(module, made)
        for weight in _weights(module):
            weight.data.mul_(gain)
            found[names[weight]] = found.get(names[weight], 1.0) * gain
        return module(*args, **kwargs) if gain != 1.0 else None

    hooks = [layer.register_forward_hook(rescaled, with_kwargs=True) for layer in _layers(wide.module)]
    outputs(wide)
    for hook in hooks:
        hook.remove()
    return found if heard(wide, another) > before else {}


def is_deep(network: nn.Module) -> bool:
    """Whether the network has at least DEEP layers with weights, so that the signal may fade."""
    return len(_layers(network)) >= DEEP


def apply(module: nn.Module, found: dict[str, float]) -> None:
    """Multiply parameters by their gains. found: the result of `gains`."""
    for name, parameter in module.named_parameters():
        if name in found:
            parameter.data.mul_(found[name])


def heard(wide: Instance, another: tuple[Any, ...]) -> float:
    """How much other inputs change the outputs: the largest rms change of an output, as a share of its rms."""
    before, after = outputs(wide), outputs(replace(wide, inputs=another))
    return max((_share(x, y) for x, y in zip(before, after, strict=True)), default=0.0)


def _share(one: Tensor, other: Tensor) -> float:
    if not one.is_floating_point() or one.shape != other.shape or not one.numel():
        return 1.0  # unknown for whole numbers, so the signal counts as kept
    size, change = float(one.square().mean().sqrt()), float((one - other).square().mean().sqrt())
    return change / size if size and math.isfinite(size) and math.isfinite(change) else 1.0


def _layers(network: nn.Module) -> list[nn.Module]:
    """Modules with weights that contain no other module with weights; attention counts as one layer."""
    holders = [module for module in network.modules() if _weights(module)]
    return [one for one in holders if isinstance(one, nn.MultiheadAttention)
            or not any(other is not one for other in one.modules() if _weights(other))]  # fmt: skip


def _weights(module: nn.Module) -> list[nn.Parameter]:
    """A layer's own parameters of two dimensions or more; none for RECURRENT layers."""
    if isinstance(module, RECURRENT):
        return []
    return [one for one in module.parameters(recurse=False) if one.dim() >= 2 and one.is_floating_point()]


def _gain(module: nn.Module, made: Any) -> float:
    """The power of two that brings a layer's output to a standard deviation of about one around each channel's mean."""
    output = made[0] if isinstance(made, tuple | list) else made
    if not isinstance(output, Tensor) or not output.is_floating_point() or output.dim() == 0 or not output.numel():
        return 1.0
    channel = 1 if max(one.dim() for one in _weights(module)) > 2 and output.dim() > 2 else output.dim() - 1
    by_channel = output.movedim(channel, 0).flatten(1) if output.dim() > 1 else output[:, None]
    deviation = by_channel if by_channel.shape[1] < 2 else by_channel - by_channel.mean(1, keepdim=True)
    size = float(deviation.square().mean().sqrt())
    if not math.isfinite(size) or size == 0.0:
        return 1.0
    return 2.0 ** max(-MOST, min(MOST, round(-math.log2(size))))
