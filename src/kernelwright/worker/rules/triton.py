"""The rules for candidates whose kernels are written in Triton."""

from __future__ import annotations

import dataclasses

from kernelwright.worker.rules import extract, static


def check(source: str) -> extract.Kernels:
    """The kernels of `source`, and every rule that its host code or its kernels break; raises SyntaxError."""
    kernels = extract.extract(source)
    return dataclasses.replace(kernels, findings=(*static.check(source), *kernels.findings))


def why_not_judged(on_gpu: bool) -> str:
    """Why this machine cannot judge Triton kernels at all, "" because it can: on a GPU, or in the CPU interpreter."""
    return ""
