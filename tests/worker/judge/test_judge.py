"""The judge on its own: which draws there are, what it expects of them, and what it lets pass in an arena."""

from __future__ import annotations

import gc
import inspect
import math
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import torch

from kernelwright import codec
from kernelwright.errors import ProblemError
from kernelwright.model import CaseResult, Loading, Status, TensorSpec
from kernelwright.worker.judge import answer, draws, tolerance, trivial
from kernelwright.worker.judge.draws import ALWAYS, OTHERS
from kernelwright.worker.judge.judge import POISONS, Judge
from kernelwright.worker.plan.arena import attach, window
from kernelwright.worker.plan.case_shape import CaseShape
from kernelwright.worker.plan.layout import Layout
from kernelwright.worker.plan.library import exact_products
from kernelwright.worker.plan.plan import Buffer, Plan, View
from kernelwright.worker.processes.memory import SharedMemory
from kernelwright.worker.reference import values
from kernelwright.worker.reference.instance import Specs
from kernelwright.worker.reference.strided import strided

PROBLEM = """\
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(7))

    def forward(self, x):
        return {forward}


CASES = [
    dict(name="a", dtype="float32", small=True, rows=11),
    dict(name="b", dtype="float16", small=True, rows=5),
    dict(name="c", dtype="float32", rows=3000),
]


def get_inputs(rows):
    return [torch.randn(rows, 7)]


def get_init_inputs():
    return []
"""
COUNT = len(values.DISTRIBUTIONS)


def judge(folder: Path, forward: str = "torch.relu(x) * self.scale") -> Judge:
    file = folder / "made.py"
    file.write_text(PROBLEM.format(forward=forward))
    made = Judge("cpu")
    made.load(str(file))
    torch.set_grad_enabled(False)
    return made


def test_the_shapes_of_a_case_say_which_constructor_arguments_are_tensors(tmp_path: Path) -> None:
    text = PROBLEM.replace("def __init__(self):", "def __init__(self, rows, table):")
    text = text.replace("return []", "return [9, torch.ones(7)]")
    (tmp_path / "made.py").write_text(text.format(forward="x * self.scale"))
    made = Judge("cpu")
    made.load(str(tmp_path / "made.py"))
    shape = codec.record(codec.plain(made.shapes()), list[CaseShape])[0]
    assert (shape.init_names, shape.init_tensors) == (("rows", "table"), (1,))
    assert codec.record(shape.init[1], TensorSpec).shape == (7,)


# --- draws --------------------------------------------------------------------------------------------------


def test_every_case_that_is_affordable_sees_every_distribution_and_both_poisons(tmp_path: Path) -> None:
    made = judge(tmp_path)
    for case in ("a", "b", "c"):
        draws = made.draws_for(case)
        assert draws[0] == 0
        assert {values.DISTRIBUTIONS[draw % COUNT] for draw in draws} == {*values.DISTRIBUTIONS} - {values.VARIED}
        assert len(draws) == COUNT - 1, "nothing is constant"
        assert [draw % len(POISONS) for draw in draws] == [i % 2 for i in range(len(draws))]


def test_a_case_that_takes_longer_sees_some_and_a_small_one_still_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kernelwright.worker.judge.draws.AFFORDABLE_BYTES", 1)
    made = judge(tmp_path)
    assert len(made.draws_for("a")) == COUNT - 1
    draws = made.draws_for("c")
    assert draws[0] == 0
    assert len({draw % COUNT for draw in draws}) == len(draws) == len(ALWAYS) + OTHERS
    assert set(ALWAYS) <= {values.DISTRIBUTIONS[draw % COUNT] for draw in draws}
    assert {values.DISTRIBUTIONS[draw % COUNT] for draw in made.draws.draws_for_everyone("c")} == set(ALWAYS)
    assert made.answer("c", draws[1]).sensitive == [None], "too large for it"
    assert made.answer("a", draws[1]).sensitive != [None]


