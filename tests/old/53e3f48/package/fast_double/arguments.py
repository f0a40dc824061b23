"""What double's forward takes, and how the candidate is called. Generated."""

from __future__ import annotations

NAMESPACE = "fast_double"
NAME = "double"
SCHEMA = "(Tensor x) -> Tensor"
TENSORS = (True,)
PARAMETERS = ()
SINGLE = True
AUTOTUNE = {}
"""Which config of each kernel under triton.autotune was verified; the others are not tried."""


def parted(given):
    """The operator's arguments as inputs, parameters and constructor arguments."""
    (x,) = given
    held = []
    return (x,), held, []


def operator_arguments(inputs, parameters, init_text):
    """The inverse of `parted`; init_text: the constructor arguments as Python's text of a list."""
    return (*inputs,)


def run(built, inputs, parameters):
    """Call the candidate's host code."""
    return built.function(inputs[0])
