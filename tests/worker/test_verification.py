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

NORM = """\
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(40)

    def forward(self, x):
        return self.norm(x)


CASES = [dict(name="small", dtype="float32", rows=6, small=True), dict(name="large", dtype="float32", rows=4096)]


def get_inputs(rows):
    return [torch.randn(rows, 40)]


def get_init_inputs():
    return []
"""

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


def test_an_honest_kernel_passes_every_draw_and_strided_inputs(worker: ProcessWorker, problems: Path) -> None:
    candidate = softmax("softmax[(rows,)](x, out, cols, x.stride(0), STABLE=True, BLOCK=128)")
    evaluation = verified(worker, problems / "softmax.py", candidate)
    assert evaluation.status is Status.PASSED, evaluation.reason
    assert of(evaluation, "small").status is of(evaluation, "small/strided").status is Status.PASSED


def test_a_softmax_that_overflows_is_wrong_on_inputs_of_another_distribution(
    worker: ProcessWorker, problems: Path
) -> None:
    candidate = softmax("softmax[(rows,)](x, out, cols, x.stride(0), STABLE=False, BLOCK=128)")
    evaluation = verified(worker, problems / "softmax.py", candidate)
    assert evaluation.status is Status.WRONG
    assert "on inputs " in evaluation.reason


def test_a_kernel_that_takes_rows_to_be_dense_is_wrong_where_any_layout_is_demanded(
    worker: ProcessWorker, problems: Path
) -> None:
    candidate = softmax("softmax[(rows,)](x, out, cols, cols, STABLE=True, BLOCK=128)")
    evaluation = verified(worker, problems / "any_layout.py", candidate)
    assert evaluation.status is Status.WRONG
    assert of(evaluation, "small").status is Status.PASSED
    assert of(evaluation, "small/strided").reason.startswith("right for dense inputs and wrong for others")


def shown_by(evaluation: Evaluation) -> list[tuple[str, str]]:
    return [(one.name, one.shown_by) for one in evaluation.serves]


def test_a_kernel_that_takes_rows_to_be_dense_serves_dense_inputs_only(worker: ProcessWorker, problems: Path) -> None:
    candidate = softmax("softmax[(rows,)](x, out, cols, cols, STABLE=True, BLOCK=128)")
    evaluation = verified(worker, problems / "softmax.py", candidate)
    assert evaluation.status is of(evaluation, "small/strided").status is Status.PASSED, evaluation.reason
    assert shown_by(evaluation) == [("dense", "read as dense")]


@pytest.mark.parametrize(
    "lines",
    [
        ("softmax[(rows,)](x, out, cols, cols if x.is_contiguous() else cols + 1, STABLE=True, BLOCK=128)",),
        (
            "softmax[(rows,)](x, out, cols, cols, STABLE=True, BLOCK=128)",
            "if not x.is_contiguous():",
            "    double[(1,)](x.as_strided((3,), (1,), cols + 1), 3, BLOCK=4)",
        ),
    ],
    ids=["another stride", "memory between rows written"],
)
def test_what_is_not_what_dense_memory_gives_is_wrong(
    worker: ProcessWorker, problems: Path, lines: tuple[str, ...]
) -> None:
    evaluation = verified(worker, problems / "softmax.py", softmax(*lines))
    assert evaluation.status is Status.WRONG
    assert of(evaluation, "small/strided").reason.startswith("right for dense inputs and wrong for others")
    assert evaluation.serves == ()


def test_a_kernel_that_writes_where_its_input_lies_is_told_how_to_serve_dense_inputs(
    worker: ProcessWorker, problems: Path
) -> None:
    made = softmax("softmax[(rows,)](x, out, cols, x.stride(0), STABLE=True, BLOCK=128)")
    source = made.source.replace(
        "tl.store(out_ptr + tl.program_id(0) * cols", "tl.store(out_ptr + tl.program_id(0) * stride", 1
    )
    found = of(verified(worker, problems / "softmax.py", Candidate(source=source)), "small/strided")
    assert found.status is Status.WRONG
    assert "read wrongly" not in found.reason
    assert 'state SERVES = "dense"' in found.reason


