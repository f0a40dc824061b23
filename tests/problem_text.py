"""The text of a problem's file, from what is its own: what it computes, its inputs, the sizes of its cases."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import indent

TEXT = """
import math
import sys
import torch
import torch.nn as nn
import torch.nn.functional as F

{top}

class Model(nn.Module):
    def __init__(self{arguments}):
        super().__init__()
{init}

    def forward(self, {names}):
{forward}

def get_inputs({sizes}):
    return [{inputs}]

def get_init_inputs({defaults}):
    return [{numbers}]

CASES = [dict(name="large"){cases}]
"""


def problem_text(
    forward: str, sizes: str, inputs: Mapping[str, str], *, init: str = "", numbers: str = "", small: str = "",
    top: str = "",
) -> str:  # fmt: skip
    """forward, init: bodies of the model's functions; a forward of one expression needs no `return`. sizes, numbers:
    arguments of get_inputs and of get_init_inputs with their values, as in a signature. inputs: from the name of an
    input to the expression that makes it. small: what the small case changes."""
    names = ", ".join(number.partition("=")[0].strip() for number in numbers.split(",")) if numbers else ""
    cases = f', dict(name="small", small=True, held_out=True, {small})' if small else ""
    return TEXT.format(
        top=top, init=indent(init or "pass", " " * 8), names=", ".join(inputs), sizes=sizes,
        forward=indent(forward if "return " in forward else f"return {forward}", " " * 8),
        inputs=", ".join(inputs.values()), defaults=numbers, numbers=names, cases=cases,
        arguments=f", {names}" if names else "",
    )  # fmt: skip
