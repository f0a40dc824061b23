"""Distributions of inputs: what each changes, and what a kernel may go on relying on."""

from __future__ import annotations

import math

import pytest
import torch

from kernelwright.worker.reference import pieces, values

UNCHANGED = (values.AS_GIVEN, values.VARIED, *values.WEIGHTS)
EVERY = [*(name for name in values.DISTRIBUTIONS if name not in UNCHANGED), values.GREAT,
         *values.PLAIN.values(), values.PARTLY, values.FEW]  # fmt: skip


def normal(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def redrawn(tensor: torch.Tensor, distribution: str, seed: int = 7) -> torch.Tensor:
    copy = tensor.clone()
    values.redraw((copy,), distribution, seed)
    return copy


def test_an_odd_number_of_distributions_lets_each_meet_both_poisons() -> None:
    assert len(values.DISTRIBUTIONS) == len(set(values.DISTRIBUTIONS))
    assert len(values.DISTRIBUTIONS) % 2 == 1
    assert values.DISTRIBUTIONS[0] == values.AS_GIVEN
    assert len(values.CHEAP) >= 3


def test_as_given_changes_nothing() -> None:
    x = normal(5, 7)
    assert torch.equal(redrawn(x, values.AS_GIVEN), x)


def test_each_distribution_is_what_its_name_says() -> None:
    x = 3 + normal(40, 50)
    assert abs(float(redrawn(x, values.CENTRED).mean())) < 1e-5
    assert torch.equal(redrawn(x, values.SCALED_UP), x * 16)
    assert torch.equal(redrawn(x, values.SCALED_DOWN), x / 16)
    assert torch.allclose(redrawn(x, values.OFFSET), x + 2 * x.std(), atol=1e-2)
    ramp = redrawn(x, values.RAMP) / x
    assert (float(ramp[0, 0]), float(ramp[-1, 0]), float(ramp[0, -1]), float(ramp[-1, -1])) == (1 / 16, 1, 1, 16)
    assert bool((ramp.diff(dim=0) >= 0).all())
    assert bool((ramp.diff(dim=1) >= 0).all())
    outlier = redrawn(x, values.OUTLIER)
    assert int((outlier != x).sum()) == 2
    assert (float(outlier.max()), float(outlier.min())) == (64 * float(x.max()), 64 * float(x.min()))
    heavy = redrawn(normal(100, 100), values.HEAVY)
    kurtosis = float((heavy**4).mean() / (heavy**2).mean() ** 2)
    assert kurtosis > 20  # 3 for normal values
    special = redrawn(x, values.SPECIAL)
    assert (int(special.isnan().sum()), int(special.isposinf().sum()), int(special.isneginf().sum())) == (1, 1, 1)


def test_what_is_large_tiny_or_negative_is_as_its_name_says() -> None:
    x = 3 + normal(40, 50)
    assert torch.equal(redrawn(x, values.NEGATIVE), -16 * x.abs())
    assert torch.equal(redrawn(x, values.LARGE), x * 2.0**20)
    spread = (redrawn(x, values.SPREAD) / x).abs().log2()
    assert torch.equal(spread, spread.round())
    assert sorted({int(one) for one in spread.flatten()}) == list(range(-24, 1))
    for distribution, least in ((values.GREAT, 1e15), (values.HUGE, 1.1e31)):
        pair = (normal(30, 30), normal(30, 30, seed=1))
        values.redraw(pair, distribution, 3)
        assert float(pair[0].max()) < -least
        assert float(pair[1].min()) > least
    plain = redrawn(normal(40, 50), values.PLAIN[values.LARGE]) / 2.0**20
    assert torch.equal(plain, plain.round())
    assert 20 < float(plain.abs().max()) <= values.PLAIN_LARGEST
    assert float(plain.abs().min()) >= 1
    half = redrawn(normal(40, 50, dtype=torch.float16), values.HUGE)
    assert bool(half.isfinite().all())


def test_rows_that_are_spread_are_of_either_sign_and_of_both() -> None:
    signs = [redrawn(normal(9, 50), values.SPREAD).sign().mean(-1).tolist(), normal(9, 50).sign().mean(-1).tolist()]
    assert (signs[0].count(1), signs[0].count(-1)) == (3, 3)
    assert not {1, -1} & {*signs[1]}
    assert bool((redrawn(normal(9, 50).abs(), values.SPREAD) > 0).all()), "there may be a logarithm"


def test_magnitudes_of_inputs_differ_strongly_and_weights_of_a_mean_keep_their_ends() -> None:
    weights = torch.cat([torch.tensor([0.0, 1.0]), normal(6).abs().clamp(max=0.9)])
    given = [normal(8, 9), weights, normal(8, 9, seed=1), normal(8, 9, seed=2)]
    made = tuple(one.clone() for one in given)
    values.redraw(made, values.CENTRED, 3)
    for one, before, factor in zip(made, given, (256, 1, 1, 256), strict=True):
        assert torch.equal(one, before * factor)
    assert abs(float(redrawn(weights, values.CENTRED).mean())) < 1e-5, "there is nothing else"


def test_zeros_of_a_grid_are_values_among_others_and_those_of_a_triangle_are_not() -> None:
    grid = (normal(40, 50) * 4).round() / 4
    assert int((grid == 0).any(-1).sum()) > 30
    for distribution in values.ONE_SIGN - {values.SPREAD}:
        assert bool((redrawn(grid, distribution) < 0).all())
    assert torch.equal(redrawn(grid, values.SCALED_UP), grid * 16)
    kept = grid.tril()
    assert torch.equal(redrawn(kept, values.NEGATIVE) == 0, kept == 0)


def with_specials() -> torch.Tensor:
    x = normal(40, 60)
    x[::3, ::7], x[1::3, 1::11], x[::2, 2::13] = math.nan, math.inf, -math.inf
    return x


@pytest.mark.parametrize("distribution", [values.HUGE, values.NEGATIVE, values.OUTLIER, values.CENTRED, values.TIED])
def test_finite_values_among_infinities_change_and_these_stay(distribution: str) -> None:
    x = with_specials()
    made, finite = redrawn(x, distribution), x.isfinite()
    assert torch.equal(made.isfinite(), finite)
    assert torch.equal(made[~finite].nan_to_num(7.0), x[~finite].nan_to_num(7.0))
    assert not torch.equal(made[finite], x[finite])


@pytest.mark.parametrize("distribution", [values.ROWS, values.SLICES])
def test_some_rows_have_one_special_value_and_some_have_none(distribution: str) -> None:
    x = with_specials()
    made = redrawn(x, distribution)
    counts = (~made.isfinite()).sum(-1)
    assert int((counts == 1).sum()) >= 10
    assert int((counts == 0).sum()) >= 10
    places = (~made.isfinite())[counts == 1].byte().argmax(-1)
    assert len(places.unique()) > 5
    assert int(places.min()) >= 15
    assert int(places.max()) < 45
    hidden = torch.where(normal(40, 60) > 1, -math.inf, normal(40, 60, seed=1))
    assert torch.equal(redrawn(hidden, distribution).isneginf(), hidden.isneginf()), "a mask"


def test_every_second_line_of_one_input_begins_with_minus_infinity() -> None:
    x = 3 + normal(4, 8, 6)
    for distribution, dim, hidden in ((values.MASKED, 2, 4), (values.MASKED_ACROSS, 1, 6)):
        made = (redrawn(x, distribution), normal(4, 8, 6, seed=1))
        is_masked = made[0].isneginf()
        assert {int(one) for one in is_masked.sum(dim).flatten()} == {0, hidden}
        assert bool(is_masked.select(dim, 0).any())
        assert not bool(is_masked.select(dim, hidden).any())
        assert torch.equal(made[0][~is_masked], x[~is_masked])
        pair = (normal(40, 50), normal(40, 50, seed=1))
        values.redraw(pair, distribution, 3)
        assert torch.equal(pair[1], normal(40, 50, seed=1))


def test_rows_and_slices_become_zeros_equal_values_and_tiny_ones() -> None:
    x = 3 + normal(24, 5, 6)
    for distribution, dims in ((values.ROWS, (2,)), (values.SLICES, (1, 2))):
        made = redrawn(x, distribution)
        share, zero = 1 / 8, (made == 0).all(dim=dims)
        lines = made.flatten(start_dim=dims[0])
        equal = (lines == lines[..., :1]).all(dim=-1) & ~zero
        ratio = (made / x).flatten(start_dim=dims[0])
        assert float(zero.float().mean()) == share
        assert float(equal.float().mean()) == share
        for exponent in (10, 20, 30):
            assert float((ratio == 2.0**-exponent).all(dim=-1).float().mean()) == share
        assert float((ratio == 1).all(dim=-1).float().mean()) == 3 * share
        value = lines[equal][:, 0]
        assert torch.equal(value.half().float(), value), "few bits, so that its mean is exact"
        assert not bool((value == value.round()).any()), "a mean that is a whole number counts as exact"


def test_no_line_of_equal_values_holds_a_small_whole_number() -> None:
    whole = torch.arange(1.0, 8.5, 0.5)
    x = torch.cat([whole, -whole, torch.full((10,), 0.98)])[:, None] * torch.ones(1, 3)
    for seed in range(8):
        made = redrawn(x, values.ROWS, seed)
        changed = (made != x).all(dim=-1) & (made.abs() > 0.5).all(dim=-1)
        assert not bool((made[changed] == made[changed].round()).any())
        assert bool(((made / x)[changed] < 1).all()), "toward zero: inputs may end at 1"


def test_whole_numbers_stay_where_one_negative_value_marks_what_is_not_used() -> None:
    """A table of pages and the lengths that say how much of it is used."""
    table, lengths = torch.arange(60).flip(0).view(6, 10), torch.tensor([30, 7, 7, 9, 5, 20])
    table[:, 7:] = -1
    inputs = (table.clone(), lengths.clone())
    values.redraw(inputs, values.FEW, 7)
    assert torch.equal(inputs[0], table)
    assert torch.equal(inputs[1], lengths)
    signed = redrawn(torch.tensor([5, -1, -2, 3, 0, -7, 4, -1]), values.FEW)
    assert sorted(signed.tolist()) == [-7, -2, -1, -1, 0, 3, 4, 5]
    assert signed.tolist() != [5, -1, -2, 3, 0, -7, 4, -1]


@pytest.mark.parametrize("shape", [(), (1,), (7,), (1, 7), (3, 1), (2, 3, 5)])
@pytest.mark.parametrize("distribution", [values.ROWS, values.SLICES])
def test_tensors_of_few_rows_may_be_drawn_by_rows(shape: tuple[int, ...], distribution: str) -> None:
    made = redrawn(0.3 + normal(*shape), distribution)
    assert made.shape == shape
    assert bool(made.isfinite().all())


def test_values_of_few_levels_have_ties_in_every_row_and_ordinary_bits() -> None:
    x = normal(20, 30)
    made = redrawn(x, values.TIED)
    assert len(made.unique()) == 5
    assert set(made.unique().tolist()) <= set(x.flatten().tolist())
    largest = made == made.amax(dim=1, keepdim=True)
    assert float((largest.sum(dim=1) > 1).float().mean()) > 0.8


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64])
def test_a_part_of_the_values_can_be_changed_and_most_left_as_they_are(dtype: torch.dtype) -> None:
    x = normal(60, 50, dtype=dtype)
    changed = redrawn(x, values.PARTLY) != x
    assert 0.05 < float(changed.float().mean()) < 0.25
    assert bool(changed.any(dim=1).all()), "something of every row"
    assert not changed.all(dim=0).any()


