"""The gallery: every problem is well formed, and every starter and best kernel is right on its small cases.

Not a verification on a device: Triton's interpreter only shows that a kernel's logic is plausible.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch

from kernelwright.model import TensorSpec
from kernelwright.problems import new_problem, read_problem_text
from kernelwright.problems.alike import signature, written_operators
from kernelwright.worker.reference import load

GALLERY = Path(__file__).parents[2] / "gallery"
PROBLEMS = sorted(file.parent for file in GALLERY.glob("*/problem.py"))
every_problem = pytest.mark.parametrize("folder", PROBLEMS, ids=[folder.name for folder in PROBLEMS])

LARGEST_ERROR = {"float32": 2e-6, "float16": 1e-3}
"""Relative to the largest expected value: honest kernels reach 2e-7, and half a unit in the last place (5e-4)."""

SMALL_CPU_S = 15
"""A case that takes more processor time on the interpreter is not small; most take under a second."""


def run_kernels(kernel_file: str, folders: list[Path]) -> list[dict[str, Any]]:
    program = Path(__file__).with_name("run_kernels.py")
    environment = {**os.environ, "TRITON_INTERPRET": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, str(program), kernel_file, *map(str, folders)],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@cache
def gallery_rows(kernel_file: str) -> list[dict[str, Any]]:
    folders = [folder for folder in PROBLEMS if (folder / kernel_file).is_file()]
    return run_kernels(kernel_file, [folder for folder in folders if not asks_the_gpu(folder / kernel_file)])


def asks_the_gpu(kernel: Path) -> bool:
    """Whether its host code looks at the device, and so runs on one or in a recorder only (`test_versions.py` has the
    worker verify those)."""
    return "torch.cuda.get_device_properties" in kernel.read_text()


def assert_right(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        limit = LARGEST_ERROR[row["dtype"]]
        assert row["same_shape"], row
        assert row["error"] <= limit, row
        assert row["error_of_a_constant"] > 20 * limit, row
        assert row["cpu_s"] < SMALL_CPU_S, row


def test_the_gallery_holds_these_problems() -> None:
    assert [folder.name for folder in PROBLEMS] == [
        "add_rms_norm_backward",
        "conv_transpose3d",
        "cross_entropy",
        "cross_entropy_backward",
        "cumsum",
        "depthwise_conv2d",
        "embedding_bag",
        "int4_linear",
        "matmul",
        "matmul_leaky_relu",
        "matvec",
        "max_pool3d",
        "rmsnorm",
        "softmax",
        "swiglu_backward",
    ]


@every_problem
def test_a_starter_is_right_on_the_small_cases_and_a_constant_is_not(folder: Path) -> None:
    rows = [row for row in gallery_rows("starter.py") if row["problem"] == folder.name]
    assert len(rows) >= 2
    assert_right(rows)


@every_problem
def test_a_best_kernel_is_right_on_the_small_cases(folder: Path) -> None:
    if not (folder / "best.py").is_file():
        pytest.skip("no best kernel yet")
    if asks_the_gpu(folder / "best.py"):
        pytest.skip("its host code looks at the device; test_versions.py verifies it")
    rows = [row for row in gallery_rows("best.py") if row["problem"] == folder.name]
    assert len(rows) >= 2
    assert_right(rows)


@every_problem
def test_a_problem_s_operators_are_written_beside_it(folder: Path) -> None:
    """Repair: python benchmarks/gallery_operators.py"""
    written = written_operators(folder)
    assert written is not None
    problem = load.load_problem(str(folder))
    instance = problem.outline(next(case for case in problem.cases if case.timed))
    held = [*instance.module.named_parameters(), *instance.module.named_buffers()]
    given = [*zip(instance.input_names, instance.inputs, strict=True), *held]
    operators = problem.operator_text()
    assert written[len(given) :] == operators
    for line, (name, value) in zip(written, given, strict=False):
        shape = f"({', '.join(map(str, value.shape))}{',' * (value.dim() == 1)})"
        assert line == f"{name.replace('.', '_')}: {shape} {str(value.dtype).removeprefix('torch.')}"
    assert signature(written) is not None


@every_problem
def test_a_problem_has_timed_held_out_and_small_cases(folder: Path) -> None:
    problem = load.load_problem(str(folder))
    timed = [case for case in problem.cases if case.timed]
    held_out = [case for case in problem.cases if case.held_out]
    small = [case for case in problem.cases if case.small]
    assert 1 <= len(timed) <= 4
    assert len(held_out) >= 2
    assert {case.dtype for case in held_out} - {case.dtype for case in timed}
    assert len(small) >= 2
    # Arithmetic in bfloat16 is wrong on the interpreter.
    assert {case.dtype for case in small} == {"float32", "float16"}
    assert read_problem_text(folder / "problem.py") == problem.source
    assert problem.docstring


@every_problem
def test_every_case_is_described_without_making_it(folder: Path) -> None:
    problem = load.load_problem(str(folder))
    for case in problem.cases:
        specs = problem.specs(case)
        assert {output.dtype for output in specs.outputs} == {case.dtype}
        elements = sum(torch.Size(spec.shape).numel() for spec in specs.inputs if isinstance(spec, TensorSpec))
        assert elements < 100_000 or not case.small
        _, stated_bytes = problem.work(case)
        assert 0 < (stated_bytes or 1) <= load.compulsory_bytes(specs)


def least_work(name: str) -> tuple[int, int]:
    """(FLOP, bytes) of the first timed case, stated or counted."""
    problem = load.load_problem(str(GALLERY / name))
    case = next(case for case in problem.cases if case.timed)
    flop, size = problem.work(case)
    derived = problem.least_work(case)
    return flop or sum(derived.flop.values()), size or derived.bytes


def test_the_least_work_of_the_timed_cases_is_what_arithmetic_says() -> None:
    assert least_work("softmax") == (5 * 4096 * 4096, 2 * 4096 * 4096 * 4)
    assert least_work("matmul") == (2 * 4096**3, 3 * 4096 * 4096 * 2)
    assert least_work("matmul_leaky_relu") == least_work("matmul")
    assert least_work("matvec") == (2 * 2048 * 1048576, (2048 * 1048576 + 1048576 + 2048) * 2)
    assert least_work("rmsnorm") == (3 * 112 * 64 * 512 * 512, 2 * 112 * 64 * 512 * 512 * 2)
    # Nothing is counted twice: what the backward reads again, and the gradient that x and residual share.
    assert least_work("swiglu_backward")[1] == 6 * 8192 * 14336 * 2
    assert least_work("add_rms_norm_backward")[1] == (7 * 16384 * 4096 + 2 * 4096) * 2
    assert least_work("depthwise_conv2d")[0] == 2 * 9 * 16 * 64 * 510 * 510


def test_max_pooling_states_the_elements_that_some_window_reads() -> None:
    problem = load.load_problem(str(GALLERY / "max_pool3d"))
    case = next(case for case in problem.cases if case.name == "1x2x9x10x11_fp32")
    module = problem.instance(case, seed=1).module
    elements = 9 * 10 * 11
    # One element at a time is the only one above zero: where any output sees it, it was read.
    read = sum(int(module(one.reshape(1, 1, 9, 10, 11)).any()) for one in torch.eye(elements))
    outputs = torch.Size(problem.specs(case).outputs[0].shape).numel()
    # Every element that a window holds, over all windows, less one for each output: so many comparisons.
    held = sum(int(module(one.reshape(1, 1, 9, 10, 11)).sum()) for one in torch.eye(elements))
    assert problem.work(case) == (2 * (held - outputs // 2), (2 * read + outputs) * 4)


def test_the_transposed_convolution_states_the_products_that_meet_inside_the_output() -> None:
    problem = load.load_problem(str(GALLERY / "conv_transpose3d"))
    case = next(case for case in problem.cases if case.small)
    instance = problem.instance(case, seed=1)
    ones = {name: torch.ones_like(parameter) for name, parameter in instance.module.named_parameters()}
    (x,) = instance.inputs
    assert isinstance(x, torch.Tensor)
    # With ones everywhere, each output is the number of products that it adds up.
    products = torch.func.functional_call(instance.module, ones, (torch.ones_like(x),))
    assert problem.work(case) == (2 * int(products.sum().item()), None)
    assert not products[:, :, ::2].any()
    assert not products[:, :, :, ::2].any()
    assert not products[:, :, :, :, ::2].any()


def test_both_candidate_formats_are_shown_at_least_twice() -> None:
    texts = [(folder / "starter.py").read_text() for folder in PROBLEMS]
    assert sum("\nclass ModelNew(" in text for text in texts) >= 2
    assert sum("\ndef kernel_function(" in text for text in texts) >= 2


def test_a_new_problem_is_one_whose_starter_passes(tmp_path: Path) -> None:
    made = new_problem("scaled-add", tmp_path)
    assert made.name == "scaled-add"
    assert made.starter is not None
    read_problem_text(made.file)
    problem = load.load_problem(str(made.file))
    assert problem.docstring.startswith("scaled-add: ")
    assert {case.timed for case in problem.cases} == {True, False}
    flop, size = problem.work(problem.cases[0])
    assert (flop, size) == (2 * 8192 * 8192, None)
    for case in problem.cases:
        assert problem.specs(case).outputs[0].dtype == case.dtype
    rows = run_kernels("starter.py", [made.file.parent])
    assert len(rows) == 2
    assert_right(rows)
