"""Answers of the device that a module keeps: each call asks, and what else is kept is refused."""

from __future__ import annotations

import pytest

from kernelwright.source import parse as syntax
from kernelwright.worker.rules import triton
from kernelwright.worker.rules.memos import memos
from kernelwright.worker.rules.normal import normal_form

SOURCE = """
import torch
import triton
import triton.language as tl

_COUNT = None


@triton.jit
def copy(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at))


def count():
    global _COUNT
    if _COUNT is None:
        _COUNT = torch.cuda.get_device_properties(0).multi_processor_count
    return _COUNT


def kernel_function(x):
    out = torch.empty_like(x)
    copy[(count(),)](x, out, BLOCK=256)
    return out
"""


def test_an_answer_of_the_device_is_asked_for_in_every_call() -> None:
    assert any("global" in str(one) for one in triton.check(SOURCE).findings)
    made = normal_form(SOURCE)
    assert triton.check(made).findings == ()
    assert "    _COUNT = torch.cuda.get_device_properties(0).multi_processor_count\n" in made
    assert "global" not in made
    assert made.count("\n") == SOURCE.count("\n")


@pytest.mark.parametrize(("old", "new"), [
    ("torch.cuda.get_device_properties(0).multi_processor_count", "torch.empty(4)"),
    ("torch.cuda.get_device_properties(0).multi_processor_count", "OTHER"),
    ("_COUNT = None\n\n", "_COUNT = 4\n\n"),
    ("_COUNT = None\n\n", "_COUNT = None\n_COUNT = None\n\n"),
    ("_COUNT is None", "_COUNT is not None"),
    ("_COUNT is None", "OTHER is None"),
    ("    return _COUNT", "    _COUNT += 1\n    return _COUNT"),
    ("    out = torch", "    if _COUNT is not None:\n        return x\n    out = torch"),
    ("def kernel_function(x):", "def other():\n    global _COUNT\n    _COUNT = 3\n\n\n"
                                "def kernel_function(x):\n    other()"),
])  # fmt: skip
def test_what_is_kept_otherwise_stays_and_is_refused(old: str, new: str) -> None:
    assert memos(syntax.parse(SOURCE)) != []
    made = SOURCE.replace(old, new)
    assert made != SOURCE
    assert memos(syntax.parse(made)) == []
    assert any("global" in str(one) for one in triton.check(normal_form(made)).findings)