def test_a_large_case_is_only_drawn_from_what_needs_no_sorting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernelwright.worker.judge.draws.LARGE_BYTES", 1000)
    made = judge(tmp_path)
    for _ in range(40):
        made.draws.secret += 1
        asked = [values.DISTRIBUTIONS[draw % COUNT] for draw in made.draws_for("c")]
        assert len(asked) == len(ALWAYS) + 1
        assert set(ALWAYS) <= set(asked) <= {values.AS_GIVEN, *values.CHEAP}


def test_which_draws_there_are_depends_on_the_secret_and_the_case_alone(tmp_path: Path) -> None:
    one, other = judge(tmp_path), judge(tmp_path)
    assert one.draws.secret != other.draws.secret
    assert one.draws_for("a") != other.draws_for("a")
    assert one.draws_for("a") != one.draws_for("b")
    assert one.draws_for("a") == one.draws_for("a")
    assert list(inspect.signature(one.draws_for).parameters) == ["case"], "nothing of a candidate"


def test_nothing_that_the_judge_tells_holds_its_secret(tmp_path: Path) -> None:
    made = judge(tmp_path)
    told = [
        made.draws_for("a"),
        codec.plain(made.qualify("a")),
        made.shapes(),
        made.load(str(tmp_path / "made.py")),
    ]
    for draw in (*range(3), COUNT):
        assert str(made.draws.secret + draw) not in str(told)


# --- answers ------------------------------------------------------------------------------------------------


def test_every_draw_is_of_its_own_seed_and_distribution(tmp_path: Path) -> None:
    made = judge(tmp_path)
    inputs = []
    for draw in range(2 * COUNT):
        answer = made.answer("a", draw)
        assert answer.distribution == values.DISTRIBUTIONS[draw % COUNT]
        inputs.append(answer.instance.inputs[0])
    assert len({str(tensor) for tensor in inputs}) == 2 * COUNT


@pytest.mark.parametrize(("case", "factor"), [("a", 2.5), ("b", 0.3)])
def test_what_overflows_in_the_problem_s_dtype_is_not_held_against_a_candidate(
    tmp_path: Path, case: str, factor: float
) -> None:
    """Scaled by 16, about one element in 50 overflows in the dtype of the case. The problem's own inputs judge all."""
    made = judge(tmp_path, f"torch.exp({factor} * x)")
    scaled = values.DISTRIBUTIONS.index(values.SCALED_UP)
    answers = [made.answer(case, scaled + turn * COUNT) for turn in range(20)]
    drawn = [one for one in answers if one.distribution != values.AS_GIVEN]
    assert any(one.left_out != [None] for one in drawn)
    for (expected,), (left_out,), (dtype,) in ((one.expected, one.left_out, one.dtypes) for one in drawn):
        below = expected < torch.finfo(dtype).max / 2
        assert bool((below if left_out is None else below | left_out).all())


def test_where_one_special_value_spoils_everything_milder_ones_are_drawn(tmp_path: Path) -> None:
    made = judge(tmp_path, "x - x.sum()")
    special = values.DISTRIBUTIONS.index(values.SPECIAL)
    assert made.answer("a", special).distribution == values.FINITE_SPECIAL
    assert judge(tmp_path).answer("a", special).distribution == values.SPECIAL


def test_a_reference_that_refuses_a_distribution_is_asked_for_a_milder_one(tmp_path: Path) -> None:
    made = judge(tmp_path, "x * self.scale if x.abs().max() < 20 else 1 / 0")
    scaled = values.DISTRIBUTIONS.index(values.SCALED_UP)
    assert made.answer("a", scaled).distribution == values.AS_GIVEN


def test_the_tolerance_of_a_draw_comes_from_the_framework_s_error_on_it(tmp_path: Path) -> None:
    made = judge(tmp_path, "(x + 1000) - 1000")  # in float16 a rounding of 0.25, whatever x is
    up, down = (values.DISTRIBUTIONS.index(name) for name in (values.SCALED_UP, values.SCALED_DOWN))
    assert made.draws.limit("b", up, 0).max_rel < made.draws.limit("b", 0, 0).max_rel / 4
    assert made.draws.limit("b", down, 0).max_rel > made.draws.limit("b", 0, 0).max_rel * 4


