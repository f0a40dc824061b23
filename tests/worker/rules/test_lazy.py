"""Memory that a first call allocates and keeps: every call allocates it, and what is kept beside memory is refused."""

from __future__ import annotations

import pytest

from kernelwright.source import parse as syntax
from kernelwright.worker.rules import triton
from kernelwright.worker.rules.lazy import allocated_once, kept
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
    assert [finding.line for finding in kept(syntax.parse(SOURCE))] == [20]
    assert kept(syntax.parse(made)) == []


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
    assert allocated_once(syntax.parse(SOURCE)) != []
    made = SOURCE.replace(old, new, 1)
    assert made != SOURCE
    assert allocated_once(syntax.parse(made)) == []
    assert triton.check(normal_form(made)).findings != ()
