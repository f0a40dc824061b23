"""The ways in which honest kernels compute operators: each is the same in exact arithmetic, and needed by a kernel."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils._pytree import tree_leaves

from imports import TESTS
from judged import judge_of, refusals
from kernelwright.worker.judge import answer, elementwise, rounding
from kernelwright.worker.judge.choices import CHOICES, Choosing
from kernelwright.worker.judge.rounding import READINGS, ROWS, SIGNED_READINGS, Reading, Rough
from kernelwright.worker.reference import values

EPS = torch.finfo(torch.float32).eps
KEEP = torch.ones(8, 8, dtype=torch.bool).tril()


def attention(x: Tensor) -> Tensor:
    """As Triton compiles it for a GPU: scores are added up from one end for the quotient, and in pairs for the sum."""
    q, k, v = x
    terms = q[:, :, None, :] * k[:, None, :, :]
    one, pairs = terms[..., 0], terms
    for number in range(1, terms.shape[-1]):
        one = one + terms[..., number]
    while pairs.shape[-1] > 1:
        pairs = pairs[..., ::2] + pairs[..., 1::2]
    one, other = ((made * 0.25).masked_fill(~KEEP, -torch.inf) for made in (one, pairs[..., 0]))
    largest = other.amax(-1, keepdim=True)
    share = torch.exp(one - largest) / torch.exp(other - largest).sum(-1, keepdim=True)
    return (share[..., None] * v[:, None, :, :]).sum(-2)


def softmax_of_saved_sum(x: Tensor) -> Tensor:
    """As a backward does: the forward saves the logarithm of each row's sum."""
    return (x - torch.logsumexp(x, -1, keepdim=True)).exp()


def softcap_by_sigmoid(x: Tensor) -> Tensor:
    return 50 * (2 * torch.sigmoid(x / 25) - 1)


def quantised(x: Tensor) -> Tensor:
    """Triton's division is off by up to two units on a GPU."""
    return torch.round(x / (x.abs().amax(-1, keepdim=True) / 127) * (1 - 2 * EPS)).to(torch.int8)


def variance(x: Tensor) -> Tensor:
    """The mean is a sum divided on a GPU."""
    mean = x.double().mean(-1, keepdim=True).float() * (1 + EPS)
    return ((x - mean) ** 2).mean(-1)


ATTENTION = (
    "torch.softmax((x[0] @ x[1].mT * 0.25).masked_fill(~torch.ones(8, 8, dtype=torch.bool).tril(), float('-inf')), -1)"
    " @ x[2]"
)


def product_from_the_last(x: Tensor) -> Tensor:
    """A scan that begins with the last factors."""
    return functools.reduce(torch.mul, x.flip(-1).unbind(-1))


def last_largest(x: Tensor) -> Tensor:
    return x.shape[-1] - 1 - x.flip(-1).argmax(-1, keepdim=True)


def nearest_in_order(x: Tensor) -> Tensor:
    """Each sum from one end; PyTorch adds in blocks."""
    terms = (x[:1] - x[1:]) ** 2
    return x[1:][functools.reduce(torch.add, terms.unbind(-1)).argmin(-1, keepdim=True)]


def first_row_apart(x: Tensor) -> Tensor:
    """A row without any key is 0."""
    share = torch.softmax((x @ x.mT).masked_fill(torch.ones(9, 9).triu() > 0, -torch.inf), -1)
    share[0] = 0
    return share


def clamped_shares(x: Tensor) -> Tensor:
    """NaN is the least number, as a GPU's minimum and maximum drop it."""
    share = (x / x.sum(-1, keepdim=True) * 255).nan_to_num(1.0)
    return share.clamp(0, 255).to(torch.uint8)


SHARES_OF_255 = "(x / x.sum(-1, keepdim=True) * 255).to(torch.uint8)"
NEAREST = "x[1:][((x[:1] - x[1:]) ** 2).sum(-1).argmin(-1, keepdim=True)]"
MIRRORED = "(lambda x, s: torch.cat([x, x + s, x + s.flip(1)]))(torch.randn(1, 40), torch.randn(12, 40))"
ROWS_WITHOUT_KEYS = "torch.softmax((x @ x.mT).masked_fill(torch.ones(9, 9).triu() > 0, -torch.inf), -1).nan_to_num(0.0)"
FACTORS_THAT_OVERFLOW = (
    "torch.cat([torch.full((8, 9), 1e-4), torch.full((8, 9), 1.1e4)], 1) * (1 + torch.rand(8, 18) / 9)"
)
HALVES = "torch.cat([torch.ones(8, 1), torch.randn(8, 31).sign() / 2], 1) * (1143 / 1024)"
"""With a scale of 9/1024 the quotients are exact."""

