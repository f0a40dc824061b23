"""Large values decide only where the rounding of intermediate results does not."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils._pytree import tree_leaves

from kernelwright.worker.judge import elementwise, rounding
from kernelwright.worker.judge.judge import Judge
from kernelwright.worker.reference import values
from kernelwright.worker.reference.instance import Instance, cast

PROBLEM = """
import torch
import torch.nn.functional as F
import torch.nn.functional as F

class Model(torch.nn.Module):
    def forward(self, q, k, v):
        keep = torch.ones(8, 8, dtype=torch.bool, device=q.device).tril()
        return {expression}

CASES = [dict(name="small", small=True, d=24), dict(name="timed", d=16)]

def get_inputs(d=24):
    return [torch.randn(2, 8, d), torch.randn(2, 8, d), torch.randn(2, 8, d)]

def get_init_inputs():
    return []
"""

ATTENTION = "torch.softmax((q @ k.mT * {scale}).masked_fill(~keep, float('-inf')), dim=-1) @ v"


def judge(folder: Path, expression: str) -> Judge:
    file = folder / "problem.py"
    file.write_text(PROBLEM.format(expression=expression))
    made = Judge("cpu")
    made.load(str(file))
    return made


def decided(made: Judge) -> dict[str, str]:
    """What was drawn for each distribution of large values."""
    found = {}
    for draw in made.draws_for("small"):
        asked = values.DISTRIBUTIONS[draw % len(values.DISTRIBUTIONS)]
        if asked in (values.LARGE, values.HUGE):
            found[asked] = made.answer("small", draw).distribution
    return found


PRODUCTS = [
    ATTENTION.format(scale=0.3),
    "F.scaled_dot_product_attention(q, k, v, is_causal=True)",
    "torch.log_softmax(q @ k.mT * 0.3, dim=-1)",
    "torch.logsumexp(q @ k.mT * 0.3, dim=-1)",
    "torch.exp(q * 0.3 - (q * 0.3).amax(dim=-1, keepdim=True)) + 0 * (k + v)",
    "torch.sin(q * 0.3) + 0 * (k + v)",
]


@pytest.mark.parametrize("expression", PRODUCTS)
def test_large_values_do_not_decide_where_rounding_of_what_is_exponentiated_does(
    tmp_path: Path, expression: str
) -> None:
    """Such draws are not used, or leave out the elements that another reading moves."""
    made = judge(tmp_path, expression)
    for draw in made.draws_for("small"):
        answer = made.answer("small", draw)
        if answer.distribution not in (values.LARGE, values.HUGE, values.GREAT):
            continue
        ((left_out,), (expected,)) = answer.left_out, answer.expected
        (other,) = rounding.roughly(cast(answer.instance, "float64"), torch.float32, seed=1234)
        assert left_out is not None
        assert bool((left_out | ((other - expected).abs() <= 1e-3)).all())


@pytest.mark.parametrize("expression", [
    ATTENTION.format(scale=0.25),
    "torch.log_softmax(q @ k.mT, dim=-1)",
    "torch.logsumexp(q @ k.mT, dim=-1)",
])  # fmt: skip
def test_scores_that_are_exact_in_any_order_decide_instead(tmp_path: Path, expression: str) -> None:
    """Inputs as given may stand for values of which a draw shows nothing, which about one judge in twenty draws."""
    expected = {values.LARGE: values.PLAIN[values.LARGE], values.HUGE: values.PLAIN[values.GREAT]}
    seen = set[tuple[str, str]]()
    for _ in range(5):
        found = decided(judge(tmp_path, expression))
        assert all(found[asked] in (drawn, values.AS_GIVEN) for asked, drawn in expected.items())
        seen |= found.items()
        if seen >= expected.items():
            break
    assert seen >= expected.items()


@pytest.mark.parametrize("expression", [
    "torch.softmax(q, dim=-1) + 0 * (k + v).clamp(-1, 1)",
    "torch.log_softmax(q.masked_fill(~keep[:, :1], 0.0), dim=-1) + 0 * (k + v).clamp(-1, 1)",
    "q.amax(dim=-1) + 0 * (k + v).amax(dim=-1).clamp(-1, 1)",
    "q * 0.3 + k + v",
    "torch.relu(q) + k * 0.1 + F.silu(v)",
])  # fmt: skip
def test_large_values_decide_where_rounding_does_not(tmp_path: Path, expression: str) -> None:
    assert decided(judge(tmp_path, expression)) == {values.LARGE: values.LARGE, values.HUGE: values.HUGE}


@pytest.mark.parametrize("expression", ["F.silu(q) * k + v", "q * F.silu(k) * v", "torch.relu(q) * F.gelu(k) + v"])
def test_values_whose_products_overflow_in_another_order_do_not_decide(tmp_path: Path, expression: str) -> None:
    assert values.HUGE not in decided(judge(tmp_path, expression)).values()


@pytest.mark.parametrize(("expression", "is_used"), [
    ("q.std(-1) + 0 * (k + v).amax(-1)", False),
    ("q / (1 + q.std(-1, keepdim=True)) + 0 * (k + v)", False),
    ("torch.hypot(q, k) + 0 * v", True),
    ("torch.nn.functional.normalize(q).abs().clamp(max=0.0) + k - v", False),
    ("torch.zeros_like(q).normal_(generator=torch.Generator().manual_seed(0)) + q + k + v", True),
])  # fmt: skip
def test_huge_values_decide_unless_an_operator_overflows_in_float32_whatever_its_name(
    tmp_path: Path, expression: str, is_used: bool
) -> None:
    """PyTorch on the CPU computes a standard deviation in float64, so that its squares do not overflow."""
    assert (values.HUGE in decided(judge(tmp_path, expression)).values()) == is_used


class Product(torch.nn.Module):
    def __init__(self, of: Callable[[Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.of = of

    def forward(self, x: Tensor, w: Tensor) -> Tensor:
        return self.of(x, w)


@pytest.mark.parametrize("of", [
    lambda x, w: x.view(1, 3) @ w.view(3, 1),
    lambda x, w: torch.addmm(torch.zeros(1, dtype=x.dtype), x.view(1, 3), w.view(3, 1)),
    lambda x, w: torch.mv(x.view(1, 3), w),
    torch.dot,
    torch.vdot,
    lambda x, w: 1024 * torch.addmm(torch.zeros(1, dtype=x.dtype), x.view(1, 3), w.view(3, 1), alpha=1 / 1024),
    lambda x, w: torch.addbmm(torch.zeros(1, dtype=x.dtype), x.view(3, 1, 1), w.view(3, 1, 1)),
    lambda x, w: F.bilinear(x.view(1, 3), torch.ones(1, 1, dtype=x.dtype), w.view(1, 3, 1)),
    lambda x, w: F.conv1d(x.view(1, 1, 3), w.view(1, 1, 3), torch.zeros(1, dtype=x.dtype)),
    lambda x, w: F.conv2d(x.view(1, 3, 1, 1), w.view(1, 3, 1, 1)),
    lambda x, w: F.conv_transpose1d(x.view(1, 3, 1), w.view(3, 1, 1)),
    lambda x, w: torch.ops.aten.convolution_backward(
        x.view(1, 3, 1), x.new_zeros(1, 1, 1), w.view(3, 1, 1), [0], [1], [0], [1], False, [0], 1, [True, False, False]
    )[0],
], ids=["mm", "addmm", "mv", "dot", "vdot", "addmm with alpha", "addbmm", "bilinear", "conv1d", "conv2d",
        "conv_transpose1d", "convolution_backward"])  # fmt: skip
def test_a_sum_that_cancels_moves_by_the_rounding_of_its_terms(of: Callable[[Tensor, Tensor], Tensor]) -> None:
    """Terms of 1e6 and a total of 1/9: a kernel that sums in another order is off by a sixteenth."""
    x, w = torch.tensor([math.pi * 1e6, 1 / 3, -math.pi * 1e6]), torch.full((3,), 1 / 3)
    wide = cast(Instance(Product(of), (x, w), (), ("x", "w"), (), Path("products.py")), "float64")
    moved = [abs(float(rounding.roughly(wide, torch.float32, seed)[0].sum()) - 1 / 9) for seed in range(20)]
    assert 1 / 8 < max(moved) < 1 / 2


@pytest.mark.parametrize(("w", "is_moved"), [
    ([1 / 3, 1 / 7, 0.0], True),
    ([3.0, 5.0, 0.0], False),
    ([0.0, 0.0, 0.0], False),
], ids=["thirds", "whole numbers", "zeros"])  # fmt: skip
def test_a_total_that_is_exact_moves_unless_its_partial_sums_are_exact_too(w: list[float], is_moved: bool) -> None:
    """Totals that nearly cancel have few digits, and float32 holds them: the sign of such a total is not exact."""
    x, weights = torch.tensor([1.0, 3.0, 1.0]) * 2.0**104, torch.tensor(w)
    weights[2] = -(weights[0] + 3 * weights[1])
    wide = cast(Instance(Product(torch.dot), (x, weights), (), ("x", "w"), (), Path("products.py")), "float64")
    exact = float(x.double() @ weights.double())
    assert torch.tensor(exact).float().double() == exact
    moved = [abs(float(rounding.roughly(wide, torch.float32, seed)[0]) - exact) for seed in range(20)]
    assert (max(moved) > 2.0**104 * torch.finfo(torch.float32).eps / 4) == is_moved
    assert is_moved or max(moved) == 0.0


def test_what_is_added_to_a_product_is_no_partial_sum() -> None:
    """The addend of 1e6 / 3 is rounded once, when it is read, and the product of 3 hardly."""
    x, w = torch.full((3,), 3.0), torch.full((3,), 1 / 3)
    added = -1e6 / 3

    def of(x: Tensor, w: Tensor) -> Tensor:
        return torch.addmm(torch.full((1,), added, dtype=x.dtype), x.view(1, 3), w.view(3, 1))

    wide = cast(Instance(Product(of), (x, w), (), ("x", "w"), (), Path("products.py")), "float64")
    exact = 3.0 * float(w.double().sum()) + added
    moved = [abs(float(rounding.roughly(wide, torch.float32, seed)[0]) - exact) for seed in range(20)]
    assert max(moved) < 1.01 * 1e6 / 3 * torch.finfo(torch.float32).eps


def test_partial_sums_in_half_precision_are_kept_in_float32() -> None:
    """The factors are exact in bfloat16, the total 300.0078125 is not: an error of its eps in each term would move that
    by twenty."""
    x, w = torch.ones(3000), torch.ones(3000)
    x[:2700:2], w[1] = -1.0, 1 + 2.0**-7
    wide = cast(
        Instance(Product(torch.dot), (x.bfloat16(), w.bfloat16()), (), ("x", "w"), (), Path("products.py")), "float64"
    )
    exact = float(x.double() @ w.double())
    moved = [abs(float(rounding.roughly(wide, torch.bfloat16, seed)[0]) - exact) for seed in range(20)]
    assert max(moved) < 1e-3


def attention(q: Tensor, k: Tensor, v: Tensor, scale: float, fused: bool) -> Tensor:
    """Honest causal attention in float32. fused: scores less the maximum by a fused multiply-add, of scores that were
    summed once more in another order."""
    keep = torch.ones(8, 8, dtype=torch.bool).tril()
    scores = q @ k.mT
    largest = (scores * scale).masked_fill(~keep, -torch.inf).amax(dim=-1, keepdim=True)
    again = q.flip(-1) @ k.flip(-1).mT
    shifted = (again.double() * scale - largest.double()).float() if fused else scores * scale - largest
    e = shifted.exp().masked_fill(~keep, 0.0)
    return (e / e.sum(dim=-1, keepdim=True)) @ v


@pytest.mark.parametrize("scale", [0.25, 0.3, 24**-0.5])
def test_an_honest_kernel_with_fused_multiply_adds_is_right_on_every_draw(tmp_path: Path, scale: float) -> None:
    x = 2.0**20 * torch.randn(3, 64, 8, 24, generator=torch.Generator().manual_seed(1))
    assert bool(attention(x[0], x[1], x[2], scale, fused=False).isfinite().all())
    assert not bool(attention(x[0], x[1], x[2], scale, fused=True).isfinite().all()), (
        "what the draw would hold against it"
    )

    made = judge(tmp_path, ATTENTION.format(scale=scale))
    for draw in made.draws_for("small"):
        q, k, v = (one for one in made.answer("small", draw).instance.inputs if isinstance(one, Tensor))
        for fused in (False, True):
            found = made._compared("small", draw, 0, attention(q, k, v, scale, fused))
            assert not found.reason, found.reason


def test_a_mask_of_a_finite_number_is_still_found(tmp_path: Path) -> None:
    """In one of fourteen processes two rows have equal maxima, and that draw is replaced."""
    keep = torch.ones(8, 8, dtype=torch.bool).tril()
    refused = set()
    for made in (judge(tmp_path, ATTENTION.format(scale=0.25)) for _ in range(4)):
        for draw in made.draws_for("small") if not refused else ():
            q, k, v = (one for one in made.answer("small", draw).instance.inputs if isinstance(one, Tensor))
            wrong = torch.softmax((q @ k.mT * 0.25).masked_fill(~keep, -1e30), dim=-1) @ v
            if made._compared("small", draw, 0, wrong).reason:
                refused.add(made.answer("small", draw).distribution)
    assert refused == {values.PLAIN[values.GREAT]}


CORRECTED = """
import torch
import torch.nn.functional as F