def test_a_few_of_the_values_can_be_changed_and_which_is_not_to_be_foreseen() -> None:
    x = normal(600, 50)
    few = [redrawn(x, values.FEW, seed=seed) != x for seed in range(20)]
    assert 4 < sum(int(changed.sum()) for changed in few) / len(few) < 16
    assert not torch.equal(few[0], few[1])
    partly = [redrawn(x, values.PARTLY, seed=seed) != x for seed in (0, 1)]
    assert 0.1 < float((partly[0] == partly[1]).float().mean()) < 0.9


@pytest.mark.parametrize("x", [normal(3, 32), normal(16, 64).relu()], ids=["few", "half of them zeros"])
def test_infinities_are_placed_whatever_the_seed_and_never_on_a_zero(x: torch.Tensor) -> None:
    for seed in range(300):
        special = redrawn(x, values.SPECIAL, seed)
        assert special.isposinf().sum() == special.isneginf().sum() == special.isnan().sum() == 1, seed
        assert bool((special[x == 0] == 0).all())


def test_special_values_include_both_zeros_and_denormals() -> None:
    special = redrawn(normal(300), values.FINITE_SPECIAL)
    changed = special[special.abs() < torch.finfo(torch.float32).smallest_normal]
    assert len(changed) == 4
    assert int((changed > 0).sum()) == int((changed < 0).sum()) == 1
    assert int(torch.signbit(changed).sum()) == 2