def test_a_declared_layout_is_not_judged_and_is_refused_where_any_is_demanded(
    worker: ProcessWorker, problems: Path
) -> None:
    made = softmax("softmax[(rows,)](x, out, cols, cols + (not x.is_contiguous()), STABLE=True, BLOCK=128)")
    candidate = Candidate(source=made.source + '\n\nSERVES = ("dense", "aligned")\n')
    evaluation = verified(worker, problems / "softmax.py", candidate)
    assert evaluation.status is Status.PASSED, evaluation.reason
    assert of(evaluation, "small/strided").status is Status.NOT_VERIFIED
    assert shown_by(evaluation) == [("dense", "declared"), ("aligned", "declared")]
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
    ("rows -= cols == 97", Status.WRONG),
    ("x = x.view(rows, cols - (cols == 97))", Status.RUNTIME_ERROR),
])  # fmt: skip
def test_a_derived_size_may_be_refused_and_not_be_served_wrongly(
    worker: ProcessWorker, tmp_path: Path, line: str, status: Status
) -> None:
    (tmp_path / "plain.py").write_text(DERIVED)
    info = worker.load(str(tmp_path / "plain.py"), Loading(which="derived"))
    assert 97 in [one.inputs[0].shape[1] for one in info.cases if one.case.derived]  # type: ignore[union-attr]
    candidate = softmax(line, "softmax[(rows,)](x, out, cols, x.stride(0), STABLE=True, BLOCK=128)")
    evaluation = worker.evaluate(candidate, "verify")
    assert evaluation.status is status, evaluation.reason
    assert [one.name for one in evaluation.serves] == (["sized"] if status is Status.PASSED else [])


def test_a_kernel_that_is_wrong_as_its_inputs_are_is_not_told_that_their_layout_is_the_fault(
    worker: ProcessWorker, problems: Path
) -> None:
    candidate = softmax("softmax[(rows,)](x, out, cols - 1, x.stride(0), STABLE=True, BLOCK=128)")
    evaluation = verified(worker, problems / "softmax.py", candidate)
    assert of(evaluation, "small").status is Status.WRONG
    assert [result.case for result in evaluation.results if result.case.endswith("/strided")] == []


@pytest.mark.parametrize("line", ["x = x.contiguous()", "assert x.is_contiguous()"])
def test_making_inputs_dense_or_refusing_others_are_both_fine(worker: ProcessWorker, problems: Path, line: str) -> None:
    candidate = softmax(line, "softmax[(rows,)](x, out, cols, cols, STABLE=True, BLOCK=128)")
    evaluation = verified(worker, problems / "softmax.py", candidate)
    assert evaluation.status is Status.PASSED, evaluation.reason
    result = of(evaluation, "small/strided")
    assert result.status is (Status.NOT_VERIFIED if "assert" in line else Status.PASSED)
    if "assert" in line:
        assert "refuses inputs that are not contiguous" in result.reason
        assert shown_by(evaluation) == [("dense", "refused"), ("aligned", "refused")]
        demanding = verified(worker, problems / "any_layout.py", candidate)
        assert demanding.status is Status.WRONG
        assert 'LAYOUTS = "any"' in demanding.reason
    else:
        assert evaluation.serves == ()


def test_where_any_layout_is_asked_for_no_stride_may_be_taken_as_one(worker: ProcessWorker, problems: Path) -> None:
    """A kernel that reads rows by their stride, and takes the elements of a row as adjacent."""
    candidate = softmax("softmax[(rows,)](x, out, cols, x.stride(0), STABLE=True, BLOCK=128)")
    assert verified(worker, problems / "softmax.py", candidate).status is Status.PASSED
    found = verified(worker, problems / "any_layout.py", candidate)
    assert (of(found, "small/strided").status, of(found, "small/apart").status) == (Status.PASSED, Status.WRONG)
    dense = softmax("x = x.contiguous()", "softmax[(rows,)](x, out, cols, cols, STABLE=True, BLOCK=128)")
    assert verified(worker, problems / "any_layout.py", dense).status is Status.PASSED


def test_a_kernel_without_which_the_answer_is_right_is_rejected(worker: ProcessWorker, problems: Path) -> None:
    candidate = softmax(
        "softmax[(rows,)](x, out, cols, x.stride(0), STABLE=True, BLOCK=128)",
        "touch[(1,)](out, cols, BLOCK=128)",
    )
    evaluation = verified(worker, problems / "softmax.py", candidate)
    assert evaluation.status is Status.REJECTED
    assert "the kernel touch does not contribute" in evaluation.reason


