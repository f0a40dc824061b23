"""Runs one kernel file (starter.py, best.py) of the problem folders in argv on small cases, on Triton's interpreter.

A program of its own, because the interpreter must be chosen before Triton is imported. Prints one JSON object
per case: the largest error of the kernel, and the least rms error of a constant answer, both relative to the
largest expected value.
"""

from __future__ import annotations

import importlib.util
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


def called(kernel: Any, instance: load.Instance) -> torch.Tensor:
    if hasattr(kernel, "ModelNew"):
        module = kernel.ModelNew(*instance.init_inputs)
        for name, parameter in instance.module.named_parameters():
            module.get_parameter(name).data = parameter.data
        return module(*instance.inputs)
    named = {name.replace(".", "_"): parameter for name, parameter in instance.module.named_parameters()}
    return kernel.kernel_function(**dict(zip(instance.input_names, instance.inputs, strict=True)), **named)


def main(kernel_file: str, folders: list[str]) -> None:
    for folder in folders:
        problem = load.load_problem(folder)
        kernel = imported(Path(folder) / kernel_file)
        for case in problem.cases:
            if not case.small:
                continue
            instance = problem.instance(case, seed=1)
            (expected,) = load.outputs(load.cast(instance, "float64"))
            began = time.process_time()
            with torch.no_grad():
                got = called(kernel, instance)
            scale = expected.abs().max().item()
            row = {
                "problem": problem.name,
                "case": case.name,
                "dtype": str(got.dtype).removeprefix("torch."),
                "same_shape": got.shape == expected.shape and got.is_contiguous(),
                "error": (got.double() - expected).abs().max().item() / scale,
                "error_of_a_constant": expected.std().item() / scale,
                "cpu_s": time.process_time() - began,
            }
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