SEEDS = {"the first of values that rounding moves": 5}
"""By row, where it is not 55: one in which the kernel and PyTorch round to another place."""

KERNELS: dict[str, tuple[str, str, Callable[[Tensor], Tensor]]] = {
    "scores that are computed twice": (ATTENTION, "torch.randn(3, 2, 8, 16)", attention),
    "sums of products in another order": (ATTENTION, "16 * torch.randn(3, 64, 8, 16)", attention),
    "the saved logarithm of a sum": ("torch.softmax(x, -1)", "4 * torch.randn(24, 200)", softmax_of_saved_sum),
    "functions composed of others": ("50 * torch.tanh(x / 50)", "torch.randn(500)", softcap_by_sigmoid),
    "a product with a reciprocal": (
        "torch.round(x / (x.abs().amax(-1, keepdim=True) / 127)).to(torch.int8)", HALVES, quantised
    ),
    "a mean by division": ("((x - x.mean(-1, keepdim=True)) ** 2).mean(-1)", "torch.randn(1, 3, 51)", variance),
    "a variance about a rounded mean": ("x.var(-1, correction=0)", "torch.randn(1, 3, 51)", variance),
    "factors in another order": ("x.prod(-1)", FACTORS_THAT_OVERFLOW, product_from_the_last),
    "equal values in any order": ("x.topk(1, -1).indices", "torch.randint(0, 3, (9, 40)) / 2", last_largest),
    "the first of values that rounding moves": (NEAREST, MIRRORED, nearest_in_order),
    "a cast of no whole number": (SHARES_OF_255, "torch.rand(100, 40) + 0.1", clamped_shares),
    "a NaN of a draw's infinities": (ROWS_WITHOUT_KEYS, "torch.randn(9, 12)", first_row_apart),
}  # fmt: skip
"""By row: a problem and an honest kernel for it."""

ON_A_GPU = {"zeros of a padding"}
"""PyTorch on the CPU multiplies them in float64, so that NaN is expected anyway. On a GPU its depthwise convolution
leaves them out."""


def refusal(folder: Path, patch: pytest.MonkeyPatch, name: str, wrong: Callable[[Tensor], Tensor] | None = None) -> str:
    """Why the kernel of a row, or a wrong one in its place, is refused; "" if no draw refuses it."""
    expression, inputs, honest = KERNELS[name]
    patch.setattr("kernelwright.worker.judge.draws.secrets", SimpleNamespace(randbits=lambda bits: SEEDS.get(name, 55)))
    return next(iter(refusals(judge_of(folder, expression, inputs), wrong or honest).values()), "")


@pytest.mark.parametrize("name", KERNELS)
def test_an_honest_kernel_passes_and_is_refused_without_its_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    assert refusal(tmp_path, monkeypatch, name) == ""
    monkeypatch.delitem(ROWS if name in ROWS else CHOICES, name)
    assert refusal(tmp_path, monkeypatch, name)


FILES = {
    "scores that are computed twice": "causal_shares/scores_computed_twice",
    "sums of products in another order": "causal_shares/scores_computed_twice",
    "the saved logarithm of a sum": "sharp_softmax/of_saved_sum",
    "functions composed of others": "softcap/by_sigmoid",
    "a product with a reciprocal": "int8_rows/by_reciprocal",
    "a mean by division": "squares_about_mean/mean_by_reciprocal",
    "a variance about a rounded mean": "row_variances/mean_by_reciprocal",
    "factors in another order": "row_products/from_the_last",
    "equal values in any order": "largest_place/the_last",
    "the first of values that rounding moves": "nearest_code/in_order",
    "a cast of no whole number": "share_codes/clamped",
    "a NaN of a draw's infinities": "earlier_shares/first_row_apart",
}
"""By row: a kernel of tests/honest, where a worker judges it too."""


@pytest.fixture(scope="module")
def reasons() -> dict[str, tuple[str, str]]:
    """By row, why its file is refused with it and without it, in Triton's interpreter."""
    asked = [f"{row}={file}" for row, file in FILES.items()]
    done = subprocess.run(
        [sys.executable, TESTS / "row_files.py", *asked], capture_output=True, text=True, check=True,
        env={**os.environ, "TRITON_INTERPRET": "1"},
    )  # fmt: skip
    return {row: tuple(both) for row, both in json.loads(done.stdout.splitlines()[-1]).items()}


@pytest.mark.parametrize("row", FILES)
def test_a_kernel_file_passes_and_is_refused_without_its_row(reasons: dict[str, tuple[str, str]], row: str) -> None:
    with_it, without_it = reasons[row]
    assert with_it == ""
    assert without_it


def halved(x: Tensor) -> Tensor:
    """With the digits of half precision, which no row allows."""
    return x.half().float()


