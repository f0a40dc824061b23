"""The draws that a candidate meets, and the one that follows another on memory that nobody cleared."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from kernelwright.worker.judge import tolerance
from kernelwright.worker.judge.draws import PERIOD, Draws
from kernelwright.worker.plan.plan import AGAIN, AGAIN_FEW
from kernelwright.worker.reference import values
from kernelwright.worker.reference.load import load_problem

PROBLEM = """
import torch

class Model(torch.nn.Module):
    def forward(self, x, index):
        return torch.softmax(x, dim=-1)[index]

CASES = [dict(name="small", small=True, rows=40), dict(name="timed", rows=400)]

def get_inputs(rows=40):
    return [torch.randn(rows, 70), torch.randperm(rows)]

def get_init_inputs():
    return []
"""


@pytest.fixture(scope="module")
def draws(tmp_path_factory: pytest.TempPathFactory) -> Draws:
    file = tmp_path_factory.mktemp("draws") / "rows.py"
    file.write_text(PROBLEM)
    return Draws(load_problem(str(file)), "cpu")


def test_what_is_drawn_again_differs_from_draw_0_in_part(draws: Draws) -> None:
    first, again = (draws.answer("small", draw).instance.inputs for draw in (0, AGAIN))
    x, y = first[0], again[0]
    assert isinstance(x, torch.Tensor)
    assert isinstance(y, torch.Tensor)
    changed = x != y
    assert bool(changed.any(dim=1).all()), "a kernel that works row by row has something to do in each"
    assert 0.05 < float(changed.float().mean()) < 0.25
    assert AGAIN % 2 == 0, "the guard zones keep their poison"


def test_before_it_a_few_elements_change_so_that_a_sample_of_the_input_does_not_tell(draws: Draws) -> None:
    assert draws.following("small") == [AGAIN_FEW, AGAIN]
    first, again = (draws.answer("small", draw).instance.inputs[0] for draw in (0, AGAIN_FEW))
    assert isinstance(first, torch.Tensor)
    assert isinstance(again, torch.Tensor)
    assert 1 <= int((first != again).sum()) < 40
    assert AGAIN_FEW % 2 == 0


def test_what_is_drawn_again_has_expectations_of_its_own(draws: Draws) -> None:
    answer = draws.answer("small", AGAIN)
    x, index = answer.instance.inputs
    assert isinstance(x, torch.Tensor)
    assert isinstance(index, torch.Tensor)
    assert torch.allclose(answer.expected[0], torch.softmax(x.double(), -1)[index])
    assert not torch.allclose(answer.expected[0], draws.answer("small", 0).expected[0], atol=1e-3)


def test_the_tolerance_for_it_is_about_that_of_draw_0(draws: Draws) -> None:
    again, first = (draws.limit("small", draw, 0).max_rel for draw in (AGAIN, 0))
    assert 0.3 < again / first < 3


def test_what_is_drawn_again_is_no_ordinary_draw(draws: Draws) -> None:
    for case in ("small", "timed"):
        order = draws.draws_for(case)
        assert order[0] == 0
        assert not {AGAIN, AGAIN_FEW} & set(order)
        assert len(set(order)) == len(order)


def test_draws_of_parameters_are_left_out_where_there_are_none(draws: Draws, tmp_path: Path) -> None:
    drawn = {values.DISTRIBUTIONS[draw % PERIOD] for draw in draws.draws_for("small")}
    assert drawn == set(values.DISTRIBUTIONS) - {*values.WEIGHTS, values.VARIED}
    file = tmp_path / "scaled.py"
    layer = """    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(70))

    def forward"""
    file.write_text(PROBLEM.replace("    def forward", layer).replace("(x, dim", "(x * self.scale, dim"))
    with_parameters = Draws(load_problem(str(file)), "cpu")
    drawn = {values.DISTRIBUTIONS[draw % PERIOD] for draw in with_parameters.draws_for("small")}
    assert drawn == set(values.DISTRIBUTIONS) - {values.VARIED}


CANCELLING = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return x.sum()

CASES = [dict(name="small", small=True), dict(name="timed")]

def get_inputs():
    x = torch.randn(1313)
    if x[0] > 0:  # about every other draw: what all but a thousandth of a term is taken away
        x[1:] -= (x.double().sum() / 1312).float() * 0.9999
    return [x]

def get_init_inputs():
    return []
"""


