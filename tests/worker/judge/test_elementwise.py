"""Errors of elements in units of what rounding explains there."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from kernelwright.worker.judge import elementwise
from kernelwright.worker.reference import pieces
from kernelwright.worker.reference.instance import Instance

EPS = torch.finfo(torch.float32).eps


class Made(nn.Module):
    def __init__(self, forward: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.made = forward

    def forward(self, x: Tensor) -> Tensor:
        return self.made(x)


def given(module: nn.Module, x: Tensor) -> Instance:
    return Instance(module.requires_grad_(False), (x,), (), ("x",), (), Path("made.py"))


def sensitivity(forward: Callable[[Tensor], Tensor], x: Tensor) -> Tensor | None:
    instance = given(Made(forward), x.double())
    return elementwise.sensitivities(instance, (forward(x.double()),), seed=5)[0]


def known(forward: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    found = sensitivity(forward, x)
    assert found is not None
    return found


def judged(forward: Callable[[Tensor], Tensor], x: Tensor, actual: Tensor, own: float = 1.0) -> str:
    expected = forward(x.double())
    floor = elementwise.typical(expected)
    units = elementwise.in_units(actual, expected, known(forward, x), floor, torch.float32)
    return elementwise.verdict(actual, expected, units, elementwise.allowed(own))


def normal(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(8))


def test_the_sensitivity_of_a_function_of_one_element_is_its_derivative_times_the_element() -> None:
    x = torch.linspace(-8, 8, 4001)
    ratio = known(lambda v: torch.exp(4 * v), x) / (4 * x * torch.exp(4 * x.double())).abs()
    ratio = ratio[x != 0]
    assert 0.2 < float(ratio.min()) < float(ratio.max()) < 6
    assert 1 < float(ratio.median()) < 2


def test_the_sensitivity_of_a_sum_is_that_of_a_random_walk_and_not_of_what_is_left() -> None:
    x = normal(200, 64)
    x[:, -1] -= x.sum(dim=1)  # everything cancels
    found = known(lambda v: v.sum(dim=1), x) / x.double().norm(dim=1)
    assert 0.3 < float(found.min()) < float(found.max()) < 4


def test_a_difference_of_equal_values_is_as_uncertain_as_they_are() -> None:
    x = torch.stack([normal(1000)] * 2)
    found = known(lambda v: v[0] - v[1], x) / x[0].abs()
    assert float(found.min()) > 0.1


def test_masks_and_labels_are_not_moved() -> None:
    labels = torch.tensor([3.0, 1.0, 2.0, 0.0])
    assert not known(lambda v: v * 2.5, labels).any()


def test_floats_that_have_no_digits_for_less_than_one_are_moved() -> None:
    values = torch.tensor([3.0e31, 2.0e31, 1.5e31])
    assert bool((values == values.round()).all())
    assert not elementwise.is_known_exactly(values)
    assert elementwise.is_known_exactly(torch.tensor([3.0, 2.0**24]))


def test_there_is_none_of_whole_numbers_and_where_the_reference_refuses_others() -> None:
    assert sensitivity(lambda v: v.argmax(dim=-1), normal(4, 9)) is None
    x = normal(9)

    def picky(v: Tensor) -> Tensor:
        if not torch.equal(v, x.double()):
            raise RuntimeError("other values")
        return v

    assert sensitivity(picky, x) is None


def test_parameters_are_moved_and_put_back() -> None:
    layer = nn.Linear(6, 3).double().requires_grad_(False)
    weight, before = layer.weight, layer.weight.clone()
    x = torch.zeros(4, 6, dtype=torch.float64)
    found = elementwise.sensitivities(given(layer, x), (layer(x),), seed=1)[0]
    assert found is not None
    assert bool((found > 0).all()), "the bias is rounded, too"
    assert layer.weight is weight
    assert torch.equal(layer.weight, before)


def test_a_tail_set_to_zero_is_off_by_more_than_rounding_explains() -> None:
    x = normal(300)

    def exp4(v: Tensor) -> Tensor:
        return torch.exp(4 * v)

    honest = exp4(x)
    assert judged(exp4, x, honest) == ""
    said = judged(exp4, x, torch.where(x < -1.5, 0.0, honest))
    assert said.startswith("an element is off by ")
    assert "got 0, expected 0.00" in said


def test_rounding_of_the_same_size_as_usual_results_is_honest() -> None:
    x = normal(300)
    x[:20] *= 1e-6
    logistic = 2 * torch.sigmoid(2 * x) - 1  # 1 is taken away from 1.000001
    assert judged(torch.tanh, x, logistic) == ""
    x *= 16
    assert judged(nn.functional.softplus, x, torch.log(1 + torch.exp(x.clamp(max=20))).where(x < 20, x)) == ""


def test_an_ill_conditioned_element_may_be_further_off() -> None:
    x = 1000 + normal(300)

    def centred(v: Tensor) -> Tensor:
        return v - 1000

    rounded = x * (1 + EPS) - 1000
    assert float((rounded - centred(x.double())).abs().max()) > 50 * EPS
    assert judged(centred, x, rounded) == ""


def test_what_is_below_the_smallest_normal_number_may_be_zero() -> None:
    x = torch.linspace(-103, -80, 300)
    exact = torch.exp(x)
    flushed = torch.where(exact < torch.finfo(torch.float32).smallest_normal, 0.0, exact)
    assert not torch.equal(flushed, exact)
    assert judged(torch.exp, x, flushed) == ""
    assert judged(torch.exp, x, torch.where(x < -86.0, 0.0, exact))


def test_where_nothing_finite_is_known_nothing_is_decided() -> None:
    expected = torch.tensor([1.0, math.nan, math.inf, 1.0], dtype=torch.float64)
    actual = torch.tensor([9.0, 1.0, 1.0, 1.0])
    unknown = torch.tensor([math.nan, 0.0, 0.0, math.inf], dtype=torch.float64)
    assert not elementwise.in_units(actual, expected, unknown, 1.0, torch.float32).any()


def test_the_limit_grows_with_the_framework_s_own_error() -> None:
    assert elementwise.allowed(0.0) == elementwise.allowed(1.0) == elementwise.MULTIPLE
    assert elementwise.allowed(5.0) == 5 * elementwise.MULTIPLE


@pytest.mark.parametrize("dtype", [torch.bool, torch.int64])
def test_whole_numbers_have_no_typical_size(dtype: torch.dtype) -> None:
    assert elementwise.typical(torch.tensor([1, 0]).to(dtype)) == 0.0


def test_the_typical_size_is_the_median_of_what_is_finite_and_not_zero() -> None:
    assert elementwise.typical(torch.tensor([0.0, -1.0, 3.0, 100.0, math.inf, math.nan])) == 3.0
    assert elementwise.typical(torch.zeros(4)) == 0.0
    assert elementwise.typical(torch.tensor([3 + 4j])) == 5.0


def test_what_rounding_explains_is_put_right_and_nothing_else() -> None:
    expected = torch.tensor([1.0, 1.0, 1.0], dtype=torch.float64)
    actual = torch.tensor([1 + 40 * EPS, 1 + 40 * EPS, math.nan])
    sensitive = torch.tensor([1.0, 10.0, 10.0], dtype=torch.float64)
    made = elementwise.without_explained(actual, expected, sensitive, torch.float32)
    assert made[:2].tolist() == [actual[0].item(), 1.0]
    assert bool(made[2].isnan())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_in_half_precision_stored_results_are_explained_and_three_bits_are_not(dtype: torch.dtype) -> None:
    x = normal(64, 32).to(dtype).double()

    def forward(x: Tensor) -> Tensor:
        return nn.functional.layer_norm(x.sin(), (32,))

    expected, moved = forward(x), known(forward, x)
    stored = nn.functional.layer_norm(x.sin().to(dtype).double(), (32,)).to(dtype)
    mantissa, exponent = torch.frexp(expected)
    coarse = torch.ldexp((mantissa * 16).round() / 16, exponent).to(dtype)
    left = [
        elementwise.without_explained(made, expected, moved, dtype).double() - expected for made in (stored, coarse)
    ]
    assert float(left[0].square().mean().sqrt()) < 0.5 * torch.finfo(dtype).eps
    assert float(left[1].square().mean().sqrt()) > 2 * torch.finfo(dtype).eps


class Held(TorchDispatchMode):
    """The most bytes that tensors held at once after an operator, beside those that the collector has frozen."""

    def __init__(self) -> None:
        super().__init__()
        self.most = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        storages = [one.untyped_storage() for one in gc.get_objects() if type(one) is Tensor]
        self.most = max(self.most, sum({one.data_ptr(): one.nbytes() for one in storages}.values()))
        return made


def test_a_large_case_is_moved_without_another_copy_in_float64(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its inputs, the largest intermediate result, and parts."""
    for module in (elementwise, pieces):
        monkeypatch.setattr(module, "CHUNK", 1 << 10)
    x = normal(64, 1024)
    exact = [x.double() / (x.double() ** 2).mean(1, keepdim=True).sqrt()]
    instance = given(Made(lambda t: t / (t**2).mean(1, keepdim=True).sqrt()), x)
    gc.collect()
    gc.freeze()
    try:
        with Held() as held:
            found = elementwise.scales_moved(instance, exact, [torch.float32], 7)
    finally:
        gc.unfreeze()
    in_float64 = 2 * x.nbytes
    assert 2 * in_float64 <= held.most < 2.2 * in_float64
    assert 0.5 < found[0].largest < 50