def test_kernels_that_need_each_other_all_contribute(worker: ProcessWorker, problems: Path) -> None:
    candidate = softmax(
        "softmax[(rows,)](x, out, cols, x.stride(0), STABLE=True, BLOCK=128)",
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
    candidate = softmax("softmax[(rows,)](x, out, cols, x.stride(0), STABLE=True, BLOCK=128)")
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
    candidate = softmax("softmax[(rows,)](x, out, cols, x.stride(0), STABLE=True, BLOCK=128)")
    assert worker.evaluate(candidate, "verify").unqualified == report.reason
    file.write_text(SOFTMAX)
    worker.load(str(file))
    assert worker.qualify(every=True).qualifies is True
    assert worker.evaluate(candidate, "verify").unqualified == ""
    json.dumps(report.reason)


def test_offsets_that_overflow_on_a_stated_case_only_are_refused_on_every_machine(
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


def test_what_no_draw_varied_is_in_the_verdict(worker: ProcessWorker, tmp_path: Path) -> None:
    file = tmp_path / "masked.py"
    text = SOFTMAX.replace("forward(self, x)", "forward(self, x, keep, scale, shift)")
    text = text.replace("torch.softmax(x,", "torch.softmax(torch.where(keep, x * scale + shift, -1e9),")
    given = "[torch.randn(rows, 100), torch.ones(rows, 100).bool(), 1.0, float(rows)]"
    file.write_text(text.replace("[torch.randn(rows, 100)]", given))
    worker.load(str(file))
    assert worker.qualify().constant == ("input keep", "input scale = 1.0"), "shift differs from case to case"
    candidate = softmax("softmax[(rows,)](x, out, cols, x.stride(0), STABLE=True, BLOCK=128)")
    candidate = Candidate(
        source=candidate.source.replace("kernel_function(x)", "kernel_function(x, keep, scale, shift)")
    )
    found = worker.evaluate(candidate, "verify")
    assert found.status is Status.PASSED, "a kernel that has them built in is right wherever it is judged"
    assert found.constant == ("input keep", "input scale = 1.0")


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


LESS = """\
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, y):
        return x - 2 * y


CASES = [dict(name="small", dtype="float32", rows=6, small=True), dict(name="large", dtype="float32", rows=4096)]


def get_inputs(rows):
    return [torch.randn(rows, 100), torch.randn(rows, 100)]


def get_init_inputs():
    return []
"""

LESS_KERNEL = """\
import torch
import triton
import triton.language as tl


@triton.jit
def less(x_ptr, y_ptr, out_ptr, cols, stride_x, stride_y, stride_out, BLOCK: tl.constexpr):
    row, lanes = tl.program_id(0), tl.arange(0, BLOCK)
    inside = lanes < cols
    x = tl.load(x_ptr + row * stride_x + lanes, mask=inside)
    y = tl.load(y_ptr + row * stride_y + lanes, mask=inside)
    tl.store(out_ptr + row * stride_out + lanes, x - 2 * y, mask=inside)


def kernel_function(x, y):
    rows, cols = x.shape
    out = torch.empty((rows, cols), dtype=x.dtype, device=x.device)
    less[(rows,)](x, y, out, cols, STRIDES, BLOCK=128)
    return out
"""


@pytest.mark.parametrize(
    ("strides", "expected"),
    [
        ("x.stride(0), cols, cols", Status.PASSED),
        ("cols, y.stride(0), cols", Status.PASSED),
        ("x.stride(0), y.stride(0) + (not y.is_contiguous()), cols", Status.WRONG),
        ("x.stride(0), cols, x.stride(0)", Status.WRONG),
    ],
)
def test_some_inputs_may_be_read_by_their_strides_and_others_as_dense(
    worker: ProcessWorker, tmp_path: Path, strides: str, expected: Status
) -> None:
    (tmp_path / "less.py").write_text(LESS)
    evaluation = verified(worker, tmp_path / "less.py", Candidate(source=LESS_KERNEL.replace("STRIDES", strides)))
    assert evaluation.status is expected, evaluation.reason
    assert of(evaluation, "small").status is Status.PASSED
    assert shown_by(evaluation) == ([("dense", "read as dense")] if expected is Status.PASSED else [])
