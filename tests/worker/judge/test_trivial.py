"""Trivial answers, tried on problems that accept some of them."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from kernelwright.model import CaseQualification
from kernelwright.worker.judge import trivial
from kernelwright.worker.judge.dependence import is_dead
from kernelwright.worker.judge.judge import CPU_BYTES, Judge
from kernelwright.worker.reference.instance import given

GALLERY = sorted(file.parent for file in (Path(__file__).parents[3] / "gallery").glob("*/problem.py"))

HEAD = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n\n"


def judge(
    folder: Path, forward: str, inputs: str, setup: str = "pass", signature: str = "x", stated: str = ""
) -> Judge:
    """A judge of a problem with these parts, its case named default."""
    file = folder / "made.py"
    file.write_text(
        f"{HEAD}\nclass Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n        {setup}\n\n"
        f"    def forward(self, {signature}):\n        return {forward}\n\n\n"
        f"def get_inputs():\n    return [{inputs}]\n\n\ndef get_init_inputs():\n    return []\n{stated}"
    )
    made = Judge("cpu")
    made.load(str(file))
    return made


def qualified(made: Judge, case: str = "default") -> CaseQualification:
    with torch.no_grad():
        found = made.qualify(case)
    assert not isinstance(found, str), found
    return found


def passing(made: Judge) -> list[str]:
    return [answer.name for answer in qualified(made).accepted]


@pytest.mark.parametrize("folder", GALLERY, ids=[folder.name for folder in GALLERY])
def test_every_gallery_problem_qualifies_on_its_small_cases(folder: Path) -> None:
    made = Judge("cpu")
    made.load(str(folder))
    small = [case.name for case in made.problem.cases if case.small]
    assert len(small) >= 2
    for case in small:
        found = qualified(made, case)
        assert found.accepted == (), (case, found.accepted)
        assert len(found.answers) >= 6
        # five numbers may all round well: below 4 two times in a hundred, and 1 would be accepted
        assert all(answer.margin is None or answer.margin > 2 for answer in (*found.answers, *found.ignored))
        assert found.ignored
        assert found.constant == ()


def test_what_the_inputs_as_given_accept_another_distribution_may_reject(tmp_path: Path) -> None:
    made = judge(tmp_path, "torch.relu(x)", "torch.rand(16, 300)")
    assert passing(made) == []
    as_given = made.draws.answer("default", 0)
    assert made._compared("default", 0, 0, as_given.instance.inputs[0]).reason == ""  # type: ignore[arg-type]
    assert passing(judge(tmp_path, "x.clamp(-30, 30)", "torch.randn(16, 300)")) == []
    assert passing(judge(tmp_path, "F.hardtanh(x)", "torch.rand(16, 300)")) == []


def test_what_no_distribution_rejects_is_accepted(tmp_path: Path) -> None:
    """A clamp beyond 1e38 changes nothing that float32 holds."""
    assert passing(judge(tmp_path, "x.clamp(-3e38, 3e38)", "torch.randn(16, 300)")) == ["input x as it is"]


def test_a_case_of_which_candidates_meet_few_draws_still_sees_both_signs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kernelwright.worker.judge.draws.AFFORDABLE_BYTES", 0)
    for large in (1, 1 << 28):
        monkeypatch.setattr("kernelwright.worker.judge.draws.LARGE_BYTES", large)
        for forward in ("torch.relu(x)", "x.clamp(-2, 2)"):
            made = judge(tmp_path, forward, "torch.rand(16, 300)")
            assert passing(made) == []
            assert set(made.draws.draws_for_everyone("default")) <= set(made.draws_for("default"))


def test_a_bias_under_a_long_sum_counts_on_a_case_of_which_candidates_meet_few_draws(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kernelwright.worker.judge.draws.AFFORDABLE_BYTES", 0)
    monkeypatch.setattr("kernelwright.worker.judge.draws.LARGE_BYTES", 1)
    setup = "self.linear = nn.Linear(8, 30000); nn.init.uniform_(self.linear.bias, -1 / 181, 1 / 181)"
    assert passing(judge(tmp_path, "self.linear(x).sigmoid().sum(1)", "torch.rand(4, 8)", setup)) == []


def test_relu_of_normal_inputs_qualifies(tmp_path: Path) -> None:
    assert passing(judge(tmp_path, "torch.relu(x)", "torch.randn(16, 300)")) == []


def test_means_over_many_positive_bfloat16_values_accept_constants_as_given_and_not_otherwise(tmp_path: Path) -> None:
    made = judge(tmp_path, "x.mean(1)", "torch.rand(4, 100000).bfloat16()")
    expected = made.draws.answer("default", 0).expected[0]
    assert not made._compared("default", 0, 0, torch.full_like(expected, 0.5, dtype=torch.bfloat16)).reason
    assert passing(made) == []


def test_an_input_that_does_not_matter_is_named(tmp_path: Path) -> None:
    made = judge(tmp_path, "torch.sin(x) + 0 * y", "torch.randn(40, 5), torch.randn(40, 5)", signature="x, y")
    assert passing(made) == ["without input y"]


def test_a_parameter_below_the_tolerance_is_named(tmp_path: Path) -> None:
    setup = "self.scale, self.bias = nn.Parameter(torch.randn(5)), nn.Parameter(torch.randn(5))"
    assert passing(judge(tmp_path, "x * self.scale + self.bias", "torch.randn(40, 5)", setup)) == []
    made = judge(tmp_path, "torch.sigmoid(x * self.scale) + 1e-8 * self.bias.clamp(-1, 1)", "torch.randn(40, 5)", setup)
    assert passing(made) == ["without parameter bias"]


SHIFT = "self.scale, self.bias = nn.Parameter(torch.randn(5)), nn.Parameter(torch.randn(1))"
CONV = "self.conv, self.norm = nn.Conv1d(3, 4, 3), nn.InstanceNorm1d(4)"


@pytest.mark.parametrize(("forward", "setup", "inputs", "names"), [
    ("F.layer_norm(x * self.scale + self.bias, (5,))", SHIFT, "torch.randn(40, 5)", ("parameter bias",)),
    ("torch.softmax(x * self.scale + self.bias, 1)", SHIFT, "torch.randn(40, 5)", ("parameter bias",)),
    ("self.norm(self.conv(x))", CONV, "torch.randn(2, 3, 40)", ("parameter conv.bias",)),
    ("x * self.scale", SHIFT, "torch.randn(40, 5)", ("parameter bias",)),
])  # fmt: skip
def test_a_parameter_that_no_output_depends_on_is_named_and_does_not_disqualify(
    tmp_path: Path, forward: str, setup: str, inputs: str, names: tuple[str, ...]
) -> None:
    found = qualified(judge(tmp_path, forward, inputs, setup))
    assert (found.accepted, found.dead) == ((), names)
    assert {f"without {name}" for name in names} == {one.name for one in found.ignored if one.accepted}


def test_rounding_errors_that_a_dead_parameter_leaves_do_not_make_it_alive(tmp_path: Path) -> None:
    """The norm takes the bias away, up to errors that are far above 1e-9 of the output."""
    draws = judge(tmp_path, "F.layer_norm(x * self.scale + 1e5 * self.bias, (5,))", "torch.randn(40, 5)", SHIFT).draws
    names = [name for name, _ in given(draws.answer("default", 0).instance)]
    assert [name for at, name in enumerate(names) if is_dead(draws, "default", at)] == ["parameter bias"]


@pytest.mark.parametrize("forward", [
    "torch.sigmoid(x * self.scale) + 1e-8 * self.bias.clamp(-1, 1)",  # drowns in float32's rounding, and matters
    "torch.sigmoid(x * self.scale) + 1e-8 * self.bias.abs().clamp(max=1)",  # and its negation does as much
    "torch.sigmoid(x * self.scale) + 1e-12 * self.bias.abs().clamp(max=1e4)",  # at 1000 times its size
    "torch.sin(x * self.scale) + 1e-8 * self.bias.clamp(-1, 1)",  # less than float32's rounding, on every draw
])  # fmt: skip
def test_a_parameter_that_matters_below_the_tolerance_still_disqualifies(tmp_path: Path, forward: str) -> None:
    found = qualified(judge(tmp_path, forward, "torch.randn(40, 5)", SHIFT))
    assert found.dead == ()
    assert [one.name for one in found.accepted] == ["without parameter bias"]


def test_an_input_that_no_output_depends_on_is_dead_only_if_no_operator_gets_it(tmp_path: Path) -> None:
    made = judge(tmp_path, "torch.softmax(x + y, 1)", "torch.randn(40, 5), torch.randn(40, 1)", signature="x, y")
    found = qualified(made)
    assert found.dead == ()
    assert [one.name for one in found.accepted] == ["without input y"]
    left_out = qualified(judge(tmp_path, "torch.softmax(x, 1)", "torch.randn(40, 5), torch.randn(4)", signature="x, y"))
    assert (left_out.dead, left_out.unused, left_out.accepted) == (("input y",), (), ())
    below = judge(tmp_path, "torch.sigmoid(x) + 1e-9 * y.clamp(-1, 1)", "torch.randn(40, 5), torch.randn(40, 1)",
                  signature="x, y")  # fmt: skip
    assert qualified(below).unused == ()


def test_an_input_that_forward_only_writes_is_dead_and_no_fault(tmp_path: Path) -> None:
    inputs, stated = "torch.randn(40, 5), torch.zeros(40, 5)", 'MUTATES = ("out",)\n'
    found = qualified(judge(tmp_path, "out.copy_(x * 2)", inputs, signature="x, out", stated=stated))
    assert (found.dead, found.unused, found.accepted) == (("input out",), (), ())


def test_running_statistics_vary_so_that_no_kernel_can_leave_them_out(tmp_path: Path) -> None:
    found = qualified(judge(tmp_path, "self.norm(x)", "torch.randn(40, 5)", "self.norm = nn.BatchNorm1d(5)"))
    names = [answer.name for answer in found.ignored]
    assert {"without buffer norm.running_mean", "without buffer norm.running_var"} <= set(names)
    assert [answer.name for answer in found.accepted if "running" in answer.name] == []
    assert "buffer norm.running_mean" not in found.constant


def test_a_counter_that_inference_never_reads_does_not_disqualify(tmp_path: Path) -> None:
    found = qualified(judge(tmp_path, "self.norm(x)", "torch.randn(40, 5)", "self.norm = nn.BatchNorm1d(5)"))
    assert found.accepted == ()


def test_a_constant_mask_matters_and_is_reported_as_constant(tmp_path: Path) -> None:
    forward, inputs = "x.masked_fill(mask, -1.0)", "torch.randn(6, 6), torch.ones(6, 6).triu(1).bool()"
    found = qualified(judge(tmp_path, forward, inputs, signature="x, mask"))
    assert found.accepted == ()
    assert found.constant == ("input mask",)
    assert "without input mask" in [answer.name for answer in found.ignored]


def test_a_table_that_only_the_problem_itself_does_not_vary_is_not_reported_as_constant(tmp_path: Path) -> None:
    found = qualified(
        judge(tmp_path, "x * table", "torch.randn(6, 7), torch.linspace(0.1, 0.9, 7)", signature="x, table")
    )
    assert (found.accepted, found.constant) == ((), ())


def test_one_output_of_several_that_is_trivial_disqualifies(tmp_path: Path) -> None:
    found = qualified(judge(tmp_path, "(torch.sin(x), torch.zeros_like(x))", "torch.randn(30)"))
    assert {answer.output for answer in found.accepted} == {1}
    assert "zeros" in [answer.name for answer in found.accepted]


def test_indices_are_compared_exactly(tmp_path: Path) -> None:
    found = qualified(judge(tmp_path, "x.argmax(1)", "torch.randn(30, 50)"))
    assert found.accepted == ()
    assert all(answer.allowed_rel_error == 0 for answer in found.answers)


def test_an_index_that_is_computed_by_division_is_exact(tmp_path: Path) -> None:
    """A quotient may be rounded also where it is exact, but not a whole number: t / 3 of a multiple of 3."""
    made = judge(tmp_path, "(x * 1.1, (t / 3).long())", "torch.randn(64), torch.randint(1, 900, (64,))",
                 signature="x, t")  # fmt: skip
    answer = made.answer("default", 0)
    t = answer.instance.inputs[1]
    assert isinstance(t, torch.Tensor)
    assert not made._compared("default", 0, 1, (t / 3).long()).reason
    assert made._compared("default", 0, 1, (t / 3).ceil().long() - 1).reason


def test_the_maximum_of_everything_may_ignore_most_of_its_input(tmp_path: Path) -> None:
    assert passing(judge(tmp_path, "x.amax()", "torch.randn(30, 50)")) == []


def test_what_would_take_too_long_without_a_gpu_is_not_judged(tmp_path: Path) -> None:
    rows = CPU_BYTES // 4000
    made = judge(tmp_path, "torch.relu(x)", f"torch.randn({rows}, 1000)")
    assert "without a GPU" in str(made.qualify("default"))
    made = judge(tmp_path, "x @ x", "torch.randn(1000, 1000)")
    assert "without a GPU" in str(made.qualify("default"))


def test_margins_say_at_which_tolerance_an_answer_would_pass(tmp_path: Path) -> None:
    found = qualified(judge(tmp_path, "x.clamp(-3e38, 3e38)", "torch.rand(16, 300)"))
    by_name = {answer.name: answer for answer in found.answers}
    copied, zeros = by_name["input x as it is"], by_name["zeros"]
    assert (copied.accepted, copied.margin, copied.allclose_from) == (True, 0.0, 0.0)
    assert zeros.max_rel_error == pytest.approx(1, rel=1e-3), "of the larger of two draws"
    assert zeros.allclose_from is not None
    draw = made_answer(tmp_path)
    assert torch.allclose(torch.zeros_like(draw), draw, atol=0.5, rtol=0.5)
    assert not torch.allclose(torch.zeros_like(draw), draw, atol=0.4, rtol=0.4)
    assert 0.4 < zeros.allclose_from <= 0.5


def made_answer(folder: Path) -> torch.Tensor:
    made = judge(folder, "x.clamp(-3e38, 3e38)", "torch.rand(16, 300)")
    return made.answer("default", 0).expected[0]


@pytest.mark.parametrize(
    "forward",
    ["torch.softmax(x, 1)", "x @ x.t()", "x.sum()", "torch.sinh(x) * 3", "(x - x.mean()) / x.std()", "x.t()[1:]"],
)
def test_an_honest_problem_in_float64_qualifies(tmp_path: Path, forward: str) -> None:
    made = judge(tmp_path, forward, "torch.randn(30, 50, dtype=torch.float64)")
    expected = made.answer("default", 0).expected[0].clone()
    found = qualified(made)
    assert found.accepted == ()
    rounded = next(answer for answer in found.answers if answer.name == "rounded to 23 bits")
    assert rounded.margin is None or rounded.margin > 1000
    assert torch.equal(made.answer("default", 0).expected[0], expected), "what the judge expects stays as it was"


@pytest.mark.parametrize("forward", ["z * z.conj()", "torch.fft.fft(z)", "z.abs()", "torch.sin(z) + 1j * z"])
def test_a_complex_problem_is_judged_within_a_tolerance(tmp_path: Path, forward: str) -> None:
    made = judge(tmp_path, forward, "torch.randn(30, 50, dtype=torch.complex64)", signature="z")
    found = qualified(made)
    assert found.accepted == ()
    limit = made.draws.limit("default", 0, 0)
    assert not limit.exact
    assert 1e-7 < limit.max_rel < 1e-4
    for answer in found.answers:
        assert answer.allclose_from is not None
        assert answer.allclose_from > (1e-4 if answer.name == "rounded to 10 bits" else 0.01)
    assert "rounded to 10 bits" in [answer.name for answer in found.answers]


def test_a_complex_answer_that_is_right_in_one_part_only_is_far_off(tmp_path: Path) -> None:
    made = judge(tmp_path, "torch.complex(z.abs(), z.abs() * z.imag)", "torch.randn(50, dtype=torch.complex64)",
                 signature="z")  # fmt: skip
    expected = made.answer("default", 0).expected[0]
    assert expected.dtype == torch.complex128
    assert trivial._allclose_from(expected.real.to(torch.complex64), expected) > 0.1
    assert trivial._mean(torch.tensor([1 + 4j, 3.0, math.inf])) == 2 + 2j
    assert trivial._mean(torch.tensor([1.0, 3.0, math.inf])) == 2


def test_rounding_keeps_the_leading_bits() -> None:
    x = torch.tensor([1.0, 1.0625, 1.1, -3.3, 0.0, 240.0, 1e-30])
    assert trivial._rounded(x.clone(), 3).tolist()[:6] == [1.0, 1.0, 1.125, -3.25, 0.0, 240.0]
    halves = torch.randn(1000, generator=torch.Generator().manual_seed(0))
    assert torch.equal(trivial._rounded(halves.clone(), 10), halves.half().float())


def test_a_problem_with_float8_outputs_qualifies(tmp_path: Path) -> None:
    """PyTorch adds, subtracts and compares no float8; the judge has to, with their values."""
    scaled = "(x / x.abs().amax(-1, keepdim=True).clamp(min=1e-4) * 448).to(torch.float8_e4m3fn)"
    made = judge(tmp_path, f"({scaled}, x.abs().amax(-1))", "torch.randn(6, 64)")
    assert passing(made) == []
    answer = made.answer("default", 0)
    assert answer.dtypes == [torch.float8_e4m3fn, torch.float32]
    assert answer.expected[0].dtype == torch.float64


def test_the_previous_output_is_that_of_the_other_draw(tmp_path: Path) -> None:
    """An output that does not change between draws is not zero, and is accepted from the draw before."""
    assert "the previous output" in passing(judge(tmp_path, "torch.full_like(x, 2.0)", "torch.randn(4, 8)"))
