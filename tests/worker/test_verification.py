"""Whole verifications with a real worker: kernels that pass one draw and must not pass them all.

On a machine without a GPU they run on Triton's interpreter.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evaluated import StartedWorker
from kernelwright.evaluator.client import ProcessWorker
from kernelwright.model import Candidate, CaseResult, Evaluation, Loading, Status
from kernelwright.report.evaluation import serves_texts
from kernelwright.worker.plan.plan import Buffer, Copy, Fill, Launch, Plan, Tensor, Tuple, View
from kernelwright.worker.stages.necessity import leaves_unwritten, without

SOFTMAX = """\
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=-1)

CASES = [dict(name="small", dtype="float32", rows=6, small=True), dict(name="large", dtype="float32", rows=4096)]

def get_inputs(rows):
    return [torch.randn(rows, 100)]

def get_init_inputs():
    return []
"""
NORM = SOFTMAX.replace("    def forward", "    def __init__(self):\n        super().__init__()\n"
                       "        self.norm = nn.BatchNorm1d(40)\n\n    def forward")  # fmt: skip
NORM = NORM.replace("torch.softmax(x, dim=-1)", "self.norm(x)").replace("rows, 100", "rows, 40")

HEAD = """\
import torch
import triton
import triton.language as tl


@triton.jit
def softmax(x_ptr, out_ptr, cols, stride, STABLE: tl.constexpr, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    inside = lanes < cols
    x = tl.load(x_ptr + tl.program_id(0) * stride + lanes, mask=inside, other=float("-inf"))
    if STABLE:
        x = x - tl.max(x, axis=0)
    e = tl.exp(x)
    tl.store(out_ptr + tl.program_id(0) * cols + lanes, e / tl.sum(e, axis=0), mask=inside)


@triton.jit
def touch(x_ptr, cols, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + lanes, mask=lanes < cols)
    tl.store(x_ptr + lanes, x, mask=lanes < cols)


@triton.jit
def halve(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + lanes, tl.load(x_ptr + lanes, mask=lanes < n) / 2, mask=lanes < n)


@triton.jit
def double(x_ptr, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + lanes, tl.load(x_ptr + lanes, mask=lanes < n) * 2, mask=lanes < n)


def kernel_function(x):
    rows, cols = x.shape
    out = torch.empty((rows, cols), dtype=x.dtype, device=x.device)
"""


HONEST = "softmax[(rows,)](x, out, cols, x.stride(0), STABLE=True, BLOCK=128)"
DENSE = "softmax[(rows,)](x, out, cols, cols, STABLE=True, BLOCK=128)"


def softmax(*body: str) -> Candidate:
    return Candidate(source=HEAD + "".join(f"    {line}\n" for line in (*body, "return out")))


@pytest.fixture(scope="module")
def worker(shared_worker: StartedWorker) -> ProcessWorker:
    return shared_worker()


@pytest.fixture(scope="module")
def problems(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("problems")
    (folder / "softmax.py").write_text(SOFTMAX)
    (folder / "any_layout.py").write_text(SOFTMAX + '\nLAYOUTS = "any"\n')
    (folder / "norm.py").write_text(NORM)
    return folder


def verified(worker: ProcessWorker, problem: Path, candidate: Candidate) -> Evaluation:
    worker.load(str(problem))
    return worker.evaluate(candidate, "verify")


def of(evaluation: Evaluation, case: str) -> CaseResult:
    return next(result for result in evaluation.results if result.case == case)


def shown_by(evaluation: Evaluation) -> list[tuple[str, str]]:
    return [(one.name, one.shown_by) for one in evaluation.serves]


def test_a_softmax_that_overflows_is_wrong_on_inputs_of_another_distribution(
    worker: ProcessWorker, problems: Path
) -> None:
    candidate = softmax("softmax[(rows,)](x, out, cols, x.stride(0), STABLE=False, BLOCK=128)")
    evaluation = verified(worker, problems / "softmax.py", candidate)
    assert evaluation.status is Status.WRONG
    assert "on inputs " in evaluation.reason


def softmax_on(stride: str, *lines: str) -> str:
    return softmax(f"softmax[(rows,)](x, out, cols, {stride}, STABLE=True, BLOCK=128)", *lines).source


NOT_ON_OTHERS = {
    "rows taken to be dense": softmax_on("cols"),
    "another stride": softmax_on("cols if x.is_contiguous() else cols + 1"),
    "memory between rows written": softmax_on(
        "cols", "if not x.is_contiguous():", "    double[(1,)](x.as_strided((3,), (1,), cols + 1), 3, BLOCK=4)"
    ),
    "written where the input lies": softmax_on("x.stride(0)").replace(
        "tl.store(out_ptr + tl.program_id(0) * cols", "tl.store(out_ptr + tl.program_id(0) * stride", 1
    ),
    "read at an address of nobody": softmax_on("x.stride(0) + ((x.stride(0) - cols) << 40)"),
}


@pytest.mark.parametrize("kind", NOT_ON_OTHERS)
def test_a_kernel_that_is_not_right_on_other_layouts_serves_dense_inputs_only(
    worker: ProcessWorker, problems: Path, kind: str
) -> None:
    candidate = Candidate(source=NOT_ON_OTHERS[kind])
    evaluation = verified(worker, problems / "softmax.py", candidate)
    assert evaluation.status is Status.PASSED, evaluation.reason
    assert of(evaluation, "small/strided").status is Status.NOT_VERIFIED
    assert 'wrong for others, which SERVES = "dense" would declare' in of(evaluation, "small/strided").reason
    assert shown_by(evaluation) == [("dense", "wrong")]
    demanding = verified(worker, problems / "any_layout.py", candidate)
    assert (demanding.status, demanding.serves) == (Status.WRONG, ())
    assert of(demanding, "small").status is Status.PASSED
    assert demanding.reason.startswith("case small/strided: right for dense inputs and wrong for others; the problem")


def test_host_code_that_only_inputs_run_that_are_not_served_is_a_refusal_in_what_is_shipped(
    worker: ProcessWorker, problems: Path
) -> None:
    candidate = Candidate(source=NOT_ON_OTHERS["memory between rows written"])
    text = verified(worker, problems / "softmax.py", candidate).judged_source or ""
    assert "as_strided" not in text
    assert "raise NotImplementedError('not judged: line" in text


IN_PLACE = SOFTMAX.replace("torch.softmax(x, dim=-1)", "x.mul_(2)") + '\nMUTATES = ["x"]\n'


def test_a_kernel_that_takes_what_it_changes_to_be_dense_serves_dense_inputs_only(
    worker: ProcessWorker, tmp_path: Path
) -> None:
    head = HEAD[: HEAD.index("def kernel_function")]
    source = head + "def kernel_function(x):\n    n = x.numel()\n    double[((n + 127) // 128,)](x, n, BLOCK=128)\n"
    (tmp_path / "in_place.py").write_text(IN_PLACE)
    evaluation = verified(worker, tmp_path / "in_place.py", Candidate(source=source + "    return x\n"))
    assert evaluation.status is Status.PASSED, evaluation.reason
    assert shown_by(evaluation) == [("dense", "wrong")]


def test_a_declared_layout_is_not_judged_and_is_refused_where_any_is_demanded(
    worker: ProcessWorker, problems: Path
) -> None:
    made = softmax("softmax[(rows,)](x, out, cols, cols + (not x.is_contiguous()), STABLE=True, BLOCK=128)")
    candidate = Candidate(source=made.source + '\n\nSERVES = "dense"\n')
    evaluation = verified(worker, problems / "softmax.py", candidate)
    assert evaluation.status is Status.PASSED, evaluation.reason
    assert of(evaluation, "small/strided").status is Status.NOT_VERIFIED
    assert shown_by(evaluation) == [("dense", "declared")]
    assert verified(worker, problems / "any_layout.py", candidate).status is Status.WRONG


DERIVED = """\
import torch

rows, cols = 300, 128


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=-1)