class Model(torch.nn.Module):
    def forward(self, x, beta):
        return x / (1 - beta)

CASES = [dict(name="small", small=True, columns=24), dict(name="timed", columns=4096)]

def get_inputs(columns=24):
    return [torch.randn(8, columns), 0.999]

def get_init_inputs():
    return []
"""


@pytest.mark.parametrize("case", ["small", "timed"])
def test_a_number_reaches_a_kernel_in_float32(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    """Also on a case that is too large to meet every distribution, as the timed one is here."""
    monkeypatch.setattr("kernelwright.worker.judge.draws.AFFORDABLE_BYTES", 4096)
    file = tmp_path / "problem.py"
    file.write_text(CORRECTED)
    made = Judge("cpu")
    made.load(str(file))
    assert made.draws.is_affordable(case) == (case == "small")
    for draw in made.draws_for(case):
        x = made.answer(case, draw).instance.inputs[0]
        assert isinstance(x, Tensor)
        for dtype, is_honest in ((torch.float32, True), (torch.float16, False)):
            beta = torch.tensor(0.999, dtype=dtype).float()
            found = made._compared(case, draw, 0, x / (1 - beta))
            is_nothing = made.answer(case, draw).distribution == values.ZEROS
            assert bool(found.reason) != (is_honest or is_nothing), (dtype, found.reason)


DECAYED = """
import torch
import torch.nn.functional as F
import torch.nn.functional as F

