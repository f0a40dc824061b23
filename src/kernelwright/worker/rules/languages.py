"""Lookup of the rules module for the language of a candidate's kernels."""

from __future__ import annotations

import importlib
from typing import Protocol, cast

from kernelwright.source.languages import language_of
from kernelwright.worker.rules.extract import Kernels


class Rules(Protocol):
    """The functions of a language's rules module (`Language.rules`)."""

    def check(self, source: str) -> Kernels:
        """The kernels of `source`, and every rule that it breaks; raises SyntaxError."""

    def why_not_judged(self, on_gpu: bool) -> str:
        """Why this machine cannot judge kernels of the language; "" if it can."""


def rules_for(source: str) -> Rules:
    """The rules for `source`; the rules for Triton if it does not parse."""
    return cast(Rules, importlib.import_module(language_of(source).rules))