def test_the_error_of_float64_follows_from_that_of_float32(tmp_path: Path) -> None:
    file = tmp_path / "wide.py"
    text = PROBLEM.format(forward="torch.exp(x) * self.scale, x.argmax(1), x * 2")
    file.write_text(text.replace('"float16"', '"float64"'))
    made = Judge("cpu")
    made.load(str(file))
    limits = [made.draws.limit("b", 0, output) for output in range(3)]
    assert [limit.exact for limit in limits] == [False, True, False]
    answer = made.answer("b", 0)
    x, scale = answer.instance.inputs[0], answer.instance.module.get_parameter("scale")
    assert isinstance(x, torch.Tensor)
    otherwise = torch.exp2(x * math.log2(math.e)) * scale
    assert tolerance.verdict(tolerance.errors(otherwise, answer.expected[0]), limits[0]) == ""
    for coarse in (torch.exp(x.float()).double() * scale, otherwise * (1 + 1e-12)):
        assert tolerance.verdict(tolerance.errors(coarse, answer.expected[0]), limits[0])
    eps = torch.finfo(torch.float64).eps
    assert 0 < answer.own[0].max_rel < 10 * eps
    assert not answer.own[0].special


def test_a_reference_that_float32_does_not_bear_is_judged_in_float64_by_the_floor(tmp_path: Path) -> None:
    for forward in ("x * 1e100", "x @ torch.eye(7, dtype=torch.float64)"):  # infinite, and of mixed dtypes
        file = tmp_path / "wide.py"
        file.write_text(
            PROBLEM.format(forward=forward).replace('"float16"', '"float64"').replace('"float32"', '"float64"')
        )
        made = Judge("cpu")
        made.load(str(file))
        answer, limit = made.answer("a", 0), made.draws.limit("a", 0, 0)
        assert (answer.own[0].max_abs, answer.own[0].special) == (0.0, False)
        assert 0 < limit.max_rel < 100 * torch.finfo(torch.float64).eps


QUANTISED = "torch.round(x * 12.7).clamp(-128, 127).to(torch.int8)"


def quantised(folder: Path, forward: str = QUANTISED) -> Judge:
    file = folder / "quantised.py"
    file.write_text(PROBLEM.format(forward=forward).replace("rows=5", "rows=500"))
    made = Judge("cpu")
    made.load(str(file))
    return made


def test_a_place_among_values_that_are_one_in_float32_may_be_the_framework_s_or_float64_s(tmp_path: Path) -> None:
    made = quantised(tmp_path, "torch.sigmoid(8 * x).argmax(0)")
    x = made.answer("b", 0).instance.inputs[0]
    assert isinstance(x, torch.Tensor)
    framework, exact = torch.sigmoid(8 * x).argmax(0), torch.sigmoid(8 * x.double()).argmax(0)
    assert not torch.equal(framework, exact)
    assert made._compared("b", 0, 0, framework).reason == made._compared("b", 0, 0, exact).reason == ""
    found = made.qualify("b")
    assert not isinstance(found, str)
    assert found.rounded == (0,)


@pytest.mark.parametrize("forward", [QUANTISED, "torch.sigmoid(8 * x) == 1"])
def test_whole_numbers_that_follow_from_rounded_ones_may_be_the_framework_s_or_float64_s(
    tmp_path: Path, forward: str
) -> None:
    made = quantised(tmp_path, forward)
    answer = made.answer("b", 0)
    x = answer.instance.inputs[0]
    assert isinstance(x, torch.Tensor)
    framework = eval(forward, {"torch": torch, "x": x})
    exact = eval(forward, {"torch": torch, "x": x.double()})
    assert torch.equal(answer.expected[0], exact)
    also = answer.rounded[0]
    assert torch.equal(also[0], framework)
    assert not torch.equal(framework, exact)
    found = made.qualify("b")
    assert not isinstance(found, str)
    assert found.rounded == (0,)
    for right in (framework, exact):
        found = tolerance.errors(right, answer.expected[0], also=also)
        assert tolerance.verdict(found, made.draws.limit("b", 0, 0)) == ""
    parameters = sum(one.nbytes for one in answer.instance.module.parameters())
    assert answer.nbytes == x.nbytes + (1 + len(also)) * exact.nbytes + parameters