class Model(torch.nn.Module):
    def forward(self, state, x, dt, b):
        step = F.softplus(dt)
        return state * torch.exp(-step) + step * x * b

CASES = [dict(name="small", small=True, n=1500), dict(name="timed", n=1501)]

def get_inputs(n=1500):
    return [torch.randn(n), torch.randn(n), torch.randn(n), torch.randn(n)]

def get_init_inputs():
    return []
"""


def softplus(x: Tensor) -> Tensor:
    """As kernels have it: small results are as precise as 1 is."""
    return torch.where(x <= 20, torch.log(torch.exp(x) + 1), x)


def coarse_softplus(x: Tensor) -> Tensor:
    """With the exponential in half precision."""
    return torch.where(x <= 10, torch.log(torch.exp(x).half().float() + 1), x)


def test_a_softplus_by_its_formula_is_right_where_its_small_results_are_multiplied(tmp_path: Path) -> None:
    file = tmp_path / "problem.py"
    file.write_text(DECAYED)
    made = Judge("cpu")
    made.load(str(file))
    found: dict[str, set[bool]] = {"honest": set(), "coarse": set()}
    for draw in made.draws_for("small"):
        state, x, dt, b = (one for one in made.answer("small", draw).instance.inputs if isinstance(one, Tensor))
        for name, function in (("honest", softplus), ("coarse", coarse_softplus)):
            step = function(dt)
            reason = made._compared("small", draw, 0, state * torch.exp(-step) + step * x * b).reason
            found[name].add(bool(reason))
    assert found["honest"] == {False}
    assert True in found["coarse"]


COMPOSED = """
import torch
import torch.nn.functional as F
import torch.nn.functional as F

