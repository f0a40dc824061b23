"""What is said about an error of a problem's code beside the error itself."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch._subclasses.fake_tensor import DynamicOutputShapeException

from kernelwright.errors import ProblemError
from kernelwright.worker.reference.cures import cure_for
from kernelwright.worker.reference.problem_module import call


@pytest.mark.parametrize(
    ("error", "hint"),
    [
        (AssertionError("Torch not compiled with CUDA enabled"), "leave out the device"),
        (RuntimeError("Found no NVIDIA driver on your system. Please check"), "leave out the device"),
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"), "state smaller sizes in CASES"),
        (ModuleNotFoundError("No module named 'einops'"), "install it beside kernelwright"),
        (ModuleNotFoundError("No module named 'blocks'"), "modules of your own go into sources/ beside problem.py"),
        (ImportError("attempted relative import with no known parent package"), "Problem.from_module(MODULE, INPUTS)"),
        (RuntimeError("PyTorch is not linked with support for cuda devices"), "do this on a machine with a GPU"),
        (DynamicOutputShapeException("aten.nonzero.default"), "torch.where, or output_size=…, gives it a fixed size"),
        (ImportError("cannot import name 'a' from 'b'"), ""),
        (ValueError("of another kind"), ""),
    ],
)
def test_common_errors_come_with_what_to_do(error: Exception, hint: str) -> None:
    assert hint in cure_for(error, str(error))
    assert bool(cure_for(error, str(error))) == bool(hint)

    def broken() -> None:
        raise error

    with pytest.raises(ProblemError) as caught:
        call(Path("mine.py"), "get_inputs", broken)
    assert str(error) in str(caught.value)
    assert hint in str(caught.value)
