"""When two outputs are equal."""

from __future__ import annotations

import math

import pytest
import torch

from kernelwright.worker.judge import tolerance

NAN, INF = math.nan, math.inf


def judged(actual: list[float], expected: list[float], lenient: bool = False) -> str:
    found = tolerance.errors(torch.tensor(actual), torch.tensor(expected, dtype=torch.float64), lenient)
    limit = tolerance.Allowed(max_rel=1e-3, rms_rel=1e-3, exact=False, scale=found.scale)
    return tolerance.verdict(found, limit)


def test_nan_passes_only_where_it_is_expected() -> None:
    assert judged([1.0, NAN], [1.0, NAN]) == ""
    assert "at (1,)" in judged([1.0, NAN], [1.0, 2.0])
    assert "at (1,)" in judged([1.0, 2.0], [1.0, NAN])
    assert judged([NAN, NAN], [1.0, 2.0])


def test_an_infinity_has_to_be_the_same_one() -> None:
    assert judged([1.0, INF], [1.0, INF]) == ""
    assert judged([1.0, -INF], [1.0, INF])
    assert judged([1.0, 3e38], [1.0, INF])
    assert judged([1.0, INF], [1.0, 2.0])


def test_on_inputs_with_nan_only_what_has_to_be_is_asked_for() -> None:
    assert judged([1.0, 5.0], [1.0, NAN], lenient=True) == ""
    assert judged([1.0, NAN], [1.0, INF], lenient=True) == ""
    assert judged([1.0, NAN], [1.0, 2.0], lenient=True)
    assert judged([1.0, 3.0], [1.0, INF], lenient=True)
    assert judged([1.0, -INF], [1.0, INF], lenient=True)


def test_infinity_passes_for_nearly_as_much_on_inputs_with_denormals_only() -> None:
    assert judged([1.0, INF], [1.0, 6e37], lenient=True) == ""
    assert judged([1.0, INF], [1.0, 6e37])
    assert judged([1.0, -INF], [1.0, 6e37], lenient=True)
    assert judged([1.0, INF], [1.0, 1e33], lenient=True)
    assert judged([1.0, NAN], [1.0, 6e37], lenient=True)


@pytest.mark.parametrize(("got", "expected", "is_right"), [
    (0.0, -2.9e-39, True), (0.0, 1.2e-38, False), (1.0, 1 + 2.0**-23, False),
], ids=["a denormal", "a normal number", "one ulp"])  # fmt: skip
def test_where_the_framework_is_exact_only_denormals_may_be_zero(got: float, expected: float, is_right: bool) -> None:
    wanted = torch.tensor([1.0, expected], dtype=torch.float64)
    limit = tolerance.allowed([tolerance.errors(wanted, wanted)], torch.float32, 1.0)
    found = tolerance.errors(torch.tensor([1.0, got]), wanted)
    assert limit.exact
    assert (tolerance.verdict(found, limit) == "") == is_right
    assert tolerance.excess(found, limit) == (0.0 if is_right else math.inf)


def test_infinity_passes_where_the_reference_in_float64_is_beyond_the_dtype() -> None:
    assert judged([1.0, INF], [1.0, 4.27e38]) == ""
    assert judged([1.0, -INF], [1.0, 4.27e38])
    assert judged([1.0, NAN], [1.0, 4.27e38])
    assert judged([1.0, INF], [1.0, 3.39e38])


def test_errors_are_relative_to_the_output_s_own_scale() -> None:
    found = tolerance.errors(torch.tensor([0.0, 101.0]), torch.tensor([0.5, 100.0], dtype=torch.float64))
    assert (found.max_abs, found.max_rel, found.scale.largest, found.finite) == (1.0, 0.01, 100.0, 1.0)
    assert found.worst == "at (1,) got 101, expected 100"


def test_the_share_of_finite_values_is_known() -> None:
    found = tolerance.errors(torch.tensor([1.0, NAN, INF, 1.0]), torch.tensor([1.0, NAN, INF, 1.0]))
    assert (found.finite, found.special, found.scale.largest) == (0.5, False, 1.0)


def test_comparing_in_pieces_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = torch.randn(37, 41, generator=torch.Generator().manual_seed(1)).double()
    actual = (expected * (1 + 1e-4)).float()
    actual[20, 3] += 1
    whole = tolerance.errors(actual, expected)
    monkeypatch.setattr(tolerance, "CHUNK", 100)
    pieces = tolerance.errors(actual, expected)
    assert pieces.worst == whole.worst
    assert pieces.max_rel == whole.max_rel
    assert pieces.rms_rel == pytest.approx(whole.rms_rel)


ONE = tolerance.Scale(largest=1.0, rms=1.0)
EXACT = tolerance.Errors(max_abs=0.0, rms_abs=0.0, scale=ONE, worst="", special=False)
ROUNDED = tolerance.Errors(max_abs=1e-3, rms_abs=1e-4, scale=ONE, worst="", special=False)


