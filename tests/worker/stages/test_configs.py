"""Every config of an autotuned kernel is judged on one small case, or named among what was not judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluated import StartedWorker
from kernelwright.evaluator.client import ProcessWorker
from kernelwright.model import Candidate, Evaluation, Status

PROBLEM = """\
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x * 2.0


CASES = [dict(name="tiny", dtype="float32", n=70, small=True), dict(name="large", dtype="float32", n=4096)]


def get_inputs(n):
    return [torch.randn(n)]


def get_init_inputs():
    return []
"""

KERNEL = """\
import torch
import triton
import triton.language as tl


@triton.autotune(configs=[
    CONFIGS
], key=["n"])
@triton.jit
def double(x_ptr, out_ptr, n, BLOCK: tl.constexpr, COVERED: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = (lanes < n) & (tl.arange(0, BLOCK) < COVERED)
    tl.store(out_ptr + lanes, tl.load(x_ptr + lanes, mask=inside) * 2.0, mask=inside)


def kernel_function(x):
    x = x.contiguous()
    out = torch.empty_like(x)
    double[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, out, x.numel())
    return out
"""


def config(block: int, covered: int, warps: int = 4) -> str:
    return f'triton.Config({{"BLOCK": {block}, "COVERED": {covered}}}, num_warps={warps}),'


@pytest.fixture
def worker(shared_worker: StartedWorker, tmp_path: Path) -> ProcessWorker:
    file = tmp_path / "double.py"
    file.write_text(PROBLEM)
    worker = shared_worker()
    worker.load(str(file))
    return worker


def verified(worker: ProcessWorker, *configs: str, chosen: dict[str, int] | None = None) -> Evaluation:
    source = KERNEL.replace("CONFIGS", "\n    ".join(configs))
    return worker.evaluate(Candidate(source=source, config=chosen or {}), "verify")


def test_a_wrong_config_that_the_tuner_may_pick_makes_the_file_wrong(worker: ProcessWorker) -> None:
    found = verified(worker, config(32, 32), config(64, 64), config(128, 31))
    assert found.status is Status.WRONG, found.reason
    assert "with autotune:double=2 (BLOCK=128, COVERED=31, num_warps=4, num_stages=3)" in found.reason


def test_right_configs_leave_nothing_unjudged(worker: ProcessWorker) -> None:
    found = verified(worker, config(32, 32), config(64, 64), config(64, 64, warps=8))
    assert (found.status, found.unjudged) == (Status.PASSED, ()), found.reason


def test_configs_that_were_not_run_are_named(worker: ProcessWorker) -> None:
    assert verified(worker, config(32, 32), config(128, 31), chosen={"autotune:double": 1}).status is Status.WRONG
    found = verified(worker, config(32, 32), config(128, 31), chosen={"autotune:double": 0})
    assert found.status is Status.PASSED
    assert found.unjudged == ("autotune:double=1 (BLOCK=128, COVERED=31, num_warps=4, num_stages=3): not chosen",)
    found = verified(worker, config(32, 32), config(48, 48))
    assert found.status is Status.PASSED
    (named,) = found.unjudged
    assert named.startswith("autotune:double=1 (BLOCK=48, COVERED=48, num_warps=4, num_stages=3): compile_error")


SPLIT = """\
try:
    import vllm
except ImportError:
    vllm = None


def blocks(n, most):
    if most > 64:
        return triton.cdiv(n, most)
    return triton.cdiv(n, most)


@triton.autotune("""


def test_a_config_that_needs_what_was_left_out_is_named(worker: ProcessWorker) -> None:
    made = KERNEL.replace("@triton.autotune(", SPLIT).replace('triton.cdiv(x.numel(), meta["BLOCK"])', "blocks(GIVEN)")
    source = made.replace("GIVEN", 'x.numel(), meta["BLOCK"]').replace("CONFIGS", config(32, 32) + config(128, 128))
    found = worker.evaluate(Candidate(source=source), "verify")
    assert found.status is Status.PASSED, found.reason
    (named,) = [one for one in found.unjudged if one.startswith("autotune:double=1")]
    assert "not judged: line 14, where most > 64" in named


PRUNED = """\
def fitting(configs, named, **meta):
    return [one for one in configs if KEPT]


@triton.autotune("""


def pruned(kept: str) -> str:
    """The kernel with a function that keeps the configs `one` for which an expression is true."""
    made = KERNEL.replace("@triton.autotune(", PRUNED.replace("KEPT", kept))
    return made.replace('key=["n"])', 'key=["n"], prune_configs_by={"early_config_prune": fitting})')


CONFIGS = "\n    ".join([config(64, 1), config(32, 32), config(128, 31), config(128, 128)])


def test_a_config_that_the_file_leaves_out_is_not_judged(worker: ProcessWorker) -> None:
    source = pruned('one.kwargs["BLOCK"] == one.kwargs["COVERED"]').replace("CONFIGS", CONFIGS)
    found = worker.evaluate(Candidate(source=source), "verify")
    assert (found.status, found.autotune_moved) == (Status.PASSED, {"double": 1}), found.reason
    assert len(found.unjudged) == 2
    for index, named in zip((0, 2), found.unjudged, strict=True):
        assert named.startswith(f"autotune:double={index} (")
        assert "early_config_prune of double leaves out the judged config" in named


def test_a_wrong_config_that_the_file_keeps_makes_it_wrong(worker: ProcessWorker) -> None:
    source = pruned('one.kwargs["BLOCK"] >= 32 and one.kwargs["COVERED"] > 1').replace("CONFIGS", CONFIGS)
    found = worker.evaluate(Candidate(source=source), "verify")
    assert found.status is Status.WRONG
    assert "with autotune:double=2" in found.reason


def test_a_config_that_a_stated_case_leaves_out_is_refused_where_no_other_is_kept(worker: ProcessWorker) -> None:
    source = pruned('one.kwargs["COVERED"] == (32 if named["n"] == 70 else 128)').replace("CONFIGS", CONFIGS)
    found = worker.evaluate(Candidate(source=source), "verify")
    assert found.status is Status.REJECTED
    assert "leaves out the judged config 1 here" in found.reason


OWN = """\
def made(configs, named, **meta):
    block = triton.next_power_of_2(named["n"])
    return [triton.Config({"BLOCK": block, "COVERED": block // less}) for less in LESS]


@triton.autotune("""


def own(less: str) -> Candidate:
    """The kernel with a function that makes configs of its own from the size."""
    made = KERNEL.replace("@triton.autotune(", OWN.replace("LESS", less))
    source = made.replace('key=["n"])', 'key=["n"], prune_configs_by={"early_config_prune": made})')
    return Candidate(source=source.replace("CONFIGS", "\n    ".join([config(32, 1), config(32, 2)])))


def test_configs_that_the_file_makes_for_a_size_are_judged(worker: ProcessWorker) -> None:
    found = worker.evaluate(own("(1, 1)"), "verify")
    assert (found.status, found.autotune, found.unjudged) == (Status.PASSED, {"double": 2}, ()), found.reason
    found = worker.evaluate(own("(1, 1, 2)"), "verify")
    assert found.status is Status.WRONG
    assert "with autotune:double=2" in found.reason
