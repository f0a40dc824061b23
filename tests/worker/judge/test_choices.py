"""Indices of equal values, of which PyTorch may give any."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

from kernelwright.model import Status
from kernelwright.worker.judge.choices import Choosing, Pick
from kernelwright.worker.judge.judge import Judge
from kernelwright.worker.reference import values

PROBLEM = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return {expression}

CASES = [dict(name="small", small=True, rows=40), dict(name="timed", rows=50)]

def get_inputs(rows):
    return [(torch.randn(rows, 64) * 4).round() / 4]

def get_init_inputs():
    return []
"""


def judge(folder: Path, expression: str) -> Judge:
    file = folder / "problem.py"
    file.write_text(PROBLEM.format(expression=expression))
    made = Judge("cpu")
    made.load(str(file))
    return made


def reason(made: Judge, output: int, answer: Tensor) -> str:
    return made._compared("small", 0, output, answer).reason


def test_computed_values_that_differ_by_rounding_are_equal(tmp_path: Path) -> None:
    """The softmax of tiny values: in float32 others are equal than in float64, and in an honest kernel others still."""
    made = judge(tmp_path, "(x * 1e-7).softmax(-1).topk(2, dim=-1)")
    (x,) = made.answer("small", 0).instance.inputs
    terms = torch.exp2(x * (1e-7 * 1.4426950408889634))
    at = (terms * (1 / terms.sum(-1, keepdim=True))).topk(2, dim=-1).indices
    assert reason(made, 1, at) == ""
    last = x.topk(64, dim=-1).indices[:, -2:].contiguous()
    assert "this differs" in reason(made, 1, last)


@pytest.mark.parametrize("computed", [False, True])
def test_values_that_differ_by_more_than_rounding_are_not_equal(tmp_path: Path, computed: bool) -> None:
    exact = torch.tensor([[0.5, 0.5 + 1e-8, 0.25]], dtype=torch.float64)
    made = exact.float() if computed else exact.clone()
    pick = Pick(torch.tensor([[1]]), torch.tensor([[False]]), 1, True, made).of(exact)
    expected = torch.tensor([[1]])
    assert torch.equal(pick.settled(torch.tensor([[0]]), expected), expected) == computed
    assert not torch.equal(pick.settled(torch.tensor([[2]]), expected), expected)