class Model(torch.nn.Module):
    def forward(self, x, y):
        return {expression}

CASES = [dict(name="small", small=True, n=500), dict(name="timed", n=501)]

def get_inputs(n=500):
    return [torch.randn(n), torch.randn(n)]

def get_init_inputs():
    return []
"""

EPS = torch.finfo(torch.float32).eps
Function = Callable[[Tensor], Tensor]


def logistic_tanh(x: Tensor) -> Tensor:
    return 2 * torch.sigmoid(2 * x) - 1


def exponential_tanh(x: Tensor) -> Tensor:
    e = torch.exp(-2 * x.abs())
    return torch.copysign((1 - e) / (1 + e), x)


def zero_where_small(function: Function, eps: float) -> Function:
    return lambda x: torch.where(function(x).abs() < eps * EPS, 0 * x, function(x))


def linear_where_small(function: Function, limit: float) -> Function:
    return lambda x: torch.where(x.abs() < limit, x, function(x))


def of_half_precision(function: Function) -> Function:
    return lambda x: function(x).half().float()


HONEST: dict[str, list[Function]] = {
    "torch.tanh": [logistic_tanh, exponential_tanh, linear_where_small(torch.tanh, 1e-3)],
    "F.softplus": [softplus, lambda x: torch.relu(x) + torch.log(1 + torch.exp(-x.abs()))],
    "torch.expm1": [lambda x: torch.exp(x) - 1, linear_where_small(torch.expm1, 1e-4)],
    "torch.log1p": [lambda x: torch.log(1 + x), linear_where_small(torch.log1p, 1e-4)],
}
WRONG: dict[str, list[Function]] = {
    "torch.tanh": [linear_where_small(torch.tanh, 0.03), zero_where_small(torch.tanh, 32),
                   of_half_precision(torch.tanh)],
    "F.softplus": [coarse_softplus, lambda x: torch.where(x < -4, torch.exp(x), F.softplus(x)),
                   lambda x: torch.where(x > 6, x, F.softplus(x))],
    "torch.expm1": [linear_where_small(torch.expm1, 0.01), zero_where_small(torch.expm1, 32),
                    lambda x: torch.where(x.abs() < 0.1, x + x * x / 2, torch.expm1(x))],
    "torch.log1p": [linear_where_small(torch.log1p, 0.01), zero_where_small(torch.log1p, 32),
                    lambda x: torch.where(x.abs() < 0.1, x - x * x / 2, torch.log1p(x))],
}  # fmt: skip


def refusals(made: Judge, candidate: Callable[[Tensor, Tensor], Tensor]) -> list[str]:
    found = []
    for draw in made.draws_for("small"):
        x, y = (one for one in made.answer("small", draw).instance.inputs if isinstance(one, Tensor))
        found.append(made._compared("small", draw, 0, candidate(x, y)).reason)
    return [reason for reason in found if reason]


@pytest.mark.parametrize("name", HONEST)
@pytest.mark.parametrize("seed", [1, 2])
def test_functions_of_exp_and_log_are_right_and_coarser_ones_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, seed: int
) -> None:
    """Where small results are multiplied, or divided by what is as small, an error of theirs is seen."""
    monkeypatch.setattr("kernelwright.worker.judge.draws.secrets", SimpleNamespace(randbits=lambda bits: seed))
    small = "x.abs()" if name == "torch.log1p" else "x"

    def large(function: Function) -> Callable[[Tensor, Tensor], Tensor]:
        return lambda x, y: y - function(1e-3 * (x.abs() if small == "x.abs()" else x)) * 1000

    def plain(function: Function) -> Callable[[Tensor, Tensor], Tensor]:
        return lambda x, y: function(x.abs() if small == "x.abs()" else x) + 0 * y

    def quotient(function: Function) -> Callable[[Tensor, Tensor], Tensor]:
        return lambda x, y: y * function(x.abs() if small == "x.abs()" else x) / (0.001 + x.abs())

    spellings = {
        f"y - {name}(1e-3 * {small}) * 1000": large,
        f"{name}({small}) + 0 * y": plain,
        f"y * {name}({small}) / (0.001 + x.abs())": quotient,
    }
    caught: set[int] = set()
    for expression, made_of in spellings.items():
        file = tmp_path / "problem.py"
        file.write_text(COMPOSED.format(expression=expression))
        made = Judge("cpu")
        made.load(str(file))
        for honest in HONEST[name]:
            assert refusals(made, made_of(honest)) == []
        caught |= {place for place, wrong in enumerate(WRONG[name]) if refusals(made, made_of(wrong))}
    assert caught == {*range(len(WRONG[name]))}


def test_an_error_of_a_few_eps_is_explained_at_every_element_and_one_of_twice_as_many_at_none(tmp_path: Path) -> None:
    """By chance it was 16 eps at one element and less than one at another."""
    file = tmp_path / "problem.py"
    file.write_text(COMPOSED.format(expression="y - torch.tanh(1e-3 * x) * 1000"))
    made = Judge("cpu")
    made.load(str(file))
    answer = made.answer("small", 0)
    x, y = (one for one in answer.instance.inputs if isinstance(one, Tensor))
    right = y.double() - torch.tanh(1e-3 * x.double()) * 1000
    sensitive = answer.sensitive[0]
    assert sensitive is not None
    for eps, explained in ((6, True), (12, False)):
        off = (right + 1000 * eps * EPS).float()
        kept = elementwise.without_explained(off, right, sensitive, torch.float32) == right.float()
        assert bool(kept[x.abs() < 2].all()) == explained
        assert bool(kept[x.abs() < 2].any()) == explained


QUANTISER = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        scale = x.abs().amax(-1, keepdim=True)
        return {expression}.to(torch.int8)

CASES = [dict(name="small", small=True, rows=64), dict(name="timed", rows=32)]

def get_inputs(rows):
    return [torch.cat([torch.ones(rows, 1), torch.randn(rows, 255).sign() / 2], dim=1)]

def get_init_inputs():
    return []
"""


