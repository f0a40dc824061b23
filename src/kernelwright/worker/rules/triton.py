"""The rules for candidates whose kernels are written in Triton."""

from __future__ import annotations

import dataclasses

from kernelwright.source import parse as syntax
from kernelwright.worker.rules import extract, static
from kernelwright.worker.rules.declared import declared


def check(source: str) -> extract.Kernels:
    """The kernels of `source`, and every rule that its host code or its kernels break; raises SyntaxError."""
    kernels = extract.extract(source)
    serves, wrong = declared(syntax.parse(source))
    return dataclasses.replace(kernels, findings=(*static.check(source), *wrong, *kernels.findings), serves=serves)


def why_not_judged(on_gpu: bool) -> str:
    """Always "": every machine can judge Triton kernels, on a GPU or in the CPU interpreter."""
    return ""
