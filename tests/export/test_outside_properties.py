"""Each export of a kernel that serves dense inputs only, called with others: the answer is PyTorch's.

One process uses the package and the file as a program would; Triton interprets.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import msgspec
import pytest

from evaluated import StartedWorker
from exported import softmax, win, write
from forked import Programs
from kernelwright.export.exporters import EXPORTERS
from kernelwright.export.op import op_files
from kernelwright.export.subject import Subject
from kernelwright.model import Candidate, Property, Status

pytest.importorskip("torch", reason="the package needs torch: pip install -e '.[worker]'")
pytest.importorskip("triton", reason="the kernel needs Triton: pip install -e '.[worker]'")

DENSE_ONLY = """\
import triton
import triton.language as tl


@triton.jit
def softmax_rows(x_ptr, out_ptr, stride, cols, used, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * stride + lanes, mask=lanes < used, other=float("-inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + tl.program_id(0) * cols + lanes, e / tl.sum(e, axis=0), mask=lanes < cols)


def kernel_function(x):
    rows, cols = x.shape
    if cols > 128:
        raise ValueError("rows of at most 128 elements")
    out = x.new_empty((rows, cols))
    used = cols - (x.stride(0) != cols)
    softmax_rows[(rows,)](x, out, cols + (x.stride(0) != cols), cols, used, BLOCK=128)
    if x.stride(0) > cols:
        x.as_strided((1,), (1,), x.storage_offset() + cols).zero_()
    return out
"""
"""It leaves out work, takes another stride and writes between rows, where its input is not dense."""

PROGRAM = """\
import json, sys, importlib.util
import torch, fast_softmax
from fast_softmax import op

spec = importlib.util.spec_from_file_location("model_new", sys.argv[1])
kernelbench = importlib.util.module_from_spec(spec)
spec.loader.exec_module(kernelbench)
module = fast_softmax.Module()
module(torch.randn(32, 64))
exports = {
    "module": module, "function": fast_softmax.softmax, "operator": op.kernel_where_it_serves,
    "kernelbench": kernelbench.ModelNew(),
}
inputs = {
    "dense": torch.randn(32, 64),
    "padded": torch.randn(32, 80)[:, 3:67],
    "transposed": torch.randn(64, 32).t(),
    "misaligned": torch.randn(32 * 64 + 1)[1:].view(32, 64),
    "expanded": torch.randn(1, 64).expand(32, 64),
}
found = {}
with torch.no_grad():
    for name, of in exports.items():
        for layout, x in inputs.items():
            found[f"{name}, {layout}"] = bool(torch.allclose(of(x), torch.softmax(x, -1), 1e-4, 1e-5))
    wide = torch.randn(32, 256)
    for name in ("module", "function"):
        found[f"{name}, a size that is refused"] = bool(torch.allclose(exports[name](wide), torch.softmax(wide, -1)))
print(json.dumps(found))
"""


def dense_only() -> Subject:
    made = softmax()
    serves = (Property(name="dense", shown_by="wrong"),)
    evaluation = msgspec.structs.replace(made.evaluation, serves=serves)
    return dataclasses.replace(made, candidate=Candidate(source=DENSE_ONLY), evaluation=evaluation)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory, programs: Programs) -> dict[str, bool]:
    folder = tmp_path_factory.mktemp("dense_only")
    write(op_files(dense_only()), folder)
    wins = [win([[32, 32]], 10.0, 20.0), win([[32, 512]], 11.0, 40.0)]
    (folder / "fast_softmax" / "wins.json").write_text(
        json.dumps({"schema_version": 1, "device": "cpu", "cases": wins})
    )
    ((name, text),) = EXPORTERS["kernelbench"].files(dense_only()).items()
    (folder / name).write_text(text)
    (folder / "program.py").write_text(PROGRAM)
    done = programs(folder, folder / "program.py", str(folder / name), interpret=True)
    assert done.status == 0, done.stderr[-3000:]
    answer: dict[str, bool] = json.loads(done.stdout)
    return answer


def test_outside_of_what_it_serves_every_export_gives_what_pytorch_gives(found: dict[str, bool]) -> None:
    assert [what for what, right in found.items() if not right] == []
    assert len(found) == 22


def test_the_kernel_itself_would_be_wrong_there(tmp_path: Path, programs: Programs) -> None:
    (tmp_path / "kernel.py").write_text(DENSE_ONLY)
    program = "import torch, kernel\nx = torch.randn(32, 80)[:, 3:67]\n"
    program += "print(torch.allclose(kernel.kernel_function(x), torch.softmax(x, -1)))"
    (tmp_path / "program.py").write_text(program)
    done = programs(tmp_path, tmp_path / "program.py", interpret=True)
    assert done.stdout.strip() == "False"


def test_the_judge_accepts_that_kernel_for_dense_inputs_only(shared_worker: StartedWorker, tmp_path: Path) -> None:
    problem = (Path(__file__).parents[1] / "exploits/subjects/softmax/problem.py").read_text(encoding="utf-8")
    (tmp_path / "dense.py").write_text(problem.replace('LAYOUTS = "any"', ""))
    worker = shared_worker()
    worker.load(str(tmp_path / "dense.py"))
    found = worker.evaluate(Candidate(source=DENSE_ONLY), "verify")
    assert found.status is Status.PASSED, found.reason
    assert [(one.name, one.shown_by) for one in found.serves] == [("dense", "wrong")]


def test_a_readme_names_the_property() -> None:
    assert "serves: dense inputs only" in op_files(dense_only())["README.md"]