def second_nearest(x: Tensor) -> Tensor:
    distance = ((x[:1] - x[1:]).double() ** 2).sum(-1)
    return x[1:][(distance > distance.min() * (1 + 1e-6)).double().div(distance).argmax(-1, keepdim=True)]


def attention_of_halved_scores(x: Tensor) -> Tensor:
    scores = (halved(x[0] @ x[1].mT) * 0.25).masked_fill(~KEEP, -torch.inf)
    return torch.softmax(scores, -1) @ x[2]


def never_apart(x: Tensor) -> Tensor:
    return torch.softmax((x @ x.mT).masked_fill(torch.ones(9, 9).triu() > 0, -torch.inf), -1)


WRONG: dict[str, Callable[[Tensor], Tensor]] = {
    "scores that are computed twice": attention_of_halved_scores,
    "sums of products in another order": attention_of_halved_scores,
    "the saved logarithm of a sum": lambda x: (x - halved(torch.logsumexp(x, -1, keepdim=True))).exp(),
    "functions composed of others": lambda x: 50 * (2 * halved(torch.sigmoid(x / 25)) - 1),
    "a product with a reciprocal": lambda x: (x / halved(x.abs().amax(-1, keepdim=True) / 127)).round().to(torch.int8),
    "a mean by division": lambda x: ((x - halved(x.mean(-1, keepdim=True))) ** 2).mean(-1),
    "a variance about a rounded mean": lambda x: ((x - halved(x.mean(-1, keepdim=True))) ** 2).mean(-1),
    "factors in another order": lambda x: halved(x[:, ::2].prod(-1)) * x[:, 1::2].prod(-1),
    "equal values in any order": lambda x: x.topk(2, -1).indices[:, 1:].contiguous(),
    "the first of values that rounding moves": second_nearest,
    "a cast of no whole number": lambda x: (x / x.sum(-1, keepdim=True) * 255).nan_to_num(1.0).round().to(torch.uint8),
    "a NaN of a draw's infinities": never_apart,
}
"""By row: a kernel that is wrong about what the row allows."""


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_kernel_is_refused_with_the_row_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    assert refusal(tmp_path, monkeypatch, name, WRONG[name])


def test_on_a_problems_own_inputs_rows_explain_errors_up_to_a_fixed_limit(tmp_path: Path) -> None:
    """Scores of about 1000 that are computed twice would explain more."""
    made = judge_of(tmp_path, ATTENTION, "16 * torch.randn(3, 64, 8, 16)")
    own, limit = made.answer("small", 0), made.draws.limit("small", 0, 0)
    (expected,), (sensitive,) = own.expected, own.sensitive
    assert sensitive is not None
    place, most = int(sensitive.argmax()), limit.scale.largest * max(5 * limit.max_rel, EPS**0.5)
    assert EPS * float(sensitive.max()) * elementwise.EXPLAINED_ELSEWHERE > 1.5 * most
    for times, is_right in ((0.98, True), (1.02, False)):
        off = expected.float().flatten()
        off[place] += times * most
        assert (made._compared("small", 0, 0, off.view_as(expected)).reason == "") == is_right


def normal(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(7), dtype=torch.float64)


