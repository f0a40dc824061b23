"""Poisoned configs: a tuning ends in time with the right pick and names each failure.

First twenty of them on a fake device, then one of each kind in a real worker (without a GPU: compiled for a target,
run by Triton's interpreter, times estimated).
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from busy import scaled
from kernelwright.evaluator.client import start_worker
from kernelwright.model import Status
from kernelwright.report.tuning import tuning_text
from kernelwright.spaces import SAMPLERS
from kernelwright.spaces.space import Config, Parameter, Space, size
from kernelwright.spaces.stated import stated_space
from kernelwright.tune import LiveDevice, Settings, tune
from tuned import SOURCE, FakeDevice, problem, steps

KINDS = (Status.COMPILE_ERROR, Status.REJECTED, Status.CRASHED, Status.TIMEOUT, Status.WRONG, Status.RUNTIME_ERROR)
BLOCKS = tuple(1 << power for power in range(4, 14))
LARGE = Space(
    parameters=(
        Parameter(name="BLOCK", choices=BLOCKS, default=128),
        Parameter(name="k.num_warps", choices=(1, 2, 4, 8, 16), default=4),
    )
)


def poison(config: Config) -> tuple[Status, str] | None:
    """Twenty of the fifty, the best neighbours of the best config among them."""
    place = BLOCKS.index(config["BLOCK"]) * 5 + (1, 2, 4, 8, 16).index(config["k.num_warps"])
    if steps(config) == 0 or config["BLOCK"] == 128 or place % 2 == 0:
        return None
    kind = KINDS[place % len(KINDS)]
    return kind, f"poisoned: {kind.value}, place {place}"


POISONED = [
    config
    for block in BLOCKS
    for warps in (1, 2, 4, 8, 16)
    if poison(config := {"BLOCK": block, "k.num_warps": warps}) is not None
]


@pytest.mark.parametrize("sampler", ["exhaustive", "random", "local", "model"])
def test_twenty_poisoned_configs_do_not_keep_a_sampler_from_the_right_pick(sampler: str) -> None:
    assert len(POISONED) >= 20
    # What lies to the device would be the best by far, did it count.
    device = FakeDevice(fails=poison, time_of=lambda config, case: 100.0 * 1.1 ** steps(config))
    settings = Settings(sampler=sampler, early_stop=False)
    outcome = tune(
        device, LARGE, problem=problem("big"), candidate=SOURCE, settings=settings, sampler=SAMPLERS[sampler]
    )
    assert outcome.joint is not None
    assert outcome.joint.config == {"BLOCK": 256, "k.num_warps": 8}
    failed = [one for one in outcome.tried if one.score_us is None]
    assert sorted(map(str, (one.config for one in failed))) == sorted(map(str, POISONED))
    assert len(outcome.tried) == size(LARGE)
    text = tuning_text(outcome)
    for status, count in Counter(one.found.status.value for one in failed).items():
        assert f"  {status}: {count}" in text
        assert f"poisoned: {status}" in text


PROBLEM = """\
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x * x + 1


CASES = [
    dict(name="large", dtype="float32", rows=8192, columns=8192),
    dict(name="small", dtype="float32", small=True, rows=7, columns=33),
]


def get_inputs(rows=8192, columns=8192):
    return [torch.randn(rows, columns)]


def get_init_inputs():
    return []
"""
CANDIDATE = """\
import torch
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK != 128)
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside, other=0.0)
    if BLOCK == 256:
        x += 1
    if BLOCK == 512:
        again = n
        while again > 0:
            again = again * 1
    if BLOCK == 2048:
        tl.store(out_ptr + (n.to(tl.int64) + 1) * (1 << 40), 1.0)
    if BLOCK == 4096:
        square = tl.arange(0, 64)[:, None] * 512 + tl.arange(0, 512)[None, :]
        total = tl.zeros((64, 64), tl.float32)
        for start in range(0, n, 32768):
            tile = tl.load(x_ptr + start + square, mask=start + square < n, other=0.0)
            total = tl.dot(tile, tl.trans(tile), total)
        x += tl.sum(total)
    if BLOCK == 8192:
        left_behind = tl.load(out_ptr + offsets, mask=inside, other=0.0)
        x += tl.where(tl.abs(left_behind) < 1e30, 1.0, 0.0)
    tl.store(out_ptr + offsets, x * x + 1, mask=inside)


def kernel_function(x):
    x = x.contiguous()
    out = torch.empty_like(x)
    BLOCK = 1024
    k[(triton.cdiv(x.numel(), BLOCK),)](x, out, x.numel(), BLOCK=BLOCK, num_warps=4)
    return out
"""
EXPECTED = {
    64: {Status.PASSED},
    128: {Status.COMPILE_ERROR},
    256: {Status.WRONG},
    512: {Status.TIMEOUT},
    1024: {Status.PASSED},
    2048: {Status.CRASHED, Status.RUNTIME_ERROR},
    4096: {Status.COMPILE_ERROR},
    8192: {Status.WRONG},
}
"""8192 answers by what it finds in memory that nobody wrote: right on one call, wrong on another."""


def test_a_real_worker_survives_every_kind_and_the_pick_is_the_best_of_those_that_are_right(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="the worker needs torch: pip install -e '.[worker]'")
    pytest.importorskip("triton", reason="the worker needs Triton: pip install -e '.[worker]'")
    (tmp_path / "problem.py").write_text(PROBLEM)
    (tmp_path / "space.toml").write_text(f"parameters.BLOCK = {list(EXPECTED)}\n")
    space = stated_space(tmp_path / "space.toml", CANDIDATE, {})
    limits = scaled({"interpret_s": 3.0, "replay_s": 3.0})
    with start_worker(limits=limits) as worker:
        info = worker.load(str(tmp_path / "problem.py"))
        outcome = tune(
            LiveDevice(worker, CANDIDATE, info), space, problem=info, candidate=CANDIDATE,
            settings=Settings(sampler="exhaustive"), sampler=SAMPLERS["exhaustive"],
        )  # fmt: skip
    found = {one.config["BLOCK"]: one.found for one in outcome.tried}
    assert found.keys() == EXPECTED.keys()
    for block, expected in EXPECTED.items():
        assert found[block].status in expected, (block, found[block])
    assert outcome.joint is not None
    passed = [one for one in outcome.tried if one.score_us is not None]
    assert {one.config["BLOCK"] for one in passed} == {64, 1024}
    fastest = min(passed, key=lambda one: one.score_us or 0.0)
    assert outcome.joint.config in (fastest.config, outcome.default.config)
    text = tuning_text(outcome)
    for said in (
        "CompileTimeAssertionFailure",
        f"did not finish in {limits['interpret_s']:g} s",
        "shared memory",
        "of the output's scale",
        "out of bounds",
    ):
        assert said in text, said