def test_where_the_framework_is_exact_so_must_the_candidate_be() -> None:
    assert tolerance.allowed([EXACT, EXACT], torch.float32, 10).exact
    assert not tolerance.allowed([EXACT, ROUNDED], torch.float32, 10).exact
    assert tolerance.allowed([ROUNDED], torch.int64, 10).exact


def test_exact_by_chance_is_not_held_against_a_candidate() -> None:
    by_chance = tolerance.allowed([EXACT], torch.float32, 100, exact=False)
    assert not by_chance.exact
    assert 0 < by_chance.max_rel < 1e-4
    assert tolerance.allowed([EXACT], torch.float32, 100, exact=True).exact
    assert not tolerance.allowed([ROUNDED], torch.float32, 100, exact=True).exact


def test_the_limit_is_a_multiple_of_the_framework_s_own_error() -> None:
    limit = tolerance.allowed([ROUNDED], torch.float32, 1)
    assert (limit.max_rel, limit.rms_rel) == (16 * 1e-3, 8 * 1e-4)
    assert tolerance.excess(ROUNDED, limit) == pytest.approx(1 / 8)
    assert tolerance.verdict(ROUNDED, limit) == ""


def test_of_several_draws_the_larger_error_and_the_larger_scale_count_in_either_order() -> None:
    small = tolerance.Errors(1e-4, 2e-5, tolerance.Scale(1.0, 0.5), worst="", special=False)
    large = tolerance.Errors(1e-3, 1e-4, tolerance.Scale(2.0, 1.0), worst="", special=False)
    for own in ([small, large], [large, small]):
        limit = tolerance.allowed(own, torch.float32, 1)
        assert limit.scale == large.scale
        assert (limit.max_rel, limit.rms_rel) == (pytest.approx(16 * 1e-3 / 2.0), pytest.approx(8 * 1e-4 / 1.0))


def test_the_rms_error_alone_is_enough_to_fail() -> None:
    limit = tolerance.allowed([ROUNDED], torch.float32, 1)
    spread = tolerance.Errors(max_abs=1e-3, rms_abs=9e-4, scale=ONE, worst="", special=False)
    assert spread.max_rel < limit.max_rel
    assert "the rms error is 0.0009" in tolerance.verdict(spread, limit)
    assert tolerance.excess(spread, limit) == pytest.approx(9 / 8)


def test_an_output_that_cancels_in_one_draw_keeps_the_scale_that_it_has_in_others() -> None:
    usual = tolerance.Errors(1e-6, 1e-6, tolerance.Scale(36.0, 36.0), worst="", special=False)
    cancels = tolerance.Errors(0.0, 0.0, tolerance.Scale(0.01, 0.01), worst="", special=False)
    limit = tolerance.allowed([cancels, usual], torch.float32, terms=1313)
    for other in (cancels, usual):  # the same terms were summed in another order: the same absolute error in each
        found = tolerance.Errors(4e-6, 4e-6, other.scale, worst="", special=False)
        assert tolerance.verdict(found, limit) == ""
        assert tolerance.excess(found, limit) < 1
        assert tolerance.verdict(tolerance.Errors(1e-2, 1e-2, other.scale, worst="", special=False), limit)
    alone = tolerance.Errors(4e-6, 4e-6, cancels.scale, worst="", special=False)
    assert tolerance.verdict(alone, tolerance.allowed([cancels], torch.float32, terms=1313))


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_float64_is_never_exact_and_accumulates_in_its_own_precision(dtype: torch.dtype) -> None:
    limit = tolerance.allowed([EXACT], dtype, terms=100)
    eps = torch.finfo(torch.float64).eps
    assert not limit.exact, "compared with itself the framework is exact in everything"
    assert (limit.max_rel, limit.rms_rel) == (pytest.approx(41 * eps), pytest.approx(40.5 * eps))
    assert not tolerance.allowed([EXACT], dtype, terms=100, exact=True).exact
    assert tolerance.allowed([ROUNDED], dtype, terms=100).max_rel == 16 * 1e-3


def test_excess_says_how_far_beyond_the_limit() -> None:
    limit = tolerance.Allowed(max_rel=1e-4, rms_rel=1e-4, exact=False, scale=ONE)
    assert tolerance.excess(ROUNDED, limit) == pytest.approx(10)
    exact = tolerance.Allowed(max_rel=0.0, rms_rel=0.0, exact=True, scale=ONE)
    assert tolerance.excess(EXACT, exact) == 0
    assert tolerance.excess(ROUNDED, exact) == math.inf
    special = tolerance.Errors(max_abs=0.0, rms_abs=0.0, scale=ONE, worst="", special=True)
    assert tolerance.excess(special, limit) == math.inf


