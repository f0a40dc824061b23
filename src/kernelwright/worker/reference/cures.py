"""What a user can do about an error that their problem's code raised, by what it says."""

from __future__ import annotations

import torch

NO_CUDA = ("Torch not compiled with CUDA enabled", "Found no NVIDIA driver", "No CUDA GPUs are available")
"""What torch 2.9 to 2.13 says where code asks for a GPU that is not there."""


def cure_for(error: BaseException, said: str) -> str:
    """A hint in a few words, "" where the error itself has to do. said: the error's text."""
    if any(words in said for words in NO_CUDA):
        return "leave out the device: inputs and parameters are moved to the GPU where there is one"
    if isinstance(error, torch.OutOfMemoryError):
        return "free the GPU of other programs, or state smaller sizes in CASES"
    if isinstance(error, ModuleNotFoundError):
        return "install it beside kernelwright, in the same environment"
    return ""
