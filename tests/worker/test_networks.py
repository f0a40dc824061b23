"""Networks that make states, positions or masks themselves are problems: recurrent, causal, with shifted windows."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
import torch
from torch import Tensor

from evaluated import StartedWorker
from kernelwright.evaluator.protocol import Worker
from kernelwright.model import Loading
from kernelwright.worker.judge.judge import Judge

FOLDER = Path(__file__).parents[1] / "problems" / "networks"
NETWORKS = ["states_made_in_forward", "causal_mask_buffer", "shifted_windows"]


@pytest.fixture(scope="module")
def worker(shared_worker: StartedWorker) -> Worker:
    return shared_worker()


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_qualifies_as_it_is(worker: Worker, name: str) -> None:
    worker.load(str(FOLDER / f"{name}.py"), Loading(which="derived"))
    report = worker.qualify()
    assert report.qualifies, report.reason


@pytest.mark.parametrize("name", NETWORKS)
def test_its_reference_is_float64_throughout(name: str) -> None:
    judge = Judge("cpu")
    judge.load(str(FOLDER / f"{name}.py"))
    answer = judge.answer("default", 0)
    inputs = [one.double() if isinstance(one, Tensor) and one.is_floating_point() else one
              for one in answer.instance.inputs]  # fmt: skip
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        expected = copy.deepcopy(answer.instance.module).double()(*inputs)
    finally:
        torch.set_default_dtype(before)
    assert answer.expected[0].dtype == torch.float64
    torch.testing.assert_close(answer.expected[0], expected, rtol=1e-12, atol=1e-12)
