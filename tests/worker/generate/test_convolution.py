"""Convolutions become Triton kernels, whatever their window, stride, padding, dilation, groups and direction."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from evaluated import StartedWorker, gives_the_same
from forked import Programs
from generated import exact
from kernelwright.inductor import NotConverted, candidate_text, candidate_texts
from kernelwright.model import Candidate, Generated, Loading, Status

PROBLEM = """
import torch.nn as nn
import torch

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential({layers})

    def forward(self, x):
        return self.layers(x).relu()

def get_inputs(batch=16, side={large}):
    return [torch.randn({sizes})]

def get_init_inputs():
    return []

CASES = [dict(name="large"), dict(name="small", small=True, held_out=True, batch=2, side={small})]
"""

LAYERS = {
    "one side": (
        "nn.Conv1d(6, 8, 3, stride=2, dilation=2, padding=2, groups=2), "
        "nn.ConvTranspose1d(8, 6, 5, stride=3, dilation=2, padding=1, output_padding=2, groups=2)",
        {"large": 4000, "sizes": "batch, 6, side", "small": 9},
    ),
    "a stride and a dilation with a common divisor": (
        "nn.ConvTranspose2d(4, 6, (3, 2), stride=(2, 4), dilation=(2, 6), padding=(1, 3), output_padding=(1, 5))",
        {"large": 64, "sizes": "batch, 4, side, 3 * side", "small": 4},
    ),
    "one side, many channels": (
        "nn.Conv1d(36, 80, 3, stride=2, dilation=2, padding=2, groups=2), "
        "nn.ConvTranspose1d(80, 6, 5, stride=3, dilation=2, padding=1, output_padding=2, groups=2)",
        {"large": 4000, "sizes": "batch, 36, side", "small": 9},
    ),
    "two sides, many channels": (
        "nn.ConvTranspose2d(17, 4, (3, 2), stride=(2, 3), padding=(1, 0), output_padding=(0, 1))",
        {"large": 64, "sizes": "batch, 17, side, 3 * side", "small": 4},
    ),
    "a weight with its channels last": (
        "nn.Conv2d(4, 6, (3, 2), stride=2).to(memory_format=torch.channels_last)",
        {"large": 64, "sizes": "batch, 4, side, side", "small": 6},
    ),
    "two sides": (
        "nn.ConvTranspose2d(3, 4, (3, 2), stride=(2, 3), padding=(1, 0), output_padding=(0, 1))",
        {"large": 64, "sizes": "batch, 3, side, 3 * side", "small": 4},
    ),
    "a padding larger than the window": (
        "nn.Conv1d(3, 4, 3, stride=2, padding=5)",
        {"large": 4000, "sizes": "batch, 3, side", "small": 9},
    ),
    "three sides": (
        "nn.Conv3d(3, 5, (3, 2, 1), padding=(1, 0, 0), bias=False)",
        {"large": 20, "sizes": "batch, 3, side, 2 * side, side", "small": 4},
    ),
}


def generated(worker: StartedWorker, file: Path, layers: str, sizes: dict[str, object]) -> Generated:
    file.write_text(PROBLEM.format(layers=layers, **sizes))
    worker().load(str(file), Loading(library="none"))
    return worker().generate()


@pytest.mark.parametrize("name", LAYERS)
def test_a_convolution_is_computed_as_a_product(
    shared_worker: StartedWorker, programs: Programs, tmp_path: Path, name: str
) -> None:
    layers, sizes = LAYERS[name]
    source = candidate_text(generated(shared_worker, tmp_path / "problem.py", layers, sizes), "none")
    assert source.count("tl.dot(") == layers.count("nn.")
    if name in ("one side", "two sides, many channels"):  # the judge sees reads that change no value
        result = shared_worker().evaluate(Candidate(source=source), "verify")
        assert {case.case: case.status for case in result.results}["small"] is Status.PASSED, result.reason
    else:
        gives_the_same(shared_worker(), programs, tmp_path, exact(source))


def test_a_second_kernel_has_sizes_as_arguments(
    shared_worker: StartedWorker, programs: Programs, tmp_path: Path
) -> None:
    """A compiler's fault that depends on a constant size is not in it."""
    layers, sizes = LAYERS["three sides"]
    constant, plain, again, _ = candidate_texts(
        generated(shared_worker, tmp_path / "problem.py", layers, sizes), "none", True
    )
    assert "split_factor[" in again
    for source, annotation in ((constant, ": tl.constexpr"), (plain, ""), (again, "")):
        [launched] = re.findall(r"def convolution_relu_tiles\((.*?)\):", source, re.DOTALL)
        assert f" side{annotation}, " in launched
        assert "BLOCK_M: tl.constexpr" in launched
    assert "split_factor[" in constant
    for source in (constant, plain):
        gives_the_same(shared_worker(), programs, tmp_path, exact(source))