@pytest.mark.parametrize(("distribution", "left"), [(values.SPECIAL, 0), (values.SPECIAL_ONE, 1)])
def test_infinities_go_into_every_input_or_into_one(distribution: str, left: int) -> None:
    inputs = normal(9, 9), normal(9, 9, seed=1)
    values.redraw(inputs, distribution, 3)
    assert sum(bool(one.isfinite().all()) for one in inputs) == left


@pytest.mark.parametrize("distribution", EVERY)
def test_the_same_seed_gives_the_same_values(distribution: str) -> None:
    x = normal(6, 50)
    once, again = redrawn(x, distribution), redrawn(x, distribution)
    assert torch.equal(once.view(torch.int32), again.view(torch.int32))
    assert once.stride() == x.stride()


@pytest.mark.parametrize("distribution", EVERY)
def test_zeros_stay_zero_so_that_a_triangular_matrix_stays_one(distribution: str) -> None:
    x = torch.tril(normal(40, 40))
    assert not redrawn(x, distribution).triu(1).any()


@pytest.mark.parametrize("distribution", EVERY)
def test_a_symmetric_matrix_stays_symmetric(distribution: str) -> None:
    x = normal(30, 30)
    x = x + x.T
    made = redrawn(x, distribution)
    assert torch.equal(made, made.T)


