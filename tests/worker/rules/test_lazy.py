"""Memory and answers of the device that a first call keeps: every call makes them, and what else is kept is refused."""

from __future__ import annotations

import pytest

from kernelwright.source import parse as syntax
from kernelwright.worker.rules import triton
from kernelwright.worker.rules.dropped import dropped
from kernelwright.worker.rules.lazy import answers, in_every_call
from kernelwright.worker.rules.normal import normal_form

SOURCE = """
import torch
import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, part_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at))


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self._parts = None
        self._count = None

    def forward(self, x):
        if self._parts is None or self._parts[0].shape != x.shape:
            blocks = triton.cdiv(x.numel(), 256)
            first = torch.empty(blocks, device=x.device)
            self._parts = (first, torch.zeros(4, device=x.device))
            self._count = torch.empty_like(x)
        part, zeros = self._parts
        out = torch.empty_like(x)
        copy[(1,)](x, self._count, out, BLOCK=256)
        return out
"""


def test_memory_that_the_first_call_allocates_is_allocated_in_every_call() -> None:
    assert [finding.line for finding in triton.check(SOURCE).findings] == [23, 24]
    made = normal_form(SOURCE)
    assert triton.check(made).findings == ()
    assert "        if (True):\n" in made
    assert "(_parts) = (first, torch.zeros(4, device=x.device))" in made
    assert "part, zeros = (_parts)" in made
    assert answers(syntax.parse(SOURCE)) == set()
    assert [one.line for one in dropped(SOURCE, made)] == [23, 24]
    assert dropped(made, made) == []


SCRATCH = SOURCE.replace("torch.zeros(", "torch.empty(").replace("        part, zeros = self._parts\n", "")


def test_scratch_that_a_first_call_allocates_is_no_difference() -> None:
    assert answers(syntax.parse(SCRATCH)) == {"self._parts", "self._count"}
    assert dropped(SCRATCH, normal_form(SCRATCH)) == []


@pytest.mark.parametrize(("old", "new"), [
    ("self._count = torch.empty_like(x)", "self._count = torch.ones_like(x)"),
    (" or self._parts[0].shape != x.shape", ""),
    (" or self._parts[0].shape != x.shape", " or x.shape[0] > 4"),
    ("return out", "return self._count"),
    ("return out", "out = self._count\n        return out"),
    ("return out", "return self._count.view(-1)"),
    ("copy[(1,)]", "copy[(self._count.numel(),)]"),
])  # fmt: skip
def test_what_a_later_call_could_find_changed_is_named(old: str, new: str) -> None:
    made = SCRATCH.replace(old, new)
    assert made != SCRATCH
    assert in_every_call(syntax.parse(made)) != []
    assert dropped(made, normal_form(made)) != []


@pytest.mark.parametrize(("old", "new"), [
    ("self._count = torch.empty_like(x)", "self._count = x"),
    ("self._count = torch.empty_like(x)", "self._count = torch.softmax(x, -1)"),
    ("self._count = torch.empty_like(x)", "self._count = torch.empty_like(x)\n            copy[(1,)](x, x, x)"),
    ("self._count = torch.empty_like(x)", "self._count = torch.empty_like(x)\n        else:\n            return x"),
    ("if self._parts is None or self._parts", "if self._parts is not None or self._parts"),
    ("if self._parts is None or", "if x.shape[0] > 4 or self._parts is None or"),
    ("if self._parts is None or", "if self.other is None or"),
    ("        self._count = None", "        self._count = torch.empty(4)"),
    ("        self._count = None", "        self._count = None\n        self._parts = None"),
    ("        return out", "        self._count = x\n        return out"),
    ("        return out", "        _count = 1\n        return out"),
    ("        return out", "        return out\n\n    def other(self):\n        return self._count"),
    ("        return out", "        return getattr(self, '_count')"),
    ("        return out", "        return f'{self._count}'"),
    ("blocks = triton.cdiv(x.numel(), 256)", "blocks = self.made(x)"),
])  # fmt: skip
def test_what_is_kept_otherwise_stays_and_is_refused(old: str, new: str) -> None:
    assert in_every_call(syntax.parse(SOURCE)) != []
    made = SOURCE.replace(old, new, 1)
    assert made != SOURCE
    assert in_every_call(syntax.parse(made)) == []
    assert triton.check(normal_form(made)).findings != ()


ANSWER = """
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
    assert any("global" in str(one) for one in triton.check(ANSWER).findings)
    made = normal_form(ANSWER)
    assert triton.check(made).findings == ()
    assert "    if (True):\n        _COUNT = torch.cuda.get_device_properties(0).multi_processor_count\n" in made
    assert "global" not in made
    assert answers(syntax.parse(ANSWER)) == {"_COUNT"}
    assert dropped(ANSWER, made) == []
    memory = ANSWER.replace("torch.cuda.get_device_properties(0).multi_processor_count", "torch.empty(4)")
    assert triton.check(normal_form(memory)).findings == ()
    assert [one.line for one in dropped(memory, normal_form(memory))] == [16]


@pytest.mark.parametrize(("old", "new"), [
    ("torch.cuda.get_device_properties(0).multi_processor_count", "torch.rand(4)"),
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
def test_an_answer_that_is_kept_otherwise_stays_and_is_refused(old: str, new: str) -> None:
    assert in_every_call(syntax.parse(ANSWER)) != []
    made = ANSWER.replace(old, new)
    assert made != ANSWER
    assert in_every_call(syntax.parse(made)) == []
    assert any("global" in str(one) for one in triton.check(normal_form(made)).findings)