def test_a_template_is_tuned_however_few_elements_a_group_has(shared_worker: StartedWorker, tmp_path: Path) -> None:
    """Stride and dilation have a common divisor, so that a second kernel makes all elements of all 256 groups."""
    layers = "nn.ConvTranspose1d(256, 256, 3, stride=2, dilation=2, groups=256)"
    sizes = {"large": 4000, "sizes": "batch, 256, side", "small": 9}
    source = candidate_text(generated(shared_worker, tmp_path / "groups.py", layers, sizes), "none")
    assert re.search(r"^BLOCK_M(_\d)? = ", source, re.MULTILINE)
    assert source.count("# Fuses: ") > 1


def test_float64_is_left_to_the_library(shared_worker: StartedWorker, tmp_path: Path) -> None:
    layers = "nn.Conv1d(4, 6, 3).double()"
    found = generated(
        shared_worker, tmp_path / "wide.py", layers,
        dict(LAYERS["one side"][1], sizes="batch, 4, side, dtype=torch.float64"),
    )  # fmt: skip
    with pytest.raises(NotConverted, match=r"it calls aten\.convolution"):
        candidate_text(found, "none")


def test_a_convolution_whose_outputs_read_no_input_is_left_to_the_library(
    shared_worker: StartedWorker, tmp_path: Path
) -> None:
    layers = "nn.ConvTranspose1d(4, 6, 1, stride=2, padding=1, dilation=4, output_padding=2)"
    found = generated(shared_worker, tmp_path / "nothing.py", layers, dict(LAYERS["one side"][1], sizes="batch, 4, 1"))
    assert "torch.convolution(" in candidate_text(found, "any")
    assert all(one.library_calls[0].operator == "convolution.default" for one in found.templates)


def test_a_step_in_half_precision_has_the_channels_under_one_element(
    shared_worker: StartedWorker, tmp_path: Path
) -> None:
    """Of 64 in a step, tensor cores would multiply 32 zeros."""
    (tmp_path / "half.py").write_text(
        PROBLEM.format(layers="nn.Conv2d(32, 48, 3)", large=64, sizes="batch, 32, side, side", small=5)
    )
    shared_worker().load(str(tmp_path / "half.py"), Loading(library="none", dtype="float16"))
    source = candidate_text(shared_worker().generate(), "none")
    assert re.findall(r"^(BLOCK_[NK])\w* = (\d+)", source, re.MULTILINE) == [("BLOCK_N", "64"), ("BLOCK_K", "32")]
    (copied,) = re.findall(r"def convolution_map\((.*?)\):", source, re.DOTALL)
    assert "ynumel" in copied, "the copy with channels last is tiled"


def test_what_concerns_a_side_is_written_once_for_each() -> None:
    from kernelwright.worker.generate.convolution import text  # imports Inductor, which would delay every test run

    lines = [line.strip() for line in text("HW").splitlines()]
    assert [line for line in lines if line.startswith(("row_", "batch = "))] == [
        "row_H = row // (ROWS_W) % ROWS_H",
        "row_W = row % ROWS_W",
        "batch = row // (ROWS_H * ROWS_W)",
    ]
    assert lines[-1].startswith('{{store_output(("idx_n", "idx_c", "idx_H", "idx_W"), "acc"')