X, SQUARE, BATCH, FILTER = normal(5, 6), normal(6, 6), normal(2, 6, 6), normal(4, 3, 3)
CALLS: dict[str, Callable[[], Any]] = {
    "_softmax": lambda: torch.softmax(X, -1),
    "_safe_softmax": lambda: torch.ops.aten._safe_softmax(X.masked_fill(X[:, :1] > 0, -torch.inf), -1),
    "_log_softmax": lambda: torch.log_softmax(X, 0), "logsumexp": lambda: torch.logsumexp(X, -1),
    "softplus": lambda: F.softplus(X), "log1p": lambda: torch.log1p(X.abs()), "expm1": lambda: torch.expm1(X),
    "tanh": lambda: torch.tanh(X), "div": lambda: X / 3.0, "reciprocal": lambda: torch.reciprocal(X),
    "mean": lambda: X.mean(0), "prod": lambda: X.prod(1), "cumprod": lambda: X.cumprod(1),
    "var": lambda: X.var(-1), "var_mean": lambda: torch.var_mean(X, 0, keepdim=True),
    "mm": lambda: X @ SQUARE, "bmm": lambda: BATCH @ BATCH, "mv": lambda: torch.mv(X, SQUARE[0]),
    "dot": lambda: torch.dot(X[0], X[1]), "vdot": lambda: torch.vdot(X[0], X[1]),
    "addmm": lambda: torch.addmm(SQUARE[0], X, SQUARE, alpha=0.3), "addmv": lambda: torch.addmv(X[:, 0], X, SQUARE[0]),
    "baddbmm": lambda: torch.baddbmm(BATCH, BATCH, BATCH), "addbmm": lambda: torch.addbmm(SQUARE, BATCH, BATCH),
    "_trilinear": lambda: F.bilinear(X, X, BATCH), "convolution": lambda: F.conv1d(BATCH[:, :3], FILTER),
    "convolution_backward": lambda: torch.ops.aten.convolution_backward(
        normal(2, 4, 4), BATCH[:, :3], FILTER, [4], [1], [0], [1], False, [0], 1, [True, True, False]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted({name for row in ROWS.values() for name in row.operators}))
@pytest.mark.parametrize("reading", [*READINGS[:3], SIGNED_READINGS[0]])
def test_a_row_equals_its_operators_in_exact_arithmetic(name: str, reading: Reading) -> None:
    expected = tree_leaves(CALLS[name]())
    with Rough(torch.float32, 1, [], reading, share=0.0):
        made = tree_leaves(CALLS[name]())
    for one, other in zip(made, expected, strict=True):
        if one is not None:
            torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", sorted({name for row in ROWS.values() for name in row.operators}))
def test_a_row_is_finite_where_its_operators_are_or_does_not_count(name: str) -> None:
    """In a reading with errors."""
    with Rough(torch.float32, 1, [], READINGS[0], share=1.0):
        made = tree_leaves(CALLS[name]())
    assert all(bool(one.isfinite().all()) for one in made if one is not None)


HALVES_AND_MORE = (X * 2).round() / 2
CHOSEN: dict[str, Callable[[], Any]] = {
    "topk": lambda: HALVES_AND_MORE.topk(3, -1), "sort": lambda: HALVES_AND_MORE.sort(-1),
    "kthvalue": lambda: HALVES_AND_MORE.kthvalue(2, -1), "median": lambda: HALVES_AND_MORE.median(-1),
    "mode": lambda: HALVES_AND_MORE.mode(-1), "max": lambda: HALVES_AND_MORE.max(-1),
    "min": lambda: HALVES_AND_MORE.min(-1), "argmax": lambda: HALVES_AND_MORE.argmax(-1),
    "argmin": lambda: HALVES_AND_MORE.argmin(),
    "padding": lambda: F.conv1d(BATCH[:, :3], FILTER, padding=1),
    "padding of a gradient": CALLS["convolution_backward"],
    "cast": lambda: X.to(torch.int32), "cast in place": lambda: torch.empty(5, 6, dtype=torch.int8).copy_(X),
    "nan_to_num": lambda: X.nan_to_num(3.0),
}  # fmt: skip
WAYS: dict[str, Callable[[], Choosing]] = {
    "the first": lambda: Choosing(last=(False,)),
    "the last": lambda: Choosing(last=(True,)),
    "NaN of a padding": lambda: Choosing(pads=True),
    "NaN that is kept": lambda: Choosing(keeps_nan=True),
    "the least": lambda: Choosing(end=0),
    "the largest": lambda: Choosing(end=1),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", CHOSEN)
def test_a_choice_equals_its_operators_in_exact_arithmetic(name: str, way: str) -> None:
    """Of finite numbers in the range: the values are the same, and indices name the same values, each once."""
    expected = tree_leaves(CHOSEN[name]())
    with WAYS[way]():
        made = tree_leaves(CHOSEN[name]())
    for one, other in zip(made, expected, strict=True):
        if one is not None and other.dtype == torch.int64 and other.dim() and name != "cast":
            there, wanted = (HALVES_AND_MORE.gather(-1, at if at.dim() == 2 else at[:, None]) for at in (one, other))
            assert torch.equal(there, wanted)
            assert all(len(row.unique()) == len(row) for row in one.view(len(one), -1))
        elif one is not None:
            assert torch.equal(one, other)


def test_a_choice_that_differs_names_another_of_equal_values() -> None:
    """So the test above compares something."""
    with Choosing(last=(True,)):
        made = HALVES_AND_MORE.topk(3, -1).indices
    assert not torch.equal(made, HALVES_AND_MORE.topk(3, -1).indices)


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_kernel_is_refused_where_no_condition_keeps_a_row_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """On a draw with infinities zeros of a padding give NaN, and a NaN may be kept: here on every draw."""
    every = frozenset(values.DISTRIBUTIONS)
    monkeypatch.setattr(answer, "PADS_ON", every)
    monkeypatch.setattr(answer, "KEEPS_NAN_ON", dict.fromkeys((False, True), every))
    monkeypatch.setattr(rounding, "SUM_MOST", 1.0)
    assert refusal(tmp_path, monkeypatch, name, WRONG[name])


def test_the_table_is_short() -> None:
    assert len({name for row in ROWS.values() for name in row.operators}) + len(CHOICES) <= 40
    assert KERNELS.keys() == WRONG.keys() == FILES.keys()
    assert KERNELS.keys() | ON_A_GPU == {**ROWS, **CHOICES}.keys()