CHAIN = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        total, found = torch.zeros_like(x[:, 0]), []
        for one in x.unbind(1):
            total = total + one
            found.append(total)
        return torch.stack(found, 1)

CASES = [dict(name="small", small=True, dtype="bfloat16"), dict(name="timed", dtype="bfloat16")]

def get_inputs():
    return [torch.randn(16, 700)]

def get_init_inputs():
    return []
"""


def test_a_chain_of_roundings_in_half_precision_lets_no_coarse_result_pass(tmp_path: Path) -> None:
    """PyTorch is as far off there as a result rounded to three bits is. A sum in float32 is right, and so is the
    chain."""
    file = tmp_path / "chain.py"
    file.write_text(CHAIN)
    made = Judge("cpu")
    made.load(str(file))
    made.draws.secret = 1
    answer = made.answer("small", 0)
    x = answer.instance.inputs[0]
    assert isinstance(x, torch.Tensor)
    assert answer.own[0].rms_rel > tolerance.MOST_RMS[torch.bfloat16]
    for right in (x.float().cumsum(1).bfloat16(), answer.instance.module(x)):
        assert made._compared("small", 0, 0, right).reason == ""
    found = made.qualify("small")
    assert not isinstance(found, str)
    assert not any(one.accepted for one in found.answers)
    wrong = trivial._rounded(answer.expected[0].bfloat16(), 3)
    assert "the rms error is" in made._compared("small", 0, 0, wrong).reason


SCALED = "x / (x.abs().amax(-1, keepdim=True) / 127)"


@pytest.mark.parametrize("forward", [f"torch.round({SCALED}).to(torch.int8)", f"({SCALED}).to(torch.int8)"])
def test_a_kernel_may_round_to_the_other_side_of_a_step_but_only_next_to_it(tmp_path: Path, forward: str) -> None:
    made = quantised(tmp_path, forward)
    made.draws.secret = 0  # of 150 others four had no element at a step
    answer = made.answer("a", 0)
    x = answer.instance.inputs[0]
    assert isinstance(x, torch.Tensor)
    assert x.dtype == torch.float32
    turned = eval(forward.replace(SCALED, "x * (127 / x.abs().amax(-1, keepdim=True))"), {"torch": torch, "x": x})
    limit = made.draws.limit("a", 0, 0)
    assert tolerance.verdict(tolerance.errors(turned, answer.expected[0], also=answer.rounded[0]), limit) == ""
    assert not torch.equal(turned, answer.expected[0]) or "round" in forward
    scaled = eval(SCALED, {"x": x.double()})
    step = scaled + 0.5 if "round" in forward else scaled
    between = ((step - step.round()).abs() > 1e-3).nonzero()[0].tolist()
    turned[tuple(between)] += 1
    assert "whole numbers have to be equal" in tolerance.verdict(
        tolerance.errors(turned, answer.expected[0], also=answer.rounded[0]), limit
    )


def test_special_values_are_in_every_input_or_in_one_where_they_would_spoil_everything(tmp_path: Path) -> None:
    """A kernel that multiplied a third input by 0 was wrong where that one of three had them."""
    special = values.DISTRIBUTIONS.index(values.SPECIAL)

    def changed(forward: str) -> tuple[str, list[bool]]:
        (tmp_path / "three.py").write_text(THREE.replace("FORWARD", forward))
        made = Judge("cpu")
        made.load(str(tmp_path / "three.py"))
        answer = made.answer("small", special)
        given = [one for one in answer.instance.inputs if isinstance(one, torch.Tensor)]
        return answer.distribution, [not bool(one.isfinite().all()) for one in given]

    for _ in range(4):
        assert changed("a @ b") == (values.SPECIAL, [True] * 3)
    distribution, where = changed("(a * b + c).sum() + a.flatten()[0] * 0 + a")
    assert distribution in (values.SPECIAL_ONE, values.FINITE_SPECIAL)
    assert sum(where) <= 1


THREE = """
import torch