@pytest.mark.parametrize("expression", [
    "torch.round(x / (scale / 127))", "x.clone().div_(scale.div_(127)).round_()",
])  # fmt: skip
@pytest.mark.parametrize("largest", [1.0, 1143 / 1024])
def test_every_value_next_to_a_step_may_be_on_either_side_of_it(
    tmp_path: Path, largest: float, expression: str
) -> None:
    """16,320 values of 63.5. A published quantiser was refused on a GPU for one of some hundred such values, because
    random roundings of its scale and its quotient all stayed on one side. With a scale of 9/1024 the quotients are
    exact, and x * (1024 / 9) is not."""
    file = tmp_path / "problem.py"
    file.write_text(QUANTISER.replace("{expression}", expression).replace("dim=1)]", f"dim=1) * {largest}]"))
    made = Judge("cpu")
    made.load(str(file))
    (x,) = made.answer("small", 0).instance.inputs
    assert isinstance(x, Tensor)
    exact = x.double() / (largest / 127)
    one, other = torch.floor(exact.abs()) * exact.sign(), torch.ceil(exact.abs()) * exact.sign()
    assert int((one != other).sum()) == 64 * 255
    for side in (one, other):
        assert not made._compared("small", 0, 0, side.to(torch.int8)).reason
    for beyond in (one - exact.sign(), other + exact.sign()):
        assert made._compared("small", 0, 0, beyond.clamp(-127, 127).to(torch.int8)).reason