def test_integers_are_compared_as_integers() -> None:
    def exactly(actual: list[int], expected: list[int], dtype: torch.dtype = torch.int64) -> str:
        found = tolerance.errors(torch.tensor(actual, dtype=dtype), torch.tensor(expected, dtype=dtype))
        own = tolerance.errors(torch.tensor(expected, dtype=dtype), torch.tensor(expected, dtype=dtype))
        return tolerance.verdict(found, tolerance.allowed([own], dtype, 1.0))

    assert exactly([1, 2, 3], [1, 2, 3]) == ""
    assert "at (1,)" in exactly([1, 3, 3], [1, 2, 3])
    assert exactly([2**60 + 1], [2**60]), "float64 does not tell these apart"
    assert exactly([2**63 - 1], [-(2**63)])
    assert exactly([0], [1], torch.bool)
    assert exactly([1], [1], torch.bool) == ""


def test_where_two_answers_are_right_each_element_may_be_either() -> None:
    exact, rounded = torch.tensor([1, 2, 3, 4]), torch.tensor([1, 3, 3, 2])
    limit = tolerance.allowed([tolerance.errors(rounded, exact)], torch.int64, 1.0)

    def said(*actual: int) -> str:
        return tolerance.verdict(tolerance.errors(torch.tensor(actual), exact, also=(rounded,)), limit)

    assert said(1, 2, 3, 4) == said(1, 3, 3, 2) == said(1, 2, 3, 2) == ""
    assert said(1, 2, 4, 4).endswith("whole numbers have to be equal, and this differs: at (2,) got 4, expected 3")
    assert said(1, 4, 3, 4).endswith("at (1,) got 4, expected 2 or 3")
    assert said(1, 2, 3, 3), "not what lies between them"
    flags = torch.tensor([True, False])
    assert tolerance.errors(~flags, flags, also=(~flags,)).max_abs == 0


def test_an_output_without_elements_is_right() -> None:
    empty = torch.empty(0, 5)
    found = tolerance.errors(empty, empty.double())
    assert tolerance.verdict(found, tolerance.allowed([found], torch.float32, 1.0)) == ""


def test_both_parts_of_complex_numbers_are_compared_as_numbers() -> None:
    exact = torch.complex(*torch.linspace(1, 3, 16, dtype=torch.float64).split(8))
    rounded = exact.to(torch.complex64)
    limit = tolerance.allowed([tolerance.errors(rounded, exact)], torch.complex64, terms=1.0)
    assert not limit.exact
    assert tolerance.verdict(tolerance.errors(rounded * (1 + 1e-8), exact), limit) == ""
    without = torch.complex(rounded.real, torch.zeros(8))
    assert "the largest error is" in tolerance.verdict(tolerance.errors(without, exact), limit)
    hidden = torch.complex(rounded.real, torch.full((8,), float("nan")))
    assert "NaN or infinity" in tolerance.verdict(tolerance.errors(hidden, exact), limit)


def test_an_output_that_is_usually_larger_may_be_off_by_what_rounding_makes_of_that() -> None:
    usual, x = tolerance.Scale(1.0, 0.6), torch.linspace(-0.1, 0.1, 101)
    made, expected = 2 * torch.sigmoid(2 * x) - 1, torch.tanh(x.double())
    own = [tolerance.errors(torch.tanh(x), expected)]
    assert tolerance.verdict(tolerance.errors(made, expected), tolerance.allowed(own, torch.float32, terms=1))
    limit = tolerance.allowed(own, torch.float32, terms=1, usual=usual)
    assert not tolerance.verdict(tolerance.errors(made, expected), limit)
    assert tolerance.verdict(tolerance.errors(torch.tanh(x).half().float(), expected), limit)
    far = tolerance.allowed(own, torch.float32, terms=1, usual=tolerance.Scale(1e6, 6e5))
    assert far.max_rel < 1e-5, "however large it usually is"


def test_the_floor_grows_with_the_terms_up_to_so_many_as_a_kernel_adds_in_order() -> None:
    own = [tolerance.errors(torch.tensor([1.0 + 2**-23]), torch.tensor([1.0], dtype=torch.float64))]
    short, long, longest = (tolerance.allowed(own, torch.float32, terms) for terms in (4096.0, 65_536.0, 2.0**30))
    assert short.max_rel < long.max_rel == longest.max_rel
    rounded_to_ten_bits = 2.0**-12
    assert longest.max_rel < rounded_to_ten_bits, "a mean of a billion numbers is as exact as one of many"


def test_a_sum_of_a_million_terms_in_order_is_within_the_floor() -> None:
    values = torch.rand(1 << 20, generator=torch.Generator().manual_seed(3))
    in_order = values.numpy().cumsum(dtype="float32")[-1:].copy()
    made, expected = torch.from_numpy(in_order), values.double().sum()[None]
    own = [tolerance.errors(values.sum()[None], expected)]
    assert tolerance.verdict(tolerance.errors(made, expected), tolerance.allowed(own, torch.float32, 2.0**20)) == ""