def test_a_sum_that_cancels_in_one_draw_is_held_against_what_it_is_in_others(tmp_path: Path) -> None:
    file = tmp_path / "total.py"
    file.write_text(CANCELLING)
    problem = load_problem(str(file))
    for secret in range(100):  # one whose first draw cancels and whose other of that distribution does not
        draws = Draws(problem, "cpu")
        draws.secret = secret
        cancels, usual = (float(draws.answer("small", draw).expected[0].abs()) for draw in (0, PERIOD))
        if cancels < 0.02 and usual > 10:
            break
    else:
        pytest.fail("no such pair of draws")
    answer = draws.answer("small", 0)
    x = answer.instance.inputs[0]
    assert isinstance(x, torch.Tensor)
    in_another_order = torch.zeros(())
    for term in x.flip(0):
        in_another_order = in_another_order + term
    for draw in (0, AGAIN_FEW):
        limit = draws.limit("small", draw, 0)
        assert limit.scale.largest > 10
        assert not limit.exact
    found = tolerance.errors(in_another_order, answer.expected[0])
    assert found.max_rel > 3e-5, "of the draw's own scale"
    assert tolerance.verdict(found, draws.limit("small", 0, 0)) == ""
    assert tolerance.verdict(tolerance.errors(x.half().sum(), answer.expected[0]), draws.limit("small", 0, 0))