@pytest.mark.parametrize(("first", "is_either"), [(1 / 3, True), (1.0, False)])
def test_a_scale_that_is_a_whole_number_is_rounded_unless_only_whole_numbers_are_divided(
    tmp_path: Path, first: float, is_either: bool
) -> None:
    """A published quantiser that rounds halves away from zero was refused in a row of float16 whose largest value a
    draw had made 1016: 26.5 is exact at a scale of 8, and was rounded in all other rows."""
    file = tmp_path / "problem.py"
    rows = f"dim=1) * 1016 * torch.cat([torch.tensor([{first}]), torch.ones(rows - 1)])[:, None]"
    made = QUANTISER.replace("{expression}", "torch.round(x / (scale / 127))").replace("dim=1)", rows)
    file.write_text(made)
    judge = Judge("cpu")
    judge.load(str(file))
    expected = judge.answer("small", 0).expected[0]
    away = torch.where(expected.abs() == 64, expected, expected.sign() * 127)
    assert int((expected[1:].abs() == 64).sum()) == 63 * 255, "63.5, to even"
    towards = away.where(away.abs() == 127, away.sign() * 63)
    assert not judge._compared("small", 0, 0, away).reason
    assert bool(judge._compared("small", 0, 0, towards).reason) != is_either


SCALED = """
import torch

class Model(torch.nn.Module):
    def forward(self, x, y):
        return (x{cast} * y * 0.1).round().clamp(-128, 127).to(torch.int8)

CASES = [dict(name="small", small=True, rows=64, dtype="{dtype}"), dict(name="timed", rows=32, dtype="{dtype}")]

def get_inputs(rows):
    return [10 * torch.randn(rows, 200), 10 * torch.randn(rows, 200)]

def get_init_inputs():
    return []
"""


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("cast", ["", ".float()"])
def test_whole_numbers_of_half_precision_may_be_rounded_in_fewer_places_unless_forward_casts(
    tmp_path: Path, dtype: torch.dtype, cast: str
) -> None:
    file = tmp_path / "problem.py"
    file.write_text(SCALED.replace("{cast}", cast).replace("{dtype}", str(dtype).removeprefix("torch.")))
    made = Judge("cpu")
    made.load(str(file))
    x, y = (one.float() for one in made.answer("small", 0).instance.inputs if isinstance(one, Tensor))
    exact, rounded_first, rounded_last = x * y * 0.1, (x * y).to(dtype).float() * 0.1, (x * y * 0.1).to(dtype).float()

    def is_right(value: Tensor) -> bool:
        return not made._compared("small", 0, 0, value.round().clamp(-128, 127).to(torch.int8)).reason

    assert is_right(exact)
    assert is_right(rounded_first) == is_right(rounded_last) == (not cast)
    assert not is_right(torch.floor(exact)), "and a kernel that cuts off is wrong in either"


CAST = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return (x / 3).to(torch.{dtype})

CASES = [dict(name="small", small=True, rows=2), dict(name="timed", rows=4)]

def get_inputs(rows):
    return [torch.tensor([[3 + 3 * torch.finfo(torch.{dtype}).eps / 2 + 2.0**-22, 6.0]]).repeat(rows, 8)]

def get_init_inputs():
    return []