def other_order(x: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The largest `count` of each row, of equal ones those at the end first: not PyTorch's order."""
    found, at = x.flip(-1).sort(dim=-1, descending=True, stable=True)
    return found[:, :count].contiguous(), (x.shape[-1] - 1 - at)[:, :count].contiguous()


def test_the_indices_of_a_topk_may_name_any_of_equal_values_but_none_twice(tmp_path: Path) -> None:
    made = judge(tmp_path, "x.topk(6, dim=-1)")
    (x,) = made.answer("small", 0).instance.inputs
    shuffled = torch.randperm(64, generator=torch.Generator().manual_seed(1))  # neither the first nor the last ones
    found, at = x[:, shuffled].sort(dim=-1, descending=True, stable=True)
    found, at = found[:, :6].contiguous(), shuffled[at[:, :6]]
    for other in (x.topk(6, dim=-1).indices, in_order(x), other_order(x, 6)[1]):
        assert not torch.equal(at, other)
    assert reason(made, 0, found) == ""
    assert reason(made, 1, at) == ""
    tied = (found[:, 1:] == found[:, :-1]).nonzero()[0]
    row, place = int(tied[0]), int(tied[1])
    twice = at.clone()
    twice[row, place + 1] = at[row, place]
    assert "whole numbers have to be equal" in reason(made, 1, twice)
    for wrong in (at.roll(1, 0), at + 1, at - 64, torch.zeros_like(at)):
        assert "whole numbers have to be equal" in reason(made, 1, wrong)


@pytest.mark.parametrize("expression", [
    "x.sort(dim=-1, descending=True).indices", "x.argsort(dim=-1, descending=True)",
    "x.sort(dim=-1, descending=True).indices.to(torch.int32)",
])  # fmt: skip
def test_an_unstable_sort_may_order_equal_values_otherwise(tmp_path: Path, expression: str) -> None:
    made = judge(tmp_path, expression)
    (x,) = made.answer("small", 0).instance.inputs
    _, at = other_order(x, 64)
    assert reason(made, 0, at.to(made.answer("small", 0).dtypes[0])) == ""
    assert reason(made, 0, at.flip(-1).to(made.answer("small", 0).dtypes[0])) != ""


def test_along_another_dimension_and_without_it(tmp_path: Path) -> None:
    made = judge(tmp_path, "x.kthvalue(9, dim=0)")
    (x,) = made.answer("small", 0).instance.inputs
    value = x.kthvalue(9, dim=0).values
    last = torch.stack([(x[:, i] == value[i]).nonzero().max() for i in range(64)])
    assert not torch.equal(last, x.kthvalue(9, dim=0).indices)
    assert reason(made, 1, last) == ""
    assert reason(made, 1, (last + 1) % 40) != ""


@pytest.mark.parametrize("expression", [
    "x.argmax(dim=-1)", "x.max(dim=-1).indices", "x.sort(dim=-1, stable=True, descending=True).indices",
    "x.topk(6, dim=-1).indices + 1", "(x > 0).sum(-1)",
])  # fmt: skip
def test_where_pytorch_says_which_or_more_is_computed_of_them_whole_numbers_have_to_be_equal(
    tmp_path: Path, expression: str
) -> None:
    made = judge(tmp_path, expression)
    answer = made.answer("small", 0)
    (x,) = answer.instance.inputs
    if "arg" not in expression and "max" not in expression:
        assert answer.choices == [None]
    else:
        assert reason(made, 0, other_order(x, 1)[1][:, 0]) != ""


OF_ANOTHER = "torch.sin(x).gather(-1, (x * 1).topk(6, dim=-1).indices)"
"""The sines of equal values are equal; those of the places below are not."""
OF_PLACES = "torch.sin(torch.arange(64, device=x.device) + 0 * x).gather(-1, (x * 1).topk(6, dim=-1).indices)"


def by_places(x: Tensor, places: Tensor) -> Tensor:
    return torch.sin(torch.arange(64) + 0 * x).gather(-1, places)


def in_order(x: Tensor) -> Tensor:
    return x.sort(dim=-1, descending=True, stable=True).indices[:, :6].contiguous()


def refused(made: Judge, kernel: Callable[[Tensor], Tensor]) -> set[str]:
    """The distributions on which a kernel is wrong."""
    found = set()
    for draw in made.draws_for("small"):
        answer = made.answer("small", draw)
        x = answer.instance.inputs[0]
        assert isinstance(x, Tensor)
        if made._compared("small", draw, 0, kernel(x)).reason:
            found.add(answer.distribution)
    return found


@pytest.fixture(scope="module")
def of_places(tmp_path_factory: pytest.TempPathFactory) -> Judge:
    return judge(tmp_path_factory.mktemp("places"), OF_PLACES)


def test_distributions_with_ties_judge_what_orders_values(of_places: Judge) -> None:
    met = {of_places.answer("small", draw).distribution for draw in of_places.draws_for("small")}
    assert {values.HUGE, values.TIED, values.ROWS, values.SLICES} <= met


@pytest.mark.parametrize("choose", [
    in_order, lambda x: other_order(x, 6)[1], lambda x: x.topk(6, dim=-1).indices,
    lambda x: torch.where((torch.arange(len(x)) % 2 == 0)[:, None], in_order(x), other_order(x, 6)[1]),
])  # fmt: skip
def test_a_kernel_that_chooses_the_first_or_the_last_of_equal_values_is_right(
    of_places: Judge, choose: Callable[[Tensor], Tensor]
) -> None:
    """The last one in other rows than the first."""
    assert refused(of_places, lambda x: by_places(x, choose(x))) == set()


@pytest.mark.parametrize("expression", [OF_ANOTHER, OF_PLACES])
def test_a_kernel_that_takes_equal_values_together_is_refused_where_there_are_some(
    tmp_path: Path, expression: str
) -> None:
    """It masks all that equal the maximum."""

    def once_each(x: Tensor) -> Tensor:
        left, found = x.clone(), []
        for _ in range(6):
            found.append(left.argmax(-1, keepdim=True))
            left.masked_fill_(left == left.amax(-1, keepdim=True), -torch.inf)
        places = torch.cat(found, -1)
        return torch.sin(x).gather(-1, places) if expression == OF_ANOTHER else by_places(x, places)

    assert values.TIED in refused(judge(tmp_path, expression), once_each)


def test_a_row_of_which_some_values_are_of_one_order_and_some_of_another_is_wrong(of_places: Judge) -> None:
    def mixed(x: Tensor) -> Tensor:
        one, other = by_places(x, in_order(x)), by_places(x, other_order(x, 6)[1])
        return torch.where(torch.arange(6) % 2 == 0, one, other)

    assert values.TIED in refused(of_places, mixed)


def in_queues(at: Tensor) -> Tensor:
    """The place of each row among those with the same first choice."""
    chosen = torch.nn.functional.one_hot(at[:, 0], 64)
    return (chosen.cumsum(0) * chosen).sum(-1)


def test_what_forward_computes_of_an_output_of_indices_is_right_for_the_indices_that_were_chosen(
    tmp_path: Path,
) -> None:
    """Some rows choose the first of equal values, the others the last."""
    hot = "torch.nn.functional.one_hot(at[:, 0], 64)"
    made = judge(tmp_path, f"(lambda at: (at, ({hot}.cumsum(0) * {hot}).sum(-1)))(x.topk(2, dim=-1).indices)")
    made.draws.secret = 3
    (x,) = made.answer("small", 0).instance.inputs
    at = torch.where((torch.arange(40) % 3 == 0)[:, None], other_order(x, 2)[1], in_order(x)[:, :2])
    assert not torch.equal(in_queues(at), in_queues(in_order(x)[:, :2])), "with other values they may be the same"

    def is_right(*outputs: Tensor) -> bool:
        worst = made._worst("small", 0, outputs, 2)
        return worst is not None and worst.status is Status.PASSED

    assert is_right(at, in_queues(at))
    assert not is_right(at, in_queues(at) + 1)
    assert not is_right(at.roll(1, 0), in_queues(at.roll(1, 0)))
    assert not is_right(in_order(x)[:, :2].contiguous(), in_queues(at))


ROUTING = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        groups = x.unflatten(-1, (8, 8)).sum(-1).topk(2, dim=-1).indices
        chosen = torch.zeros(len(x), 8, dtype=x.dtype, device=x.device).scatter(1, groups, 1).repeat_interleave(8, 1)
        return torch.where(chosen > 0, x, 0).topk(6, dim=-1).indices

CASES = [dict(name="small", small=True, rows=40), dict(name="timed", rows=50)]

def get_inputs(rows):
    return [torch.randn(rows, 64).sign() / 2]

def get_init_inputs():
    return []
"""


@pytest.mark.parametrize("last", [(False, False), (False, True), (True, False), (True, True)])
def test_each_of_two_choices_in_a_row_may_take_the_first_or_the_last_of_equal_values(
    tmp_path: Path, last: tuple[bool, bool]
) -> None:
    file = tmp_path / "problem.py"
    file.write_text(ROUTING)
    made = Judge("cpu")
    made.load(str(file))

    def best(x: Tensor, count: int, last: bool) -> Tensor:
        return other_order(x, count)[1] if last else x.sort(dim=-1, descending=True, stable=True).indices[:, :count]

    def routed(x: Tensor) -> Tensor:
        groups = best(x.unflatten(-1, (8, 8)).sum(-1), 2, last[0])
        chosen = torch.zeros(len(x), 8).scatter(1, groups, 1).repeat_interleave(8, 1)
        return best(torch.where(chosen > 0, x, 0), 6, last[1]).contiguous()

    (x,) = made.answer("small", 0).instance.inputs
    assert isinstance(x, Tensor)
    assert reason(made, 0, routed(x)) == ""
    assert reason(made, 0, (routed(x) + 8) % 64) != ""


def test_rounding_does_not_change_which_of_equal_values_is_chosen(of_places: Judge) -> None:
    """Moved values are not equal any more: another choice would explain any error."""
    answers = (of_places.answer("small", draw) for draw in of_places.draws_for("small"))
    (sensitive,) = next(one for one in answers if one.distribution == values.TIED).sensitive
    assert sensitive is not None
    assert float(sensitive.max()) < 10


NEAREST = """
import torch

class Model(torch.nn.Module):
    def forward(self, x, codes):
        index = {least}
        return codes[index], index

CASES = [dict(name="small", small=True), dict(name="timed")]

def get_inputs():
    step = torch.randn(12, 40)
    x = torch.randn(1, 40)
    return [x, torch.cat([x + step, x + step.flip(1), x + step.flip(0)])]

def get_init_inputs():
    return []
"""
"""Of codes at one distance, some are computed further off and some are the same twice."""


@pytest.mark.parametrize("least", [
    "((x[:, None, :] - codes[None]) ** 2).sum(-1).argmin(-1)", "((x - codes) ** 2).sum(-1).min(0, True).indices",
    "((x[:, None, :] - codes[None, :24]) ** 2).sum(-1).topk(1, -1, largest=False).indices[:, 0]",
])  # fmt: skip
def test_the_place_of_the_least_computed_value_is_any_whose_value_differs_by_rounding(
    tmp_path: Path, least: str
) -> None:
    """What forward takes from that place is that place's, and of values that are equal in every precision the first
    counts."""
    file = tmp_path / "problem.py"
    file.write_text(NEAREST.format(least=least))
    made = Judge("cpu")
    made.load(str(file))
    x, codes = (one for one in made.answer("small", 0).instance.inputs if isinstance(one, Tensor))
    distance = ((x.double() - codes) ** 2).sum(-1)
    nearest = (distance <= distance.min() * (1 + 1e-6)).nonzero().flatten().tolist()
    assert len(nearest) == 3
    for place in range(36):
        at = torch.tensor([place])
        assert (reason(made, 1, at) == "") == (place in nearest and place < 24)
        assert (reason(made, 0, codes[at]) == "") == (place in nearest)


CHOOSING = ("kthvalue", "median", "mode", "nanmedian", "sort", "topk")


@pytest.mark.parametrize("name", CHOOSING)
@pytest.mark.parametrize("last", [False, True])
def test_every_choice_equals_the_operator(name: str, last: bool) -> None:
    x = torch.randint(0, 4, (5, 9), generator=torch.Generator().manual_seed(3)).double()
    arguments = {"topk": (4,), "kthvalue": (4,)}.get(name, ())
    expected = getattr(torch, name)(x, *arguments, dim=-1)
    with Choosing(last=(last,)):
        found, at = getattr(torch, name)(x, *arguments, dim=-1)
    assert torch.equal(found, expected[0])
    places = at if at.dim() == x.dim() else at[:, None]
    assert torch.equal(x.gather(-1, places).view_as(found), found)
    for row, of_row in zip(x, places, strict=True):
        for value in of_row.new_tensor([int(row[one]) for one in of_row]).unique():
            mine = [one for one in of_row.tolist() if row[one] == value]
            every = (row == value).nonzero().flatten().tolist()
            assert sorted(mine) == (every[-len(mine) :] if last else every[: len(mine)])


@pytest.mark.parametrize("body", [
    "s = x * 1; v, i = s.topk(4, dim=-1); s.zero_(); return i", "v, i = x.clone().topk(4, dim=-1); v.zero_(); return i",
    "s = x * 1; v, i = s.topk(4, dim=-1); s.scatter_(-1, i, -torch.inf); return i",
])  # fmt: skip
def test_values_that_forward_overwrites_are_compared_as_they_were(tmp_path: Path, body: str) -> None:
    made = judge(tmp_path, "self.run(x)\n\n    def run(self, x):\n        " + body)
    (x,) = made.answer("small", 0).instance.inputs
    right = other_order(x, 4)[1]
    assert reason(made, 0, right) == ""
    assert reason(made, 0, right.flip(-1)) != ""
    assert reason(made, 0, torch.arange(4).expand(40, 4).contiguous()) != ""


@pytest.mark.parametrize("body", [
    "v, i = x.topk(4, dim=-1); return i.masked_fill_(v < 8.0, -1)", "i = x.topk(4, dim=-1).indices; i += 1; return i",
    "i = x.topk(4, dim=-1).indices; i.copy_(i.flip(-1)); return i",
])  # fmt: skip
def test_indices_that_forward_changes_are_no_choice(tmp_path: Path, body: str) -> None:
    made = judge(tmp_path, "self.run(x)\n\n    def run(self, x):\n        " + body)
    answer = made.answer("small", 0)
    assert answer.choices == [None]
    assert reason(made, 0, answer.expected[0].clone()) == ""


def test_the_first_of_a_sorted_row_are_chosen_as_freely_as_all(tmp_path: Path) -> None:
    made = judge(tmp_path, "x.sort(dim=-1, descending=True).indices[:, :5]")
    (x,) = made.answer("small", 0).instance.inputs
    assert reason(made, 0, other_order(x, 5)[1]) == ""
    assert reason(made, 0, other_order(x, 6)[1][:, 1:].contiguous()) != ""


def test_an_empty_choice_is_right(tmp_path: Path) -> None:
    made = judge(tmp_path, "x.topk(0, dim=-1).indices")
    assert reason(made, 0, torch.empty(40, 0, dtype=torch.int64)) == ""


def test_an_index_that_comes_twice_is_wrong_however_values_are_rounded(tmp_path: Path) -> None:
    made = judge(tmp_path, "x.mul(1.1).softmax(-1).topk(6, dim=-1).indices")
    answer = made.answer("small", 0)
    twice = answer.expected[0].clone()
    twice[:, 1] = twice[:, 0]
    assert reason(made, 0, twice) != ""


CONVOLUTION = """
import torch
import torch.nn.functional as F

class Model(torch.nn.Module):
    def forward(self, x, weight):
        return {expression}

CASES = [dict(name="small", small=True, size=24), dict(name="timed", size=25)]

def get_inputs(size):
    return [torch.randn(2, 4, size, size), torch.randn(4, {in_group}, 3, 3)]

def get_init_inputs():
    return []
"""

GRADIENT = "[0], [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [True, False, False]"
"""The arguments of a padded convolution's gradients, of which only the input's is asked for."""


def special_draws(folder: Path, expression: str, in_group: int = 4) -> tuple[Judge, dict[bool, list[int]]]:
    """A judge, and its draws with special values, by whether they are in the weight."""
    file = folder / "problem.py"
    file.write_text(CONVOLUTION.format(expression=expression, in_group=in_group))
    made, found, count = Judge("cpu"), dict[bool, list[int]](), len(values.DISTRIBUTIONS)
    made.load(str(file))
    for draw in range(values.DISTRIBUTIONS.index(values.SPECIAL), 4 * count, count):
        found.setdefault((made.draws.secret + draw) % 2 == 1, []).append(draw)
    return made, found


@pytest.mark.parametrize(("expression", "in_group"), [
    ("F.conv2d(x, weight, padding=1)", 4), ("F.relu(F.conv2d(x, weight, padding=1, groups=4))", 1),
    ("F.conv2d(x, weight)", 4),
], ids=["padded", "depthwise", "without padding"])  # fmt: skip
def test_a_convolution_may_multiply_the_zeros_of_its_padding_or_leave_them_out(
    tmp_path: Path, expression: str, in_group: int
) -> None:
    made, found = special_draws(tmp_path, expression, in_group)
    for draw in (*found[True], *found[False]):
        answer = made.answer("small", draw)
        assert answer.distribution in values.SPECIALS
        x, weight = (one for one in answer.instance.inputs if isinstance(one, Tensor))
        padding = 1 if "padding" in expression else 0
        wide = torch.nn.functional.conv2d(torch.nn.functional.pad(x, [padding] * 4), weight, groups=4 // in_group)
        multiplied = wide.relu() if "relu" in expression else wide
        finite = weight.nan_to_num(0.0, 0.0, 0.0)
        inner = torch.nn.functional.conv2d(torch.nn.functional.pad(x, [padding] * 4), finite, groups=4 // in_group)
        left_out = multiplied.where(multiplied.isfinite() | ~x.isfinite().all(), inner)
        assert made._compared("small", draw, 0, multiplied).reason == ""
        if not bool(weight.isfinite().all()):
            assert bool((~answer.expected[0].isfinite()).any()), "the channels of these filters"
            assert bool(answer.expected[0].isfinite().any())
            if padding:
                assert made._compared("small", draw, 0, left_out).reason == ""
            assert made._compared("small", draw, 0, inner * 1.01).reason


@pytest.mark.parametrize("expression", [
    "F.conv_transpose2d(x, weight)",
    f"torch.ops.aten.convolution_backward(x, torch.ones_like(x), weight, {GRADIENT})[0]",
])  # fmt: skip
def test_gaps_and_borders_may_be_multiplied_too(tmp_path: Path, expression: str) -> None:
    """Nothing finite is expected of any element then, and milder special values are drawn."""
    made, found = special_draws(tmp_path, expression)
    in_input = values.FINITE_SPECIAL if "backward" in expression else values.SPECIAL_ONE  # it is the gradient there
    assert {made.answer("small", draw).distribution for draw in found[True]} == {values.FINITE_SPECIAL}
    assert {made.answer("small", draw).distribution for draw in found[False]} == {in_input}


EMPTY_ROWS = (
    "torch.softmax((x @ x.mT).masked_fill(torch.arange(len(x)) >= torch.arange(len(x))[:, None], -torch.inf), -1)"
)


def without_the_first(x: Tensor) -> Tensor:
    """An honest kernel: its first row, which has no key, is apart, and it knows of no other NaN."""
    share = torch.softmax((x @ x.mT).masked_fill(torch.ones(len(x), len(x)).triu() > 0, -torch.inf), -1)
    share[0] = 0
    return share


def test_a_nan_of_the_draw_s_infinities_may_be_kept_and_one_of_the_problem_s_own_rows_may_not(tmp_path: Path) -> None:
    made = judge(tmp_path, f"({EMPTY_ROWS}).nan_to_num(0.0)")
    kept = refused(made, without_the_first)
    assert kept == set()
    met = [made.answer("small", draw) for draw in made.draws_for("small")]
    assert any(one.others[0] for one in met if one.distribution == values.HIDDEN)

    def never_apart(x: Tensor) -> Tensor:
        return torch.softmax((x @ x.mT).masked_fill(torch.ones(len(x), len(x)).triu() > 0, -torch.inf), -1)

    assert values.AS_GIVEN in refused(made, never_apart)


@pytest.mark.parametrize("mask", [
    "x.masked_fill(later, -torch.inf)", "torch.where(later, -torch.inf, x)", "torch.where(~later, x, -torch.inf)",
])  # fmt: skip
def test_a_mask_may_be_added_and_may_not_be_left_out(tmp_path: Path, mask: str) -> None:
    """As flash attention in Triton does: what is left out of a row taints it if it is NaN or infinite."""
    made = judge(tmp_path, f"(lambda x, later: torch.softmax({mask}, -1))(x, torch.arange(64) >= 2)")
    least = torch.where(torch.arange(64) >= 2, -torch.inf, 0.0)
    assert refused(made, lambda x: torch.softmax(x + least, -1)) == set()
    assert values.AS_GIVEN in refused(made, lambda x: torch.softmax(x, -1))
