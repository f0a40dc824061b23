"""What becomes of parameters and buffers in a draw."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from kernelwright.worker.reference import values, weights


class Layer(nn.Module):
    def __init__(self, dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(4)
        self.weight = nn.Parameter(torch.randn(40, 40, generator=generator).to(dtype), requires_grad=False)
        self.keep = nn.Parameter(torch.ones(8, 8).tril().to(dtype), requires_grad=False)
        self.register_buffer("variance", torch.ones(400, dtype=dtype))
        self.register_buffer("mean", torch.zeros(400, dtype=dtype))
        self.register_buffer("table", torch.linspace(0, 3, 400).sin().to(dtype))
        self.register_buffer("steps", torch.tensor(3))


def redrawn(distribution: str, dtype: torch.dtype = torch.float32) -> Layer:
    layer = Layer(dtype)
    weights.redraw(layer, distribution, 11)
    return layer


EVERY = (*values.DISTRIBUTIONS, values.UNEVEN_WEIGHTS)


@pytest.mark.parametrize("distribution", EVERY)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_what_has_a_structure_stays_and_a_variance_stays_positive(distribution: str, dtype: torch.dtype) -> None:
    before, after = Layer(dtype), redrawn(distribution, dtype)
    for name in ("table", "steps", "keep"):
        assert torch.equal(getattr(before, name), getattr(after, name)), name
    assert float(after.variance.min()) > 0
    assert len(after.mean.unique()) > 20
    for tensor in (*after.parameters(), *after.buffers()):
        assert bool(tensor.isfinite().all())


def test_buffers_vary_by_a_little_where_only_inputs_are_drawn() -> None:
    for distribution in (values.AS_GIVEN, values.SCALED_UP, values.ROWS):
        layer = redrawn(distribution)
        assert torch.equal(layer.weight, Layer().weight)
        assert 0.5 < float(layer.variance.min()) < 1 < float(layer.variance.max()) < 1.5
        assert float(layer.mean.abs().max()) < 0.5


def test_parameters_are_negated_scaled_and_spread() -> None:
    before = Layer().weight
    assert torch.equal(redrawn(values.NEGATED_WEIGHTS).weight, -before)
    assert torch.equal(redrawn(values.SCALED_WEIGHTS).weight, 16 * before)
    for distribution, least, most in ((values.SPREAD_WEIGHTS, -8, 20), (values.UNEVEN_WEIGHTS, -8, 4)):
        exponents = (redrawn(distribution).weight / before).log2()
        assert least - 0.01 <= float(exponents.min()) < least + 1
        assert most - 1 < float(exponents.max()) <= most + 0.01


def test_small_biases_count_where_parameters_are_negated() -> None:
    """A bias of 1/181 is below the tolerance of a sum of 32,768 sigmoids; one of 1 is not."""

    def made(bias: float) -> nn.GRU:
        layer = nn.GRU(3, 40)
        for name, parameter in layer.named_parameters():
            parameter.requires_grad_(False).copy_(torch.linspace(-1, 1, parameter.numel()).view_as(parameter))
            parameter.mul_(bias if "bias" in name else 1.0)
        return layer

    for bias, factor in ((1 / 181, 256), (3.0, 1), (0.0, 1)):
        before, after = made(bias).state_dict(), made(bias)
        weights.redraw(after, values.NEGATED_WEIGHTS, 11)
        for name, parameter in after.named_parameters():
            assert torch.equal(parameter, -before[name] * (factor if "bias" in name else 1)), (name, bias)
        for other in (values.SCALED_UP, values.SCALED_WEIGHTS):
            layer = made(bias)
            weights.redraw(layer, other, 11)
            assert float(layer.bias_ih_l0.abs().max()) <= 16.01 * bias


def test_positive_buffers_come_near_zero_and_grow_and_others_take_both_signs() -> None:
    assert float(redrawn(values.NEGATED_WEIGHTS).variance.min()) < 1e-5
    assert float(redrawn(values.SCALED_WEIGHTS).variance.max()) > 100
    mean = redrawn(values.SCALED_WEIGHTS).mean
    assert float(mean.min()) < -16
    assert float(mean.max()) > 16


def test_the_same_seed_gives_the_same_values() -> None:
    one, other = redrawn(values.SPREAD_WEIGHTS), redrawn(values.SPREAD_WEIGHTS)
    assert all(torch.equal(a, b) for a, b in zip(one.state_dict().values(), other.state_dict().values(), strict=True))