def get_inputs():
    return [torch.randn(rows, cols)]


def get_init_inputs():
    return []
"""


@pytest.mark.parametrize(("line", "status"), [
    ('assert cols != 97, "no rows of 97"', Status.PASSED),
    ('assert (\n        rows\n        and cols != 97\n    ), "no rows of 97"', Status.PASSED),
    ("block = 64 if cols == 97 else 128", Status.PASSED),
    ("rows -= cols == 97", Status.WRONG),
    ("x = x.view(rows, cols - (cols == 97))", Status.RUNTIME_ERROR),
])  # fmt: skip
def test_a_derived_size_may_be_refused_and_not_be_served_wrongly(
    worker: ProcessWorker, tmp_path: Path, line: str, status: Status
) -> None:
    (tmp_path / "plain.py").write_text(DERIVED)
    info = worker.load(str(tmp_path / "plain.py"), Loading(which="derived"))
    assert 97 in [one.inputs[0].shape[1] for one in info.cases if one.case.derived]  # type: ignore[union-attr]
    launch = f"softmax[(rows,)](x, out, cols, x.stride(0), STABLE=True, BLOCK={'block' if 'block' in line else 128})"
    source = softmax(line, launch).source.replace(
        "    inside = lanes", "    tl.static_assert(BLOCK > 64)\n    inside = lanes", 1
    )
    evaluation = worker.evaluate(Candidate(source=source), "verify")
    assert evaluation.status is status, evaluation.reason
    assert [one.name for one in evaluation.serves] == (["sized"] if status is Status.PASSED else [])


STATED = (
    DERIVED.replace("rows, cols = 300, 128\n", "").replace("get_inputs()", "get_inputs(rows, cols)")
    + """
