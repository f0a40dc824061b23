"""Candidates read from files."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluated import StartedWorker
from kernelwright.errors import RequestError
from kernelwright.jobs.loading import read_candidate
from kernelwright.model import Status
from samples import BLOCK, SOURCE

PROBLEM = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.gelu(x)

def get_inputs():
    return [torch.randn(rows, 32)]

def get_init_inputs():
    return []

rows = 4096
CASES = [dict(name="large"), dict(name="small", small=True, rows=3),
         dict(name="odd", small=True, held_out=True, rows=5)]
"""

ACTIVATIONS = """
import triton
import triton.language as tl

@triton.jit
def halved(x):
    return 0.5 * x

@triton.jit
def gelu(x):
    return halved(x) * (1 + tl.erf(x * 0.7071067811865476))
"""

KERNEL = """
import torch
import triton
import triton.language as tl

from . import sizes
from .activations import gelu


@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, gelu(tl.load(x_ptr + at, mask=at < n)), mask=at < n)


def kernel_function(x):
    y = torch.empty_like(x)
    kernel[(triton.cdiv(x.numel(), sizes.BLOCK),)](x, y, x.numel(), BLOCK=sizes.BLOCK)
    return y
"""


def test_a_config_is_part_of_the_candidate_where_the_source_has_its_tunables(tmp_path: Path) -> None:
    file = tmp_path / "kernel.py"
    file.write_text(SOURCE)
    assert read_candidate(file, {BLOCK: 256}).config == {BLOCK: 256}
    assert read_candidate(str(file)).config == {}
    with pytest.raises(RequestError, match="this source has no tunable 'NOPE'"):
        read_candidate(file, {"NOPE": 3})


def test_source_that_does_not_parse_is_read_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text("def (:\n")
    assert read_candidate(tmp_path / "kernel.py").source == "def (:\n"


def test_a_byte_order_mark_is_no_part_of_the_source(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text("x = 1\n", encoding="utf-8-sig")
    assert read_candidate(tmp_path / "kernel.py").source == "x = 1\n"


def test_a_file_that_is_missing_or_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="no candidate file at"):
        read_candidate(tmp_path / "gone.py")
    (tmp_path / "kernel.py").write_bytes(b"\xff\xfe")
    with pytest.raises(RequestError, match="UTF-8"):
        read_candidate(tmp_path / "kernel.py")


def test_a_file_of_a_package_is_judged_with_what_it_uses_of_it(
    shared_worker: StartedWorker, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "problem.py").write_text(PROBLEM)
    package = tmp_path / "kernels"
    package.mkdir()
    for name, text in {"__init__": "", "sizes": "BLOCK = 64\n", "activations": ACTIVATIONS, "gelu": KERNEL}.items():
        (package / f"{name}.py").write_text(text)
    candidate = read_candidate(package / "gelu.py")
    assert "copied BLOCK from sizes.py; gelu, halved from activations.py; in messages its lines after 7" in caplog.text
    worker = shared_worker()
    worker.load(str(tmp_path / "problem.py"))
    found = worker.evaluate(candidate, "verify")
    small = {case.case: case.status for case in found.results if case.case in ("small", "odd")}
    assert small == {"small": Status.PASSED, "odd": Status.PASSED}, found.reason
    read_candidate(tmp_path / "problem.py")
    assert caplog.text.count("copied") == 1
