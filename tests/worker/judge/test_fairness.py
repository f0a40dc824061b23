"""Which elements of a draw judge a candidate."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from torch import Tensor

from judged import judge_of
from kernelwright.worker.judge import fairness, tolerance
from kernelwright.worker.reference import values

NAN, INF = math.nan, math.inf


def unguided(made: list[float], exact: list[float], strict: bool, lenient: bool = False) -> list[bool]:
    found = fairness.unguided(torch.tensor(made), torch.tensor(exact, dtype=torch.float64), strict, lenient)
    return [bool(one) for one in found]


def test_pytorch_is_no_guide_where_it_gives_other_nan_or_infinities_or_nearly_overflows() -> None:
    assert unguided([1.0, NAN, INF, 3e38], [1.0, 2.0, 3.0, 3e38], strict=False) == [False, True, True, True]
    assert unguided([NAN, INF, -INF], [NAN, INF, INF], strict=False) == [False, False, True]
    assert unguided([NAN, 0.0], [INF, NAN], strict=False) == [True, True]
    assert unguided([NAN, 0.0], [INF, NAN], strict=False, lenient=True) == [False, False]


def test_where_little_may_be_rounded_it_is_none_without_half_of_its_digits() -> None:
    made, exact = [1.0, 1.001, 1.00001, 1e-9], [1.0, 1.0, 1.0, 0.0]
    assert unguided(made, exact, strict=True) == [False, True, False, False]
    assert not any(unguided(made, exact, strict=False))


def test_a_large_element_that_is_left_out_does_not_set_the_scale_of_the_others() -> None:
    assert unguided([INF, 1.001], [1e30, 1.0], strict=True) == [True, True]


def test_on_the_problems_own_inputs_no_element_is_left_out(tmp_path: Path) -> None:
    """Not even where PyTorch overflows."""
    made = judge_of(tmp_path, "(100 * x).exp()", "torch.randn(64, 32)")
    own = [made.answer("small", draw) for draw in (0, 1 + len(values.DISTRIBUTIONS) - 1)]
    assert all(one.as_given and one.left_out == [None] for one in own)


def test_a_draw_judges_the_elements_beside_those_that_cannot_be_judged(tmp_path: Path) -> None:
    """The largest element times 64 overflows in float32; the others show what a kernel does with an outlier."""
    made = judge_of(tmp_path, "(x * 1e36) * (1 + 0 * x)", "torch.randn(64, 32)")
    draw = values.DISTRIBUTIONS.index(values.OUTLIER)
    answer = made.answer("small", draw)
    (left_out,) = answer.left_out
    assert answer.distribution == values.OUTLIER
    assert left_out is not None
    assert 0 < float(left_out.double().mean()) <= fairness.MOST_LEFT_OUT
    right = answer.expected[0].float()
    assert not made._compared("small", draw, 0, right.where(~left_out, NAN)).reason
    place = int((~left_out).flatten().nonzero()[0])
    assert made._compared("small", draw, 0, right.flatten().index_fill(0, torch.tensor(place), 0.0).view(64, 32)).reason


def test_rows_that_begin_with_minus_infinity_judge_an_operator_that_keeps_it(tmp_path: Path) -> None:
    made = judge_of(tmp_path, "x * 2", "torch.randn(33, 40)")
    draw = values.DISTRIBUTIONS.index(values.HIDDEN)
    answer = made.answer("small", draw)
    x = answer.instance.inputs[0]
    assert answer.distribution == values.HIDDEN
    assert isinstance(x, Tensor)
    assert not made._compared("small", draw, 0, x * 2).reason
    assert made._compared("small", draw, 0, (x * 2).clamp(min=-1e30)).reason


def test_check_shows_the_draws_and_the_share_that_each_judges(tmp_path: Path) -> None:
    made = judge_of(tmp_path, "(x * 1e36) * (1 + 0 * x)", "torch.randn(64, 32)")
    found = made.qualify("small", draws=True)
    assert not isinstance(found, str)
    by_name = {one.offered: one for one in found.draws}
    assert by_name[values.AS_GIVEN].judged == by_name[values.CENTRED].judged == 1
    assert 1 - fairness.MOST_LEFT_OUT <= by_name[values.OUTLIER].judged < 1
    assert by_name[values.LARGE].used == values.AS_GIVEN, "everything overflows"
    assert made.qualify("small") != found, "draws only where they are asked for"


HALF_OF_DRAWS = "25.0% of it is judged by less than half of the draws"
OVER_ALL = "of it is left out over all draws, and at most 5% may be"


@pytest.mark.parametrize(("masks", "draws", "why"), [
    (1, 4, f"6.2% {OVER_ALL}"), (1, 5, ""), (3, 15, ""), (4, 15, f"6.7% {OVER_ALL}"),
    (2, 4, f"12.5% {OVER_ALL}"), (3, 4, HALF_OF_DRAWS), (4, 4, HALF_OF_DRAWS),
])  # fmt: skip
def test_an_output_is_named_of_which_the_draws_leave_out_too_much(masks: int, draws: int, why: str) -> None:
    """More than a twentieth over all draws, or an element in over half of them."""
    mask = torch.tensor([True, False, False, False])
    every: list[list[Tensor | None]] = [[None, mask] for _ in range(masks)] + [[None, None]] * (draws - masks)
    assert fairness.rarely_judged(every) == ({1: why} if why else {})


def test_draws_with_infinities_together_leave_out_no_more_than_all_draws_may(tmp_path: Path) -> None:
    """Of two rows each leaves out one: the first keeps it, the next is replaced by a milder draw."""
    made = judge_of(tmp_path, "x.softmax(-1)", "torch.randn(2, 40)")
    found = made.qualify("small", draws=True)
    assert not isinstance(found, str)
    by_name = {one.offered: one for one in found.draws}
    assert (by_name[values.SPECIAL].used, by_name[values.SPECIAL].judged) == (values.SPECIAL, 0.5)
    assert (by_name[values.HIDDEN].used, by_name[values.HIDDEN].judged) == (values.MASKED, 1)
    assert sum(1 - one.judged for one in found.draws) <= fairness.MOST_LEFT_OUT * len(found.draws)
    for secret in range(4):
        made.draws._begin(secret)
        for draw in made.draws_for("small"):
            made.answer("small", draw)
        assert made.draws.unjudged("small") == []


def test_the_judge_names_an_output_that_few_draws_judge(tmp_path: Path) -> None:
    made = judge_of(tmp_path, "x * 2", "torch.randn(8, 8)")
    draws = made.draws_for("small")
    for draw in draws:
        made.answer("small", draw)
    assert made.draws.unjudged("small") == []
    rare = torch.zeros(8, 8, dtype=torch.bool)
    rare[0, 0] = True
    for draw in draws[: len(draws) // 2 + 1]:
        made.draws.left_out["small", draw] = [rare]
    assert made.draws.unjudged("small") == [
        "output 0 of case small: 1.6% of it is judged by less than half of the draws"
    ]


def test_elements_that_agree_with_any_value_count_as_left_out(tmp_path: Path) -> None:
    """Infinity less infinity, on inputs that the draw made infinite."""
    made = judge_of(tmp_path, "x - x.flip(0)", "torch.randn(64, 32)")
    found = made.qualify("small", draws=True)
    assert not isinstance(found, str)
    assert {one.offered: one.judged for one in found.draws}[values.SPECIAL] < 1
    draw = values.DISTRIBUTIONS.index(values.SPECIAL)
    (expected,) = made.answer("small", draw).expected
    (left_out,) = made.draws.left_out["small", draw]
    assert left_out is not None
    assert torch.equal(left_out, expected.isnan())
    assert bool(left_out.any())


def test_errors_of_elements_that_are_left_out_widen_no_tolerance() -> None:
    mask = torch.tensor([True, False])
    made, exact = torch.tensor([5.0, 1.0]), torch.tensor([1.0, 1.0])
    assert tolerance.errors(fairness.without(made, mask), fairness.without(exact, mask)).max_abs == 0