class Model(torch.nn.Module):
    def forward(self, a, b, c):
        return FORWARD

CASES = [dict(name="small", small=True), dict(name="timed")]

def get_inputs():
    return [torch.randn(12, 12), torch.randn(12, 12), torch.randn(12, 12)]

def get_init_inputs():
    return []
"""


def test_a_kernel_that_quantises_as_the_framework_does_passes_and_one_that_is_off_does_not(tmp_path: Path) -> None:
    made = quantised(tmp_path)
    plan = Plan(
        buffers=(Buffer(id=0, nbytes=7000, origin="input", name="x"), Buffer(id=1, nbytes=3500, origin="scratch")),
        steps=(), outputs=(View(buffer=1, dtype="int8", shape=(500, 7), stride=(7, 1)),), single=True,
    )  # fmt: skip
    layout = Layout(plan.buffers)
    shared = SharedMemory()
    handle = shared.reserve(layout.nbytes)
    memory = attach(handle)
    try:
        for draw in range(COUNT):
            made.fill("b", draw, plan, handle)
            x = made.answer("b", draw).instance.inputs[0]
            output = window(memory, layout, plan.outputs[0])
            output.copy_(eval(QUANTISED, {"torch": torch, "x": x}))
            assert made.check("b", draw, plan, handle).status is Status.PASSED, values.DISTRIBUTIONS[draw]
            output[3, 3] += 2
            assert "whole numbers" in made.check("b", draw, plan, handle).reason
    finally:
        shared.close()


def test_no_nan_is_put_in_where_whole_numbers_come_out(tmp_path: Path) -> None:
    special = values.DISTRIBUTIONS.index(values.SPECIAL)
    for forward in (QUANTISED, "x.max(1)", "x > 0"):
        assert quantised(tmp_path, forward).answer("b", special).distribution == values.FINITE_SPECIAL
    assert quantised(tmp_path, "x.amax(1)").answer("b", special).distribution == values.SPECIAL


def test_where_the_framework_is_exact_nothing_else_is_kept(tmp_path: Path) -> None:
    made = quantised(tmp_path, "torch.relu(x), x.to(torch.int8), x.argmax(0), torch.exp(x)")
    assert made.answer("b", 0).rounded == [(), (), (), ()]
    found = made.qualify("b")
    assert not isinstance(found, str)
    assert found.rounded == ()


def test_what_the_framework_rounds_to_nothing_but_zeros_does_not_qualify(tmp_path: Path) -> None:
    made = quantised(tmp_path, "((x * 1e-14) * 1e14 > 0.5)")  # zero in float16, whatever x is
    found = made.qualify("b")
    assert not isinstance(found, str)
    assert "zeros" in [answer.name for answer in found.accepted]


def test_equality_is_asked_for_only_where_the_problem_s_own_inputs_are_exact(tmp_path: Path) -> None:
    relu = judge(tmp_path, "torch.relu(x)")
    assert all(relu.draws.limit("a", draw, 0).exact for draw in range(COUNT))
    rounded = judge(tmp_path, "torch.relu(x).cumsum(1)")
    assert not any(rounded.draws.limit("a", draw, 0).exact for draw in range(COUNT))


def test_what_is_kept_stays_within_its_share_of_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = judge(tmp_path)
    one = made.answer("c", 0).nbytes
    monkeypatch.setattr("kernelwright.worker.judge.kept.ON_CPU_BYTES", 2 * one)
    for draw in range(6):
        made.answer("c", draw)
    assert len(made.draws.kept.answers) <= 2
    assert ("c", 5) in made.draws.kept.answers


def test_where_not_all_answers_fit_some_serve_every_candidate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = judge(tmp_path)
    monkeypatch.setattr("kernelwright.worker.judge.kept.ON_CPU_BYTES", 3 * made.answer("c", 0).nbytes)
    counted = Mock(side_effect=made.draws._made)
    monkeypatch.setattr(made.draws, "_made", counted)

    def made_for(*order: int) -> int:
        before = counted.call_count
        for draw in order:
            made.draws.measure("c", draw)
            assert made.answer("c", draw) is made.answer("c", draw), "checked on the answer that filled the arena"
        return counted.call_count - before

    candidate = (0, 3, 1, 4, 2)
    made_for(*candidate)
    assert [made_for(*candidate) for _ in range(4)] == [3, 3, 3, 3]
    made_for(5)  # of a confirmation
    assert sum(made_for(*candidate) for _ in range(4)) <= 13


def test_errors_of_the_framework_are_measured_once_for_each_draw(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = judge(tmp_path)
    monkeypatch.setattr("kernelwright.worker.judge.kept.ON_CPU_BYTES", 0)
    monkeypatch.setattr(made.draws, "is_affordable", lambda case: False)
    measured = Mock(side_effect=answer.own_errors)
    monkeypatch.setattr(answer, "own_errors", measured)
    errors = made.answer("c", 1).own
    gc.collect()
    assert measured.call_count == 1
    assert made.answer("c", 1).own == errors
    assert measured.call_count == 1


@pytest.mark.parametrize("case", ["a", "b", "c"])
def test_tolerances_are_measured_once_and_before_a_candidate_is_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    made = judge(tmp_path)
    monkeypatch.setattr(made.draws, "is_affordable", lambda case: case != "c")
    draws = [*made.draws_for(case), *made.draws.following(case)]
    assert all(made.draws.measure(case, draw) > 0 for draw in draws)
    monkeypatch.setattr(answer, "own_errors", Mock(side_effect=AssertionError("measured too late")))
    assert not any(made.draws.measure(case, draw) for draw in draws)
    for draw in draws:
        right = made.answer(case, draw).expected[0].to(made.answer(case, draw).dtypes[0])
        assert made._compared(case, draw, 0, right).status is Status.PASSED


def test_tolerances_are_known_without_what_they_were_found_on(tmp_path: Path) -> None:
    made = judge(tmp_path)
    before = made.draws.limit("c", 3, 0)
    made.draws.kept.answers.clear()
    assert made.draws.limit("c", 3, 0) == before
    assert not made.draws.kept.answers


def test_when_memory_runs_out_what_is_kept_makes_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = judge(tmp_path)
    made.answer("a", 0)
    answered = draws.answered

    def short(*args: Any, **kwargs: Any) -> Any:
        if made.draws.kept.answers:
            raise torch.OutOfMemoryError("tried to allocate 20 GiB")
        return answered(*args, **kwargs)

    monkeypatch.setattr(draws, "answered", short)
    assert made.answer("a", 1).distribution == values.DISTRIBUTIONS[1]
    assert list(made.draws.kept.answers) == [("a", 1)]


# --- inputs laid out otherwise ------------------------------------------------------------------------------


def test_one_small_case_is_told_twice_to_the_recorder_once_with_other_strides(tmp_path: Path) -> None:
    shapes = {shape.name: shape for shape in judge(tmp_path).shapes()}
    assert list(shapes) == ["a", "b", "c", "b/strided"]
    assert shapes["b/strided"].inputs == (TensorSpec(shape=(5, 7), dtype="float16", stride=(10, 1), offset=1),)
    assert shapes["b/strided"].parameters == shapes["b"].parameters


def test_padding_goes_between_rows_and_a_vector_stays_dense() -> None:
    def spec(*shape: int) -> TensorSpec:
        return TensorSpec(shape=shape, dtype="float32", stride=torch.empty(shape).stride())

    inputs = (spec(4), spec(2, 3, 5), spec(), spec(1), 3, None)
    made = strided(Specs(inputs=inputs, outputs=(spec(4),), parameters={})).inputs
    assert [one.stride for one in made[:2]] == [(1,), (24, 8, 1)]
    assert [one.offset for one in made[:2]] == [1, 1]
    assert made[2:] == inputs[2:]


# --- an arena, as a kernel may leave it ---------------------------------------------------------------------


class Arena:
    """What a replay would leave: inputs as the judge put them, the output as a test writes it."""

    def __init__(self, made: Judge, case: str, stride: tuple[int, int] = (7, 1), offset: int = 0) -> None:
        self.made, self.case = made, case
        rows = 5 if case.startswith("b") else 11
        size = 2 if case.startswith("b") else 4
        dtype = "float16" if size == 2 else "float32"
        reach = offset + (rows - 1) * stride[0] + 7
        self.plan = Plan(
            buffers=(
                Buffer(id=0, nbytes=reach * size, origin="input", name="x"),
                Buffer(id=1, nbytes=7 * size, origin="parameter", name="scale"),
                Buffer(id=2, nbytes=rows * 7 * size, origin="scratch"),
            ),
            steps=(), outputs=(View(buffer=2, dtype=dtype, shape=(rows, 7), stride=(7, 1)),), single=True,
        )  # fmt: skip
        self.x = View(buffer=0, dtype=dtype, shape=(rows, 7), stride=stride, offset=offset)
        self.layout = Layout(self.plan.buffers)
        self.shared = SharedMemory()
        self.handle = self.shared.reserve(self.layout.nbytes)
        self.memory = attach(self.handle)

    def fill(self, draw: int) -> None:
        self.made.fill(self.case, draw, self.plan, self.handle)

    def write(self, draw: int) -> torch.Tensor:
        """The right answer, where the output belongs."""
        output = window(self.memory, self.layout, self.plan.outputs[0])
        output.copy_(self.made.answer(self.case, draw).expected[0])
        return output

    def check(self, draw: int) -> CaseResult:
        return self.made.check(self.case, draw, self.plan, self.handle)


@pytest.fixture
def arena(tmp_path: Path) -> Any:
    made = Arena(judge(tmp_path), "a")
    yield made
    made.shared.close()


@pytest.mark.parametrize("draw", range(COUNT))
def test_the_right_answer_passes_on_every_distribution(arena: Arena, draw: int) -> None:
    arena.fill(draw)
    arena.write(draw)
    assert arena.check(draw).status is Status.PASSED


@pytest.mark.parametrize("draw", [0, 1])
def test_what_is_not_written_is_poison_and_wrong(arena: Arena, draw: int) -> None:
    arena.fill(draw)
    output = arena.write(draw)
    output.view(torch.uint8)[-1] = POISONS[draw]
    assert arena.check(draw).status is Status.WRONG
    arena.fill(draw)
    assert arena.check(draw).status is Status.WRONG


def test_a_wrong_value_on_other_inputs_names_their_distribution(arena: Arena) -> None:
    draw = values.DISTRIBUTIONS.index(values.OUTLIER)
    arena.fill(draw)
    arena.write(draw)[3, 3] += 1e9
    result = arena.check(draw)
    assert result.status is Status.WRONG
    assert result.reason.startswith("on inputs with an outlier at either end: ")


def test_a_changed_input_and_a_stray_write_are_wrong(arena: Arena) -> None:
    arena.fill(0)
    arena.write(0)
    window(arena.memory, arena.layout, arena.x)[0, 0] += 1
    assert "was changed" in arena.check(0).reason
    arena.fill(0)
    arena.write(0)
    arena.memory[arena.layout.guards()[1][0] + 3] = 7
    assert "outside every buffer" in arena.check(0).reason


def test_a_nan_put_in_may_be_lost_but_must_not_spread(tmp_path: Path) -> None:
    draw = values.DISTRIBUTIONS.index(values.SPECIAL)
    for _ in range(30):  # a place that holds a zero keeps it, so in some draws no NaN is put in
        arena = Arena(judge(tmp_path), "a")
        expected = arena.made.answer("a", draw).expected[0]
        if bool(expected.isnan().any()):
            break
        arena.shared.close()
    assert bool(expected.isnan().any())
    arena.fill(draw)
    output = arena.write(draw)
    output.nan_to_num_(nan=0.0, posinf=torch.inf, neginf=-torch.inf)
    assert arena.check(draw).status is Status.PASSED
    at = int(expected.isfinite().flatten().nonzero()[0])
    output.view(-1)[at] = torch.nan
    assert arena.check(draw).status is Status.WRONG
    arena.shared.close()


def test_strided_inputs_lie_where_their_spec_says_with_poison_between(tmp_path: Path) -> None:
    made = judge(tmp_path)
    arena = Arena(made, "b/strided", stride=(10, 1), offset=1)
    try:
        assert made.draws_for("b/strided") == [0]
        arena.fill(0)
        x = made.answer("b/strided", 0).instance.inputs[0]
        assert isinstance(x, torch.Tensor)
        assert torch.equal(window(arena.memory, arena.layout, arena.x), x)
        flat = View(buffer=0, dtype="float16", shape=(48,), stride=(1,))
        around = window(arena.memory, arena.layout, flat)
        assert bool(around[[0, 8, 9, 10]].isnan().all())
        arena.write(0)
        assert arena.check(0).status is Status.PASSED
        around[8] = 0
        assert "between the rows of x" in arena.check(0).reason
        window(arena.memory, arena.layout, arena.x)[4, 6] += 1
        assert "was changed" in arena.check(0).reason
    finally:
        arena.shared.close()


@pytest.mark.parametrize(
    ("stated", "expected"), [("", False), ('PRECISION = "ieee"\n', False), ('PRECISION = "tf32"\n', True)]
)
def test_a_problem_states_whether_the_framework_may_use_tf32(tmp_path: Path, stated: str, expected: bool) -> None:
    file = tmp_path / "product.py"
    file.write_text(
        f"import torch\n{stated}\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return x @ x\n"
        "def get_inputs():\n    return [torch.randn(9, 9)]\ndef get_init_inputs():\n    return []\n"
    )
    try:
        made = Judge("cpu")
        info = made.load(str(file))
        flags = (torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32)
    finally:
        exact_products()
    assert flags == (expected, expected)
    assert info.problem.precision == ("tf32" if expected else "ieee")
    with torch.no_grad():
        found = made.qualify("default")
    assert not isinstance(found, str)
    names = [answer.name for answer in found.answers if answer.name.startswith("rounded")]
    assert names == ["rounded to 7 bits" if expected else "rounded to 10 bits"]


def test_a_precision_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "product.py"
    file.write_text(
        "import torch\nPRECISION = 'fp8'\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return x\n"
        "def get_inputs():\n    return [torch.randn(9, 9)]\ndef get_init_inputs():\n    return []\n"
    )
    with pytest.raises(ProblemError, match="PRECISION is 'fp8'"):
        Judge("cpu").load(str(file))
    file.write_text(file.read_text().replace("PRECISION = 'fp8'\n", ""))
    file.with_suffix(".cases.json").write_text('{"precision": "tf32", "cases": [{"name": "timed"}]}')
    made = Judge("cpu")
    try:
        assert made.load(str(file)).problem.precision == "tf32"
    finally:
        exact_products()


def test_a_dtype_asked_for_is_that_of_every_case_and_of_its_tolerance(tmp_path: Path) -> None:
    as_stated = judge(tmp_path, "torch.softmax(x, -1) * self.scale")
    cast = Judge("cpu")
    described = cast.load(str(tmp_path / "made.py"), Loading(dtype="float16"))
    assert {one.case.dtype for one in described.cases} == {"float16"}
    for specs in cast.specs.values():
        assert {one.dtype for one in (*specs.inputs, *specs.outputs, *specs.parameters.values())} == {"float16"}
    for case in ("a", "c"):
        assert cast.draws.limit(case, 0, 0).max_rel > 100 * as_stated.draws.limit(case, 0, 0).max_rel
    # That case is stated in float16. Where its inputs lie in memory decides how PyTorch rounds, so that the two differ.
    limits = [made.draws.limit("b", 0, 0).max_rel for made in (cast, as_stated)]
    assert 0.1 < limits[0] / limits[1] < 10
