"""A program: whether candidates give what the models of their problems give, on the CPU in one draw of each small case.

    python small_cases.py CANDIDATE PROBLEM …

All cases where none is small. Not a verification: one draw, and no judge that knows how much each element may differ.
With TRITON_INTERPRET=1 kernels run without a GPU.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch

from kernelwright.source.parameter_names import as_argument


def loaded(file: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location("loaded", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compare(candidate: str, problem: str, case: dict[str, Any]) -> None:
    reference = loaded(problem)
    vars(reference).update({name: value for name, value in case.items() if name in vars(reference)})

    def given(function: Callable[..., list[Any]]) -> list[Any]:
        return function(**{name: case[name] for name in inspect.signature(function).parameters if name in case})

    torch.manual_seed(0)
    model, inputs = reference.Model(*given(reference.get_init_inputs)), given(reference.get_inputs)
    values = dict(zip(inspect.signature(model.forward).parameters, inputs, strict=False))
    values |= {as_argument(name): one.detach() for name, one in [*model.named_parameters(), *model.named_buffers()]}
    function = loaded(candidate).kernel_function
    with torch.no_grad():
        expected = model(*inputs)
    found = function(**{name: values[name] for name in inspect.signature(function).parameters})
    halves = any(isinstance(one, torch.Tensor) and one.dtype is torch.float16 for one in values.values())
    rtol = 4 * torch.finfo(torch.float16).eps if halves else 1e-4
    torch.testing.assert_close(found, expected, rtol=rtol, atol=1e-5, msg=lambda text: f"{candidate}, {case}: {text}")


if __name__ == "__main__":
    for candidate, problem in zip(sys.argv[1::2], sys.argv[2::2], strict=True):
        cases = loaded(problem).CASES
        for case in [one for one in cases if one.get("small")] or cases:
            compare(candidate, problem, case)
