"""What the draws show: kernels that are right on a problem's own values and wrong on others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import torch
from torch import Tensor

from judged import judge_of, refusals
from kernelwright.worker.reference import values

NOT_FINITE = "(lambda x: x.index_fill(1, torch.arange(0, 400, 7), torch.inf).where(torch.arange(4)[:, None] != 2, x))"
MEAN = "torch.where(w < 0.5, a + w * (v - a), v - (v - a) * (1 - w))"
WEIGHTS = "torch.cat([torch.zeros(4), torch.ones(4), torch.rand(8)])[:, None]"
ATTENTION = "torch.einsum('hk,hkd->hd', torch.softmax(torch.einsum('hd,hkd->hk', q, k) / 8, -1), v)"

KINDS: dict[str, tuple[str, str, str]] = {
    "a maximum": ("x", "x.amax(-1)", "(torch.randn(20, 60) * 2).round() / 2"),
    "a minimum": ("x", "x.amin(-1)", "torch.randn(20, 60)"),
    "a norm": ("x", "torch.nn.functional.normalize(x, dim=1)", "torch.randn(3, 20, 30)"),
    "a flag": ("x", "(~x.isfinite()).any(-1)", f"{NOT_FINITE}(torch.randn(4, 400))"),
    "a replacement": ("x", "x.nan_to_num(0.5, 8.0, -3.0)", f"{NOT_FINITE}(torch.randn(4, 400))"),
    "a mean": ("a, v, w", MEAN, f"torch.randn(16, 50), torch.randn(16, 50), {WEIGHTS}"),
    "attention": ("q, k, v", ATTENTION, "torch.randn(8, 64), torch.randn(8, 90, 64), torch.randn(8, 90, 64)"),
    "codes": (
        "x, s",
        "torch.round(x / s).clamp(-128, 127).to(torch.int8)",
        "torch.randn(9, 30), torch.rand(30) + 0.1",
    ),
}


def refused(folder: Path, kind: str, kernel: Callable[..., Tensor], secrets: Sequence[int] = (11,)) -> set[str]:
    """The distributions on which a kernel is wrong."""
    names, expression, inputs = KINDS[kind]
    found = set[str]()
    for secret in secrets:
        made = judge_of(folder, expression, inputs, names)
        made.draws.secret = secret
        found |= refusals(made, kernel).keys()
    return found


def normalised(x: Tensor, least: float, of_square: float) -> Tensor:
    return x / (x * x).sum(1, keepdim=True).clamp(min=of_square).sqrt().clamp(min=least)


def blended(a: Tensor, v: Tensor, w: Tensor) -> Tensor:
    return torch.where(w < 0.5, a + w * (v - a), v - (v - a) * (1 - w))


@pytest.mark.parametrize(("kind", "honest", "wrong", "shown"), [
    ("a maximum", lambda x: x.amax(-1), lambda x: x.amax(-1).clamp(min=0), values.NEGATIVE),
    ("a minimum", lambda x: x.amin(-1), lambda x: x.amin(-1).clamp(max=0), values.SPREAD),
    ("a norm", lambda x: normalised(x, 1e-12, 0.0), lambda x: normalised(x, 0.0, 1e-12), values.SLICES),
    ("a flag", lambda x: (~x.isfinite()).any(-1), lambda x: (~x[:, 384:].isfinite()).any(-1), values.ROWS),
    ("a flag", lambda x: (~x.isfinite()).any(-1), lambda x: (~x[:, :99].isfinite()).any(-1), values.ROWS),
    ("a replacement", lambda x: x.nan_to_num(0.5, 8.0, -3.0),
     lambda x: torch.where(x.abs() > 1e30, torch.inf * x.sign(), x).nan_to_num(0.5, 8.0, -3.0), values.HUGE),
    ("a mean", blended, lambda a, v, w: a + w * (v - a), values.CENTRED),
])  # fmt: skip
def test_a_kernel_that_is_right_on_ordinary_values_is_refused(
    tmp_path: Path, kind: str, honest: Callable[..., Tensor], wrong: Callable[..., Tensor], shown: str
) -> None:
    assert refused(tmp_path, kind, honest) == set()
    found = refused(tmp_path, kind, wrong)
    assert shown in found
    assert values.AS_GIVEN not in found


def in_parts(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Each third of the keys by itself, then their mean, by the logarithms of their sums."""
    found, sums = [], []
    for keys, of_keys in zip(k.chunk(3, 1), v.chunk(3, 1), strict=True):
        scores = torch.einsum("hd,hkd->hk", q, keys) / 8
        found.append(torch.einsum("hk,hkd->hd", scores.softmax(-1), of_keys))
        sums.append(scores.logsumexp(-1))
    return (torch.stack(sums).softmax(0)[..., None] * torch.stack(found)).sum(0)


def test_attention_in_parts_is_right_where_scores_are_equal_and_very_large(tmp_path: Path) -> None:
    assert refused(tmp_path, "attention", in_parts, secrets=range(4)) == set()
    assert values.AS_GIVEN in refused(tmp_path, "attention", lambda q, k, v: in_parts(q, k[:, :60], v[:, :60]))


def test_very_large_scores_still_judge_attention(tmp_path: Path) -> None:
    """A finite number for minus infinity."""

    def limited(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        scores = (torch.einsum("hd,hkd->hk", q, k) / 8).clamp(min=-1e30)
        return torch.einsum("hk,hkd->hd", scores.softmax(-1), v)

    assert refused(tmp_path, "attention", limited) == {values.PLAIN[values.GREAT]}


@pytest.mark.parametrize("number", [-128, 0, 127])
def test_the_code_of_a_quotient_of_zeros_is_free(tmp_path: Path, number: int) -> None:
    def codes(x: Tensor, s: Tensor) -> Tensor:
        quotient = x / s
        return torch.round(quotient.nan_to_num(0)).clamp(-128, 127).to(torch.int8).masked_fill(quotient.isnan(), number)

    assert refused(tmp_path, "codes", codes) == set()
    assert refused(tmp_path, "codes", lambda x, s: codes(x, s).clamp(min=-127))