"""


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_where_forward_casts_to_half_precision_a_value_next_to_a_step_may_be_on_either_side_of_it(
    tmp_path: Path, dtype: torch.dtype
) -> None:
    """The framework is on the side of float64 by chance, so that it has no error. An honest kernel was refused for
    float32's last digit."""
    file = tmp_path / "problem.py"
    file.write_text(CAST.replace("{dtype}", str(dtype).removeprefix("torch.")))
    judge, eps = Judge("cpu"), torch.finfo(dtype).eps
    judge.load(str(file))

    def is_right(first: float, second: float) -> bool:
        return not judge._compared("small", 0, 0, torch.tensor([[first, second]]).repeat(2, 8).to(dtype)).reason

    assert judge.draws.limit("small", 0, 0).exact
    assert is_right(1 + eps, 2.0)
    assert is_right(1.0, 2.0)
    assert not is_right(1 + 2 * eps, 2.0)
    assert not is_right(1 + eps, 2 + 2 * eps)


@pytest.mark.parametrize(("dtype", "tiny"), [(torch.float16, 2.0**-14), (torch.bfloat16, 2.0**-20)])
def test_where_forward_casts_a_difference_to_half_precision_all_that_rounding_explains_is_right(
    tmp_path: Path, dtype: torch.dtype, tiny: float
) -> None:
    """An error of float32 before the difference is several steps of it."""
    file = tmp_path / "problem.py"
    text = CAST.replace("{dtype}", str(dtype).removeprefix("torch.")).replace("(x / 3)", "(x / 3 - 1)")
    file.write_text(text.replace(text[text.index("[[") : text.index("]]") + 2], f"[[{3 * (1 + tiny)}, 6.0]]"))
    judge, step = Judge("cpu"), tiny * torch.finfo(dtype).eps
    judge.load(str(file))
    assert judge.draws.limit("small", 0, 0).exact
    for off, is_right in ((0, True), (step, True), (128 * step, False)):
        made = torch.tensor([[tiny + off, 1.0]]).repeat(2, 8).to(dtype)
        assert bool(judge._compared("small", 0, 0, made).reason) != is_right, off


LOG2E = 1.4426950408889634

SOFTMAX = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return torch.{function}(x, dim=-1)

CASES = [dict(name="small", small=True, rows=24), dict(name="timed", rows=16)]

def get_inputs(rows):
    return [4 * torch.randn(rows, 200)]

def get_init_inputs():
    return []
"""


@pytest.mark.parametrize("function", ["softmax", "log_softmax"])
def test_the_logarithm_of_a_row_s_sum_may_be_one_rounded_number(tmp_path: Path, function: str) -> None:
    """Kernels save it for the backward: exp(x - it) is off by an eps of it, also where the result is 1."""
    file = tmp_path / "problem.py"
    file.write_text(SOFTMAX.format(function=function))
    made = Judge("cpu")
    made.load(str(file))
    coarse = []
    for draw in made.draws_for("small"):
        (x,) = made.answer("small", draw).instance.inputs
        assert isinstance(x, Tensor)
        shifted = x - torch.logsumexp(x, -1, keepdim=True)
        assert not made._compared("small", draw, 0, shifted.exp() if function == "softmax" else shifted).reason
        if function == "softmax" and made.answer("small", draw).distribution not in values.MAGNITUDES:
            fused = (x.double() * LOG2E - (torch.logsumexp(x, -1, keepdim=True) * LOG2E).double()).float().exp2()
            assert not made._compared("small", draw, 0, fused).reason
        rounded = x - torch.logsumexp(x, -1, keepdim=True).bfloat16().float()
        coarse.append(made._compared("small", draw, 0, rounded.exp() if function == "softmax" else rounded).reason)
    assert coarse[0]
    assert sum(map(bool, coarse)) > len(coarse) / 2


CENTRED = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return {expression}

CASES = [dict(name="small", small=True, columns=51), dict(name="timed", columns=4096)]

def get_inputs(columns=51):
    return [torch.randn(1, 3, columns)]

def get_init_inputs():
    return []
"""


@pytest.mark.parametrize(("expression", "root"), [
    ("x.var(-1, correction=0)", False),
    ("x.std(-1, correction=0)", True),
    ("torch.var_mean(x, -1, correction=0)[0]", False),
    ("torch.std_mean(x, -1, correction=0)[0]", True),
    ("((x - x.mean(-1, keepdim=True)) ** 2).mean(-1)", False),
])  # fmt: skip
def test_a_variance_may_be_about_a_rounded_mean_and_about_no_coarser_one(
    tmp_path: Path, expression: str, root: bool
) -> None:
    """Triton's division is off by up to two units on a GPU, so the mean of equal numbers need not be one of them. What
    then remains of them is small, but other rows of a draw may be smaller still."""
    file = tmp_path / "problem.py"
    file.write_text(CENTRED.format(expression=expression))
    refused = {2: set[str](), 1000: set[str]()}
    for _ in range(4):
        made = Judge("cpu")
        made.load(str(file))
        for draw in made.draws_for("small"):
            answer = made.answer("small", draw)
            x = answer.instance.inputs[0]
            assert isinstance(x, Tensor)
            for units in refused:
                mean = x.double().mean(-1, keepdim=True).float() * (1 + units * EPS / 2)
                variance = ((x - mean) ** 2).mean(-1)
                found = made._compared("small", draw, 0, variance.sqrt() if root else variance)
                refused[units] |= {answer.distribution} if found.reason else set()
    assert not refused[2]
    assert {values.ROWS, values.SLICES} & refused[1000]


