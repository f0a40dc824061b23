"""Runs one kernel file (starter.py, best.py) of the problem folders in argv on small cases, on Triton's interpreter.

A program of its own, because the interpreter must be chosen before Triton is imported. Prints one JSON object
per case and output: the largest error of the kernel, and the least rms error of a constant answer, both relative to the
largest expected value.
"""

from __future__ import annotations

import importlib.util
import inspect
import json
import sys
import time
from pathlib import Path
from typing import Any

import torch

from kernelwright.worker.reference import load


def imported(file: Path) -> Any:
    spec = importlib.util.spec_from_file_location(f"{file.stem}_of_{file.parent.name}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def called(kernel: Any, instance: load.Instance) -> tuple[torch.Tensor, ...]:
    """What the kernel gives; where the problem states GRADIENTS, its backward's after its forward's."""
    if hasattr(kernel, "ModelNew"):
        module = kernel.ModelNew(*instance.init_inputs)
        for name, parameter in instance.module.named_parameters():
            module.get_parameter(name).data = parameter.data
        return (module(*instance.inputs),)
    given = {name.replace(".", "_"): parameter for name, parameter in instance.module.named_parameters()}
    given |= zip(instance.init_names, instance.init_inputs, strict=True)
    given |= zip(instance.input_names, instance.inputs, strict=True)
    made = several(by_name(kernel.kernel_function, given))
    if not instance.joint:
        return made
    saved = getattr(kernel, "SAVED", ())
    results = made[: len(made) - len(saved)]
    given |= {f"output_{number}": one for number, one in enumerate(results)}
    given |= zip(saved, made[len(results) :], strict=True)
    return (*results, *several(by_name(kernel.kernel_backward, given)))


def by_name(function: Any, given: dict[str, Any]) -> Any:
    return function(**{name: given[name] for name in inspect.signature(function).parameters})


def several(result: Any) -> tuple[torch.Tensor, ...]:
    return (result,) if isinstance(result, torch.Tensor) else tuple(result)


def main(kernel_file: str, folders: list[str]) -> None:
    for folder in folders:
        problem = load.load_problem(folder)
        kernel = imported(Path(folder) / kernel_file)
        for case in problem.cases:
            if not case.small:
                continue
            instance = problem.instance(case, seed=1)
            wanted = load.outputs(load.cast(instance, "float64"))
            began = time.process_time()
            with torch.no_grad():
                made = called(kernel, instance)
            cpu_s = time.process_time() - began
            for got, expected in zip(made, wanted, strict=True):
                scale = expected.abs().max().item()
                row = {
                    "problem": problem.name,
                    "case": case.name,
                    "dtype": str(got.dtype).removeprefix("torch."),
                    "same_shape": got.shape == expected.shape and got.is_contiguous(),
                    "error": (got.double() - expected).abs().max().item() / scale,
                    "error_of_a_constant": expected.std().item() / scale,
                    "cpu_s": cpu_s,
                }
                print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
