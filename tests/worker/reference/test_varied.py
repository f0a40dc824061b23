"""What a file makes constant varies in one draw, and labels get the numbers that forward asks for."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from judged import problem_file
from kernelwright.worker.reference import varied
from kernelwright.worker.reference.instance import Instance
from kernelwright.worker.reference.load import load_problem


def instance_of(folder: Path, names: str, expression: str, inputs: str) -> Instance:
    problem = load_problem(str(problem_file(folder, expression, inputs, names)))
    return problem.instance(problem.cases[0], seed=1, device="cpu")


def values_of(instance: Instance) -> list[Tensor]:
    return [one.clone() for one in instance.inputs if isinstance(one, Tensor)]


def test_tensors_of_one_value_vary_and_keep_their_sign(tmp_path: Path) -> None:
    made = instance_of(tmp_path, "x, zeros, halves, negative", "x + zeros + halves + negative",
                       "torch.randn(8, 9), torch.zeros(9), torch.full((9,), 0.5), torch.full((9,), -2.0)")  # fmt: skip
    before = values_of(made)
    assert varied.vary(made, seed=3)
    x, zeros, halves, negative = values_of(made)
    assert torch.equal(x, before[0])
    assert all(len(one.unique()) == 9 for one in (zeros, halves, negative))
    assert float(zeros.min()) < 0 < float(zeros.max())
    assert bool((halves > 0).all() and (halves < 1).all())
    assert bool((negative < 0).all())


def test_a_mask_of_one_value_loses_a_quarter_and_another_one_whole_rows(tmp_path: Path) -> None:
    made = instance_of(tmp_path, "x, all_of_it, some", "torch.where(all_of_it & some, x, 0.0)",
                       "torch.randn(64, 64), torch.ones(64, 64, dtype=torch.bool), torch.rand(64, 63) < 0.5"
                       ).inputs  # fmt: skip
    _, everything, some = (one for one in made if isinstance(one, Tensor))
    before = some.clone()
    generator = torch.Generator().manual_seed(0)
    assert varied._vary(everything, generator)
    assert 0.7 < float(everything.float().mean()) < 0.8
    assert varied._vary(some, generator)
    empty = ~some.any(1)
    assert int(empty.sum()) == 8
    assert torch.equal(some[~empty], before[~empty])


def test_a_causal_mask_keeps_its_order(tmp_path: Path) -> None:
    mask = torch.ones(16, 16).tril().bool()
    assert not varied._vary(mask, torch.Generator())
    assert torch.equal(mask, torch.ones(16, 16).tril().bool())


def test_what_varies_by_itself_stays(tmp_path: Path) -> None:
    made = instance_of(tmp_path, "x, at", "x[at]", "torch.randn(8, 9), torch.randint(0, 8, (5,))")
    before = values_of(made)
    assert not varied.vary(made, seed=3)
    assert all(torch.equal(one, other) for one, other in zip(values_of(made), before, strict=True))


def test_a_label_gets_the_number_that_a_loss_ignores(tmp_path: Path) -> None:
    made = instance_of(tmp_path, "x, at", "torch.nn.functional.cross_entropy(x, at.view(-1), reduction='none')",
                       "torch.randn(32, 9), torch.randint(0, 9, (4, 8))")  # fmt: skip
    found = varied.sentinels(made)
    assert found == {1: [-100]}
    varied.place(made, found, seed=0)
    assert int((values_of(made)[1] == -100).sum()) == 4


def test_a_label_gets_what_lies_beyond_a_comparison_where_forward_takes_it(tmp_path: Path) -> None:
    guarded = "torch.where(at < 0, 0.0, x.gather(1, at.clamp(min=0)[:, None])[:, 0])"
    inputs = "torch.randn(32, 9), torch.randint(0, 9, (32,))"
    assert varied.sentinels(instance_of(tmp_path, "x, at", guarded, inputs)) == {1: [-1]}
    unguarded = "torch.where(at < 0, 0.0, x.gather(1, at[:, None])[:, 0])"
    assert varied.sentinels(instance_of(tmp_path, "x, at", unguarded, inputs)) == {}


def test_positions_that_ascend_get_no_sentinel(tmp_path: Path) -> None:
    made = instance_of(tmp_path, "x, at", "torch.where(at < 0, 0.0, x)", "torch.randn(32), torch.arange(32)")
    assert varied.sentinels(made) == {}