def test_the_mean_of_a_variance_is_rounded_whether_it_is_exact_or_not() -> None:
    """The second row's mean has more digits than float32 holds."""
    x = torch.tensor([[0.75] * 3, [0.75, 0.75, 0.75 + EPS]], dtype=torch.float64)
    with rounding.Rough(torch.float32, 1, [], rounding.READINGS[2], 1.0):
        moved = x.var(-1, correction=0)
    assert bool((moved > x.var(-1, correction=0)).all())


def inferred(compute: Callable[[], Tensor]) -> Tensor:
    """Operators that are decomposed elsewhere reach a mode as they are."""
    with torch.inference_mode():
        return compute() * 1


SAME: list[tuple[str, Callable[[Tensor], Any]]] = [
    ("unsqueeze_", lambda x: x.unsqueeze_(0)),
    ("t_", lambda x: x.t_()),
    ("resize_", lambda x: x.resize_(2, 3)),
    ("as_strided_", lambda x: x.as_strided_((2,), (3,))),
    ("lists of tensors", lambda x: (torch._foreach_add_([x], 1.0), x)[1]),
    ("an element", lambda x: (x.__setitem__((0, 0), 2.5), x)[1]),
    ("a power", lambda x: x.pow_(2)),
    ("var in inference mode", lambda x: inferred(lambda: x.clone().var(unbiased=False))),
    ("a view", lambda x: (x.t().mul_(2.5), x)[1]),
    ("a narrower dtype", lambda x: x.half().add_(x)),
    ("whole numbers", lambda x: x.long().div_(2, rounding_mode="floor")),
    ("var of all", lambda x: x.var()),
    ("var of no dimension", lambda x: torch.var(x, [])),
    ("var of one number", lambda x: x[:, :1].var(-1)),
    ("var of nothing", lambda x: x[:, :0].var(-1)),
    ("var of complex numbers", lambda x: torch.complex(x, x).var(-1)),
    ("var with too large a correction", lambda x: x.var(-1, correction=9)),
    ("var_mean", lambda x: torch.var_mean(x, (0, -1), keepdim=True)),
    ("mean of whole numbers", lambda x: x.long().mean(dtype=torch.float64)),
    ("mean of nothing", lambda x: x[:0].mean()),
]


@pytest.mark.filterwarnings("ignore:var")
@pytest.mark.parametrize("compute", [compute for _, compute in SAME], ids=[name for name, _ in SAME])
def test_what_is_rounded_is_otherwise_the_same_computation(compute: Callable[[Tensor], Any]) -> None:
    x = torch.arange(12.0, dtype=torch.float64).reshape(3, 4) / 8
    expected = tree_leaves(compute(x.clone()))
    with rounding.Rough(torch.float32, 1, [], rounding.READINGS[2], 1.0):
        made = tree_leaves(compute(x.clone()))
    for one, other in zip(made, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6, equal_nan=True)


@pytest.mark.parametrize(("expression", "wrong"), [
    ("(x >= x.mean(-1, keepdim=True))", lambda x, mean: (x > mean) | (mean == 0) & (x >= mean)),
    ("torch.floor(x.mean(-1, keepdim=True)).to(torch.int32)",
     lambda x, mean: torch.where(mean == 0, 0.0, (mean.ceil() - 1)).to(torch.int32)),
])  # fmt: skip
def test_a_mean_that_is_a_whole_number_is_exact_where_whole_numbers_are_made_of_it(
    tmp_path: Path, expression: str, wrong: Callable[[Tensor, Tensor], Tensor]
) -> None:
    file = tmp_path / "problem.py"
    text = CENTRED.format(expression=expression).replace("randn(1, 3, columns)", "randint(0, 3, (64, 3)).float()")
    file.write_text(text)
    made = Judge("cpu")
    made.load(str(file))
    refused = 0
    for draw in made.draws_for("small"):
        x = made.answer("small", draw).instance.inputs[0]
        assert isinstance(x, Tensor)
        found = made._compared("small", draw, 0, wrong(x, x.mean(-1, keepdim=True)))
        refused += bool(found.reason)
    assert refused