def test_a_large_case_with_one_output_pools_two_draws(draws: Draws, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernelwright.worker.judge.draws.LARGE_BYTES", 1)
    monkeypatch.setattr(draws, "is_affordable", lambda case: False)
    asked: list[int] = []
    monkeypatch.setattr(draws, "_errors", lambda case, draw: asked.append(draw) or draws.errors[case, draw][1])
    draws.answer("small", PERIOD)
    draws.answer("small", 0)
    draws.limit("small", 0, 0)
    assert set(asked) == {0}, "2800 elements are a scale by themselves"
    monkeypatch.setattr("kernelwright.worker.judge.draws.FEW_OUTPUTS", 10_000)
    draws.limit("small", 0, 0)
    assert set(asked) == {0, PERIOD}


def test_other_cases_pool_two_draws_unless_they_have_many_outputs(
    draws: Draws, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    monkeypatch.setattr(draws, "_errors", lambda case, draw: asked.append(draw) or draws.errors[case, draw][1])
    draws.answer("small", PERIOD)
    draws.answer("small", 0)
    monkeypatch.setattr("kernelwright.worker.judge.draws.MANY_OUTPUTS", 2_800)
    monkeypatch.setattr(draws, "is_affordable", lambda case: False)
    draws.limit("small", 0, 0)
    assert set(asked) == {0}
    monkeypatch.setattr("kernelwright.worker.judge.draws.MANY_OUTPUTS", 2_801)
    draws.limit("small", 0, 0)
    assert set(asked) == {0, PERIOD}


MISH = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.mish(x)

CASES = [dict(name="small", small=True), dict(name="timed")]

def get_inputs():
    return [torch.randn(6, 40)]

def get_init_inputs():
    return []
"""


def test_the_scale_of_a_tail_is_that_of_the_usual_outputs(tmp_path: Path) -> None:
    file = tmp_path / "mish.py"
    file.write_text(MISH)
    draws = Draws(load_problem(str(file)), "cpu")
    draws.secret = 11  # with some other seeds the rms error of the formula below is near the limit
    draw = values.DISTRIBUTIONS.index(values.NEGATIVE)
    answer = draws.answer("small", draw)
    assert float(answer.expected[0].abs().max()) < 0.4
    limit = draws.limit("small", draw, 0)
    assert limit.scale.largest > 1
    x = answer.instance.inputs[0]
    assert isinstance(x, torch.Tensor)
    honest = x * torch.tanh(torch.log(1 + torch.exp(x)))  # an eps of 1 is lost, which x multiplies
    assert tolerance.verdict(tolerance.errors(honest, answer.expected[0]), limit) == ""


def test_a_reference_that_computes_in_float32_is_not_exact(tmp_path: Path) -> None:
    """Its float64 result would be the framework's, and whatever rounds otherwise wrong."""
    file = tmp_path / "sigmoid.py"
    file.write_text(MISH.replace("torch.nn.functional.mish(x)", "torch.sigmoid(x.float())"))
    draws = Draws(load_problem(str(file)), "cpu")
    answer, limit = draws.answer("small", 0), draws.limit("small", 0, 0)
    x = answer.instance.inputs[0]
    assert isinstance(x, torch.Tensor)
    honest = 1 / (1 + torch.exp(-x))
    assert tolerance.verdict(tolerance.errors(honest, answer.expected[0]), limit) == ""
    rounded = honest.bfloat16().float()
    assert "largest error" in tolerance.verdict(tolerance.errors(rounded, answer.expected[0]), limit)


def test_which_distributions_a_case_meets_is_the_same_in_every_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kernelwright.worker.judge.draws.AFFORDABLE_BYTES", 1)
    (tmp_path / "rows.py").write_text(PROBLEM)
    made = [Draws(load_problem(str(tmp_path / "rows.py")), "cpu") for _ in range(4)]
    assert len({one.secret for one in made}) == 4
    assert len({frozenset(draw % PERIOD for draw in one.draws_for("timed")) for one in made}) == 1
    assert len({one.unseen("timed") for one in made}) == 1


def test_what_a_case_does_not_meet_is_named(draws: Draws, monkeypatch: pytest.MonkeyPatch) -> None:
    assert draws.unseen("small") == draws.unseen("timed") == ()
    monkeypatch.setattr("kernelwright.worker.judge.draws.AFFORDABLE_BYTES", 1)
    assert draws.unseen("small") == ()
    seen = {values.DISTRIBUTIONS[draw % PERIOD] for draw in draws.draws_for("timed")}
    unseen = set(draws.unseen("timed"))
    assert unseen
    assert not unseen & seen
    assert unseen | seen | {*values.WEIGHTS, values.VARIED} == set(values.DISTRIBUTIONS)


def test_whether_a_problem_qualifies_is_asked_with_the_same_values_every_time(tmp_path: Path) -> None:
    (tmp_path / "rows.py").write_text(PROBLEM)
    made = [Draws(load_problem(str(tmp_path / "rows.py")), "cpu").foreseeable() for _ in range(2)]
    one, two = (draws.answer("small", 0).expected[0] for draws in made)
    assert torch.equal(one, two)
    secret = Draws(load_problem(str(tmp_path / "rows.py")), "cpu")
    assert not torch.equal(secret.answer("small", 0).expected[0], one)
    assert secret.foreseeable().kept.answers == {}


PRODUCTS = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return {expression}

CASES = [dict(name="small", small=True), dict(name="timed", n=300)]

def get_inputs(n=400):
    return [torch.rand(6, n)]

def get_init_inputs():
    return []
"""


@pytest.mark.parametrize("expression", ["torch.cumprod(x, dim=1)", "x.prod(dim=1)", "x.prod()"])
def test_factors_that_overflow_where_they_come_first_do_not_judge(tmp_path: Path, expression: str) -> None:
    """Products of 400 factors are 0 in float32. A scan multiplies those of its last blocks first, which grow without
    limit if the inputs do, and infinity times 0 is NaN."""
    file = tmp_path / "products.py"
    file.write_text(PRODUCTS.format(expression=expression))
    draws = Draws(load_problem(str(file)), "cpu")
    for number, name in enumerate(values.DISTRIBUTIONS):
        answer = draws.answer("small", number)
        (factors,), (left_out,), (expected,) = answer.instance.inputs, answer.left_out, answer.expected
        assert isinstance(factors, torch.Tensor)
        above_one = factors.abs().double().nan_to_num(nan=0.0, posinf=math.inf).clamp(min=1).log2()
        largest = {"x.prod()": above_one.sum(), "x.prod(dim=1)": above_one.sum(1)}.get(expression, above_one.cumsum(1))
        judged = expected.isfinite() if left_out is None else expected.isfinite() & ~left_out
        assert bool((largest[judged] < 128).all()), name
    shrunk = values.DISTRIBUTIONS.index(values.SCALED_DOWN)
    assert draws.answer("small", shrunk).distribution == values.SCALED_DOWN