def test_the_moved_tensors_are_never_the_callers() -> None:
    x = normal(4, 8).double()
    before, weight = x.clone(), nn.Linear(8, 3).double()
    kept = weight.weight.clone()
    instance = given(weight, x)
    elementwise.scales_moved(instance, [weight(x)], [torch.float64], 7)
    assert torch.equal(x, before)
    assert torch.equal(weight.weight, kept)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_outputs_that_forward_rounds_show_no_small_step(dtype: torch.dtype) -> None:
    """One flip of a last bit is a million times a step of 1e-9: a tolerance from it let errors of 13 % pass."""
    between = 1 + torch.finfo(dtype).eps / 2 + EPS / 2  # PyTorch rounds to float32 first
    instance = given(Made(lambda x: x.to(dtype)), torch.full((1000,), between, dtype=torch.float64))
    exact = (instance.module(*instance.inputs),)
    assert elementwise.scales_moved(instance, exact, [dtype], 7) == [elementwise.Scale(0.0, 0.0)]


def test_a_move_that_is_not_finite_in_steps_is_left_out() -> None:
    before = torch.tensor([1e300, 1.0], dtype=torch.float64)
    moved = before + torch.tensor([1e300, elementwise.STEP], dtype=torch.float64)
    assert elementwise._scale_moved(moved, before, elementwise.STEP) == elementwise.Scale(1.0, math.sqrt(0.5))