@pytest.mark.parametrize("distribution", [one for one in EVERY if one != values.AS_GIVEN])
def test_a_codebook_stays_in_order(distribution: str) -> None:
    book = normal(4, 16).flatten().sort().values
    made = redrawn(book, distribution)
    assert torch.equal(made, made.sort().values)
    assert made.isfinite().all()
    few = normal(1, 7).flatten().sort().values
    assert not torch.equal(redrawn(few, values.NEGATIVE), redrawn(few, values.NEGATIVE).sort().values)


@pytest.mark.parametrize("distribution", EVERY)
@pytest.mark.parametrize(
    "kept",
    [
        torch.tensor([False, False, True, True]),
        torch.ones(6, 6).tril(),
        torch.ones(6, 6, dtype=torch.bool).tril(),
        (torch.arange(9) < torch.arange(1, 6)[:, None]).float(),
        torch.ones(6, 6).tril().log(),
        torch.tensor([0.0, 3.0, 3.0, 8.0]),
        (torch.arange(5.0)[:, None] - torch.arange(5.0)),
        torch.arange(10),
        torch.tensor([0, 3, 3, 8]),
        torch.tensor(0.5).expand(4),
    ],
    ids=[
        "ordered mask",
        "causal mask",
        "causal booleans",
        "mask of ascending lengths",
        "infinite mask",
        "offsets as floats",
        "distances",
        "positions",
        "offsets",
        "expanded",
    ],
)
def test_masks_and_offsets_with_an_order_stay_as_they_are(kept: torch.Tensor, distribution: str) -> None:
    copy = kept.clone() if kept.is_contiguous() else kept
    values.redraw((copy,), distribution, 5)
    assert torch.equal(copy, kept)


@pytest.mark.parametrize("distribution", EVERY)
def test_integers_are_permuted_within_their_range(distribution: str) -> None:
    x = torch.randint(0, 1000, (20, 30), generator=torch.Generator().manual_seed(2))
    made = redrawn(x, distribution)
    assert not torch.equal(made, x)
    assert torch.equal(made.flatten().sort().values, x.flatten().sort().values)


@pytest.mark.parametrize("distribution", EVERY)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.float64])
def test_whole_numbers_in_floating_point_are_permuted_like_integers(distribution: str, dtype: torch.dtype) -> None:
    labels = torch.randint(0, 30, (50,), generator=torch.Generator().manual_seed(2)).to(dtype)
    made = redrawn(labels, distribution)
    assert not torch.equal(made, labels)
    assert torch.equal(made.sort().values, labels.sort().values)


@pytest.mark.parametrize("distribution", EVERY)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bool, torch.int64])
def test_a_mask_becomes_another_with_the_same_rows(distribution: str, dtype: torch.dtype) -> None:
    one_hot = torch.eye(7)[torch.tensor([3, 1, 6, 0, 2])].to(dtype)
    lengths = (torch.arange(9) < torch.tensor([[4], [9], [2], [6], [1], [5]])).to(dtype)
    vector = torch.tensor([1, 0, 1, 1, 0, 0, 1, 0, 1, 1]).to(dtype)
    for mask in (one_hot, lengths, vector):
        made = [redrawn(mask, distribution, seed=seed) for seed in range(3)]
        assert not all(torch.equal(one, mask) for one in made)
        for one in made:
            assert sorted(one.tolist()) == sorted(mask.tolist())


@pytest.mark.parametrize("distribution", EVERY)
def test_numbers_none_and_empty_tensors_are_let_be(distribution: str) -> None:
    values.redraw((3, None, 2.5, True, torch.empty(0, 4)), distribution, 1)


@pytest.mark.parametrize("distribution", sorted(values.CHEAP))
def test_what_is_not_contiguous_is_changed_in_place(distribution: str) -> None:
    x = normal(20, 30)
    transposed = x.clone().T
    values.redraw((transposed,), distribution, 4)
    assert torch.equal(transposed.T.contiguous(), redrawn(x, distribution, 4))


def test_pieces_of_a_large_tensor_are_changed_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    x = normal(50, 70)
    whole = redrawn(x, values.HEAVY)
    monkeypatch.setattr(pieces, "CHUNK", 64)
    assert torch.equal(redrawn(x, values.HEAVY), whole)
