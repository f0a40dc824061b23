"""What the rules of Triton find in a text."""

from __future__ import annotations

from kernelwright.worker.rules import triton


def findings(source: str) -> list[str]:
    return [str(finding) for finding in triton.check(source).findings]