CASES = [dict(name="timed", rows=300, cols=128), dict(name="small", rows=4, cols=128, small=True),
         dict(name="other", rows=6, cols=64, small=True, held_out=True)]
"""
)


@pytest.mark.parametrize(("line", "odd", "shown"), [
    ("", Status.PASSED, []),
    ('assert cols % 2 == 0, "no odd rows"', Status.NOT_VERIFIED, [("sized", "refused")]),
    ("rows -= cols % 2", Status.NOT_VERIFIED, [("sized", "wrong")]),
    ("x = x.view(rows, cols - cols % 2)", Status.NOT_VERIFIED, [("sized", "wrong")]),
])  # fmt: skip
def test_beside_stated_held_out_cases_a_failure_at_odd_sizes_is_a_property(
    worker: ProcessWorker, tmp_path: Path, line: str, odd: Status, shown: list[tuple[str, str]]
) -> None:
    (tmp_path / "stated.py").write_text(STATED)
    worker.load(str(tmp_path / "stated.py"))
    candidate = softmax(line, "softmax[(rows,)](x, out, cols, x.stride(0), STABLE=True, BLOCK=128)")
    evaluation = worker.evaluate(candidate, "verify")
    assert evaluation.status is Status.PASSED, evaluation.reason
    assert of(evaluation, "derived_odd").status is odd
    assert shown_by(evaluation) == shown
    verbs = [line for line in serves_texts(evaluation) if "not every size" in line]
    assert [" is wrong at some" in one for one in verbs] == [("sized", "wrong") in shown] * len(shown)
    assert "derived_odd" not in {one.case for one in worker.evaluate(candidate, "search").results}


def test_a_verification_of_stated_cases_alone_derives_none(worker: ProcessWorker, tmp_path: Path) -> None:
    (tmp_path / "stated.py").write_text(STATED)
    worker.load(str(tmp_path / "stated.py"), Loading(which="stated"))
    candidate = softmax("rows -= cols % 2", "softmax[(rows,)](x, out, cols, x.stride(0), STABLE=True, BLOCK=128)")
    evaluation = worker.evaluate(candidate, "verify")
    assert (evaluation.status, shown_by(evaluation)) == (Status.PASSED, [])


def test_a_case_of_odd_sizes_verifies_nothing_alone(worker: ProcessWorker, tmp_path: Path) -> None:
    """No stated case runs without a GPU."""
    if worker.environment().device is not None:
        pytest.skip("all cases run on a GPU")
    (tmp_path / "large.py").write_text(STATED.replace(", small=True", ""))
    worker.load(str(tmp_path / "large.py"))
    candidate = softmax("", "softmax[(rows,)](x, out, cols, x.stride(0), STABLE=True, BLOCK=128)")
    assert worker.evaluate(candidate, "verify").status is Status.NOT_VERIFIED


def test_a_kernel_that_is_wrong_as_its_inputs_are_is_not_told_that_their_layout_is_the_fault(
    worker: ProcessWorker, problems: Path
) -> None:
    candidate = softmax("softmax[(rows,)](x, out, cols - 1, x.stride(0), STABLE=True, BLOCK=128)")
    evaluation = verified(worker, problems / "softmax.py", candidate)
    assert of(evaluation, "small").status is Status.WRONG
    assert [result.case for result in evaluation.results if result.case.endswith("/strided")] == []


@pytest.mark.parametrize("line", ["x = x.contiguous()", "assert x.is_contiguous()"])
def test_making_inputs_dense_or_refusing_others_are_both_fine(worker: ProcessWorker, problems: Path, line: str) -> None:
    candidate = softmax(line, DENSE)
    evaluation = verified(worker, problems / "softmax.py", candidate)
    assert evaluation.status is Status.PASSED, evaluation.reason
    result = of(evaluation, "small/strided")
    assert result.status is (Status.NOT_VERIFIED if "assert" in line else Status.PASSED)
    if "assert" in line:
        assert "refuses inputs that are not contiguous" in result.reason
        assert shown_by(evaluation) == [("dense", "refused")]
        demanding = verified(worker, problems / "any_layout.py", candidate)
        assert demanding.status is Status.WRONG
        assert 'LAYOUTS = "any"' in demanding.reason
    else:
        assert evaluation.serves == ()


def test_where_any_layout_is_asked_for_no_stride_may_be_taken_as_one(worker: ProcessWorker, problems: Path) -> None:
    """A kernel that reads rows by their stride, and takes the elements of a row as adjacent."""
    candidate = softmax(HONEST)
    evaluation = verified(worker, problems / "softmax.py", candidate)
    assert evaluation.status is of(evaluation, "small/strided").status is Status.PASSED, evaluation.reason
    found = verified(worker, problems / "any_layout.py", candidate)
    assert (of(found, "small/strided").status, of(found, "small/apart").status) == (Status.PASSED, Status.WRONG)
    dense = softmax("x = x.contiguous()", DENSE)
    assert verified(worker, problems / "any_layout.py", dense).status is Status.PASSED


def test_a_kernel_without_which_the_answer_is_right_is_rejected(worker: ProcessWorker, problems: Path) -> None:
    candidate = softmax(
        HONEST,
        "touch[(1,)](out, cols, BLOCK=128)",
    )
    evaluation = verified(worker, problems / "softmax.py", candidate)
    assert evaluation.status is Status.REJECTED
    assert "the kernel touch does not contribute" in evaluation.reason


def test_kernels_that_need_each_other_all_contribute(worker: ProcessWorker, problems: Path) -> None:
    candidate = softmax(
        HONEST,
        "half = torch.empty_like(out)",
        "halve[(triton.cdiv(rows * cols, 256),)](out, half, rows * cols, BLOCK=256)",
        "double[(triton.cdiv(rows * cols, 256),)](half, rows * cols, BLOCK=256)",
        "out = half",
    )
    evaluation = verified(worker, problems / "softmax.py", candidate)
    assert evaluation.status is Status.PASSED, evaluation.reason


def test_running_statistics_cannot_be_left_out(worker: ProcessWorker, problems: Path) -> None:
    kernel = """\
