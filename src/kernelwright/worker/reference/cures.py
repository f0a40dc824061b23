"""Hints for errors that the problem's code raised, chosen by the text of the error."""

from __future__ import annotations

import torch
from torch._subclasses.fake_tensor import DynamicOutputShapeException

NO_CUDA = ("Torch not compiled with CUDA enabled", "Found no NVIDIA driver", "No CUDA GPUs are available")
"""Error texts of torch 2.9 to 2.13 when code asks for a GPU and there is none."""

NOT_LINKED = "not linked with support for cuda devices"
"""In the text of an operator's error that selects a device in torch without CUDA."""

OWN_MODULES = (
    "modules of your own go into sources/ beside problem.py, where kernelwright.Problem.from_module(MODULE, INPUTS) "
    "copies them"
)


def cure_for(error: BaseException, said: str) -> str:
    """A short hint, or "" if there is none for this error. said: the error's text."""
    if any(words in said for words in NO_CUDA):
        return "leave out the device: inputs and parameters are moved to the GPU where there is one"
    if NOT_LINKED in said:
        return "an operator there needs torch with CUDA: do this on a machine with a GPU"
    if isinstance(error, torch.OutOfMemoryError):
        return "free the GPU of other programs, or state smaller sizes in CASES"
    if isinstance(error, ModuleNotFoundError):
        return f"install it beside kernelwright, in the same environment; {OWN_MODULES}"
    if isinstance(error, ImportError) and "relative import" in said:
        return OWN_MODULES
    if isinstance(error, DynamicOutputShapeException):
        return (
            "the size of its result depends on values, as that of x[mask], nonzero, unique and repeat_interleave does: "
            "torch.where, or output_size=…, gives it a fixed size"
        )
    return ""
