"""Twenty poisoned configs on a device: a tuning ends in time, picks a config that is right, and names each failure.

CHUNK says what is wrong with a config: it does not compile, asks for more shared memory than there is, writes outside
of all memory, never ends, is wrong, or leaves in one element what whichever program came last wrote. 1 is honest.
"""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import pytest

from kernelwright.evaluator.client import start_worker
from kernelwright.model import Status
from kernelwright.report.tuning import tuning_text
from kernelwright.spaces import SAMPLERS
from kernelwright.spaces.space import size
from kernelwright.spaces.stated import stated_space
from kernelwright.tune import LiveDevice, Settings, tune
from on_device import needs_device

pytestmark = needs_device()

IN_TIME_S = 240.0
"""Three configs that never end and three that end the process that ran them cost up to ten seconds each."""

PROBLEM = """\
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x * x + 1


CASES = [
    dict(name="large", dtype="float32", n=1 << 25),
    dict(name="small", dtype="float32", small=True, n=5000),
]


def get_inputs(n=1 << 25):
    return [torch.randn(n)]


def get_init_inputs():
    return []
"""
CANDIDATE = """\
import torch
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, out_ptr, n, BLOCK: tl.constexpr, CHUNK: tl.constexpr):
    tl.static_assert(CHUNK != 2)
    program = tl.program_id(0)
    offsets = program.to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside, other=0.0)
    if CHUNK == 4:
        square = tl.arange(0, 64)[:, None] * 512 + tl.arange(0, 512)[None, :]
        total = tl.zeros((64, 64), tl.float32)
        for start in range(0, n, 32768):
            tile = tl.load(x_ptr + start + square, mask=start + square < n, other=0.0)
            total = tl.dot(tile, tl.trans(tile), total)
        x += tl.sum(total)
    if CHUNK == 8:
        tl.store(out_ptr + (n.to(tl.int64) + 1) * (1 << 40), 1.0)
    if CHUNK == 16:
        more = 1.0
        while more > 0.5:  # with an effect: one without the compiler may take away
            more = more + 1.0
            tl.store(out_ptr + offsets, x * more, mask=inside)
    if CHUNK == 32:
        x += 1
    tl.store(out_ptr + offsets, x * x + 1, mask=inside)
    if CHUNK == 64:
        tl.store(out_ptr + n // 2, program * 1.0)


def kernel_function(x):
    x = x.contiguous()
    out = torch.empty_like(x)
    BLOCK = 1024
    k[(triton.cdiv(x.numel(), BLOCK),)](x, out, x.numel(), BLOCK=BLOCK, CHUNK=1, num_warps=4)
    return out
"""
SPACE = """\
restrictions = ["k.CHUNK < 8 or BLOCK > 256"]

[parameters]
BLOCK = [256, 512, 1024, 2048]
"k.CHUNK" = [1, 2, 4, 8, 16, 32, 64]
"""
EXPECTED = {
    1: {Status.PASSED},
    2: {Status.COMPILE_ERROR},
    4: {Status.COMPILE_ERROR},
    8: {Status.CRASHED, Status.RUNTIME_ERROR},
    16: {Status.TIMEOUT},
    32: {Status.WRONG},
    64: {Status.WRONG},
}


@pytest.mark.parametrize("sampler", ["exhaustive", "model"])
def test_twenty_poisoned_configs_are_named_and_an_honest_one_is_picked(sampler: str, tmp_path: Path) -> None:
    (tmp_path / "problem.py").write_text(PROBLEM)
    (tmp_path / "space.toml").write_text(SPACE)
    space = stated_space(tmp_path / "space.toml", CANDIDATE, {})
    began_s = time.monotonic()
    with start_worker(limits={"replay_s": 2.0}) as worker:
        info = worker.load(str(tmp_path / "problem.py"))
        outcome = tune(
            LiveDevice(worker, CANDIDATE, info), space, problem=info, candidate=CANDIDATE,
            settings=Settings(sampler=sampler, early_stop=False), sampler=SAMPLERS[sampler],
        )  # fmt: skip
    assert time.monotonic() - began_s < IN_TIME_S
    assert len(outcome.tried) == size(space)
    poisoned = [one for one in outcome.tried if one.config["k.CHUNK"] != 1]
    assert len(poisoned) == 20
    for one in outcome.tried:
        assert one.found.status in EXPECTED[one.config["k.CHUNK"]], (one.config, one.found.status, one.found.reason)
    assert outcome.joint is not None
    assert outcome.joint.config["k.CHUNK"] == 1
    text = tuning_text(outcome)
    for status, count in Counter(one.found.status.value for one in poisoned).items():
        assert f"  {status}: {count}" in text