import torch
import triton
import triton.language as tl


@triton.jit
def norm(x_ptr, mean_ptr, var_ptr, weight_ptr, bias_ptr, out_ptr, cols, stride, MOMENTS: tl.constexpr,
         BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    inside = lanes < cols
    x = tl.load(x_ptr + tl.program_id(0) * stride + lanes, mask=inside)
    if MOMENTS:
        x = (x - tl.load(mean_ptr + lanes, mask=inside)) / tl.sqrt(tl.load(var_ptr + lanes, mask=inside) + 1e-5)
    y = x * tl.load(weight_ptr + lanes, mask=inside) + tl.load(bias_ptr + lanes, mask=inside)
    tl.store(out_ptr + tl.program_id(0) * cols + lanes, y, mask=inside)


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(40)

    def forward(self, x):
        out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
        norm[(x.shape[0],)](x, self.norm.running_mean, self.norm.running_var, self.norm.weight, self.norm.bias, out,
                            40, x.stride(0), MOMENTS=True, BLOCK=64)
        return out
"""
    honest = verified(worker, problems / "norm.py", Candidate(source=kernel))
    assert honest.status is Status.PASSED, honest.reason
    lazy = verified(worker, problems / "norm.py", Candidate(source=kernel.replace("MOMENTS=True", "MOMENTS=False")))
    assert lazy.status is Status.WRONG


def test_an_expanded_input_is_given_once(worker: ProcessWorker, tmp_path: Path) -> None:
    file = tmp_path / "expanded.py"
    file.write_text(SOFTMAX.replace("torch.randn(rows, 100)", "torch.randn(1, 100).expand(rows, 100)"))
    candidate = softmax(HONEST)
    evaluation = verified(worker, file, candidate)
    assert evaluation.status is Status.PASSED, evaluation.reason


def test_the_worker_remembers_that_a_problem_does_not_qualify(worker: ProcessWorker, tmp_path: Path) -> None:
    file = tmp_path / "copied.py"
    file.write_text(SOFTMAX.replace("torch.softmax(x, dim=-1)", "x.clone()"))
    worker.load(str(file))
    report = worker.qualify()
    assert report.qualifies is False
    assert "on case small input x as it is would pass (exactly right)" in report.reason
    assert [case.case for case in report.cases] == ["small", "large"]
    candidate = softmax(HONEST)
    assert worker.evaluate(candidate, "verify").unqualified == report.reason
    file.write_text(SOFTMAX)
    worker.load(str(file))
    assert worker.qualify().qualifies is True
    assert worker.evaluate(candidate, "verify").unqualified == ""
    json.dumps(report.reason)


def test_offsets_that_overflow_on_a_stated_case_only_never_pass_on_any_machine(
    worker: ProcessWorker, tmp_path: Path
) -> None:
    file = tmp_path / "halved.py"
    text = SOFTMAX.replace("torch.softmax(x, dim=-1)", "x / 2").replace("rows)", "rows, cols)")
    text = text.replace("rows=6", "rows=6, cols=100").replace("rows=4096", "rows=2**16, cols=2**15 + 8")
    file.write_text(text.replace("randn(rows, 100)", "randn(rows, cols)"))
    launch = "halve[(-(-rows * cols // 1024),)](x, out, rows * cols, BLOCK=1024)"
    found = verified(worker, file, softmax(launch))
    assert found.status is Status.REJECTED
    assert found.reason.startswith("halve: an offset needs more than 32 bits, use .to(tl.int64) on a factor: tl.store(")
    wide = Candidate(
        source=softmax(launch).source.replace("tl.program_id(0) * BLOCK", "tl.program_id(0).to(tl.int64) * BLOCK")
    )
    found = verified(worker, file, wide)
    assert (found.status, found.unjudged) == (Status.PASSED, ()), found.reason
    read = "(tl.program_id(0) + (tl.load(x_ptr) > 1e38).to(tl.int32)) * BLOCK"
    found = verified(worker, file, Candidate(source=softmax(launch).source.replace("tl.program_id(0) * BLOCK", read)))
    assert found.status in (Status.NOT_VERIFIED, Status.RUNTIME_ERROR), "on a GPU the address may not exist"
    if worker.environment().device is None:
        assert "not verified: halve: an offset may need more than 32 bits: " in found.reason


def test_what_no_draw_varied_is_in_the_verdict(worker: ProcessWorker, tmp_path: Path) -> None:
    """A number is built in by a kernel that does not ask for it; a mask of ones, which the file makes, varies."""

    def asked(names: str, given: str, value: str) -> Evaluation:
        file = tmp_path / "scaled.py"
        text = SOFTMAX.replace("forward(self, x)", f"forward(self, x, {names})")
        text = text.replace("softmax(x,", f"softmax({value},")
        file.write_text(text.replace("[torch.randn(rows, 100)]", f"[torch.randn(rows, 100), {given}]"))
        worker.load(str(file))
        worker.qualify()
        source = softmax(HONEST).source.replace("kernel_function(x)", f"kernel_function(x, {names})")
        return worker.evaluate(Candidate(source=source), "verify")

    found = asked("scale, shift", "1.0, float(rows)", "x * scale + shift")
    assert found.status is Status.PASSED, "a kernel that has them built in is right wherever it is judged"
    assert found.constant == ("input scale = 1.0",), "shift differs from case to case"
    found = asked("keep", "torch.ones(rows, 100).bool()", "torch.where(keep, x, -1e9)")
    assert (found.status, found.constant) == (Status.WRONG, ())
    assert "constants and masks vary" in found.reason


# --- plans less a kernel ------------------------------------------------------------------------------------

VIEW = View(buffer=1, dtype="float32", shape=(4,), stride=(1,))
INPUT = View(buffer=0, dtype="float32", shape=(4,), stride=(1,))
BUFFERS = (Buffer(id=0, nbytes=16, origin="input", name="x"), Buffer(id=1, nbytes=16, origin="scratch"))


def plan(*steps: Fill | Copy | Launch) -> Plan:
    return Plan(buffers=BUFFERS, steps=steps, outputs=(VIEW,), single=True)


def launch(kernel: str, view: View) -> Launch:
    return Launch(kernel=kernel, grid=(1,), arguments={"p": Tuple(items=(Tensor(view=view),))})


def test_every_launch_of_a_kernel_is_left_out_and_nothing_else() -> None:
    fill = Fill(view=VIEW, value="0")
    rest = without(plan(launch("a", VIEW), fill, launch("b", VIEW), launch("a", INPUT)), "a")
    assert rest.steps == (fill, launch("b", VIEW))
    assert rest.buffers == BUFFERS


def test_an_output_that_no_step_is_given_needs_no_replay() -> None:
    assert leaves_unwritten(plan())
    assert leaves_unwritten(plan(launch("a", INPUT)))
    assert not leaves_unwritten(plan(launch("a", VIEW)))
    assert not leaves_unwritten(plan(Fill(view=VIEW, value="0")))
    assert not leaves_unwritten(plan(Copy(target=VIEW, source=INPUT)))
    assert not leaves_unwritten(Plan(buffers=BUFFERS, steps=(), outputs=(INPUT,), single=True))
