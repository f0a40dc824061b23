"""Generated float32 products and convolutions on tensor cores pass every case on a device, and a kernel for one size
that size."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelwright.evaluator.client import start_worker
from kernelwright.evaluator.protocol import Worker
from kernelwright.inductor import candidate_text, candidate_texts
from kernelwright.model import Candidate, Loading, Status
from on_device import needs_device

pytestmark = needs_device()

PROBLEM = """
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        {layer}

    def forward(self, {arguments}):
        return {forward}

def get_inputs({sizes}):
    return [{inputs}]

def get_init_inputs():
    return []

CASES = [{cases}]
"""

PRODUCT = {
    "layer": "", "arguments": "x, y", "forward": "torch.relu(x @ y)", "sizes": "rows=2048, inner={inner}, columns=1024",
    "inputs": "torch.randn(rows, inner), torch.randn(inner, columns)",
    "cases": "dict(name='large'), dict(name='small', small=True, rows=33, inner=45, columns=17), "
    "dict(name='odd', held_out=True, rows=517, inner=1031, columns=259)",
}  # fmt: skip

PROBLEMS = {
    "a product": PRODUCT | {"sizes": PRODUCT["sizes"].format(inner=1024)},
    "a product whose rows are not aligned": PRODUCT | {"sizes": PRODUCT["sizes"].format(inner=1021)},
    "a convolution whose output has three places": {
        "layer": "self.layer = nn.Conv2d(16, 128, 3)", "arguments": "x", "forward": "self.layer(x)",
        "sizes": "batch=4, height=128, width=128", "inputs": "torch.randn(batch, 16, height, width)",
        "cases": "dict(name='large'), dict(name='small', small=True, batch=1, height=5, width=5), "
        "dict(name='odd', held_out=True, batch=3, height=61, width=43)",
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with start_worker() as worker:
        yield worker


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_kernel_on_tensor_cores_is_right_in_full_precision(worker: Worker, tmp_path: Path, name: str) -> None:
    file = tmp_path / "problem.py"
    file.write_text(PROBLEM.format(**PROBLEMS[name]))
    worker.load(str(file), Loading(library="none"))
    texts = candidate_texts(worker.generate(), "none", split=True)
    assert ["split_factor" in text for text in texts[:2]] == [True, False]
    found = [worker.evaluate(Candidate(source=text), "verify") for text in texts[:3]]
    wanted = {1, 2} if "convolution" in name else {0, 1}  # the compiler may break a convolution of constant sizes
    assert wanted <= {place for place, one in enumerate(found) if one.status is Status.PASSED}, [
        one.reason for one in found
    ]


def test_a_kernel_for_the_captured_sizes_is_judged_at_the_timed_case(worker: Worker, tmp_path: Path) -> None:
    file = tmp_path / "problem.py"
    without_cases = PROBLEM.partition("\nCASES")[0]
    file.write_text(
        without_cases.format(layer="", arguments="x", forward="torch.softmax(x, {int: -1}[type(x.shape[1])])",
                             sizes="rows=2048, columns=512", inputs="torch.randn(rows, columns)")
    )  # fmt: skip
    worker.load(str(file), Loading(which="derived"))
    generated = worker.generate()
    assert [one.sizes for one in generated.captures] == [None], "symbols are no keys of that dict"
    found = worker.evaluate(Candidate(source=candidate_text(generated, "none")), "search")
    assert found.status is Status.PASSED, found.reason
    assert found.timing_kind == "measured"
    assert {one.name for one in found.serves} == {"sized"}
