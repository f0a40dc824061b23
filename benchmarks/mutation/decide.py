"""Which mutants compute something else than the reference, by running them: no code of the judge takes part.

A mutant is wrong on an input if its largest error against the float64 reference exceeds ten times that of the kernel it
was made of, or ten eps of the output's dtype at its largest element where that kernel is more exact. A shape, a dtype,
an integer or a NaN that differs, an exception, and a launch that does not end count, too. `python decide.py SUBJECT
INPUTS AT_MOST NUMBER…` prints a line of JSON when it is ready, then one for each mutant; one process serves one kernel.
If a mutant ends it, start it again with the numbers after that one.
"""

from __future__ import annotations

import contextlib
import importlib.util
import inspect
import json
import math
import sys
import tempfile
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from inputs import Drawn, drawn
from mutate import mutants
from subjects import Subject, subjects
from torch import Tensor

TIMES = 10
"""A mutant is wrong above this multiple of the error of the kernel that was mutated."""

COARSE = 1e-2
"""Inputs on which that kernel itself is off by more, relative to the largest element, say nothing."""


@dataclass
class Known:
    """An input with the reference's outputs in float64 and the kernel's own errors on it."""

    drawn: Drawn
    expected: list[Tensor]
    own: list[float]
    dtypes: list[torch.dtype]


def decided(subject: Subject, numbers: list[int], count: int, at_most: int, device: str) -> Iterator[dict[str, Any]]:
    """For each mutant on how many inputs it is wrong, and on which first."""
    every = mutants(subject.kernel, at_most)
    with tempfile.TemporaryDirectory() as folder:
        kernel = _loaded(subject.kernel, Path(folder, "kernel.py"))
        known = [one for one in (_known(d, kernel, device) for d in drawn(subject.problem, count)) if one is not None]
        yield {"ready": len(known)}
        for number in numbers:
            mutant, wrong, first = every[number], 0, ""
            try:
                changed = _loaded(mutant.source, Path(folder, f"mutant_{number}.py"))
            except Exception as error:
                wrong, first, changed = len(known), f"does not load: {type(error).__name__}", None
            for one in known if changed is not None else ():
                why = _difference(one, changed, device)
                wrong += bool(why)
                first = first or (f"{why} ({one.drawn.about})" if why else "")
                if "raises" in why and one is known[0]:
                    wrong = len(known)
                    break
            yield {"number": number, "name": mutant.name, "inputs": len(known), "wrong_on": wrong, "first": first}


def _loaded(source: str, file: Path) -> Any:
    """The module of a kernel, from a file, because Triton reads the file."""
    file.write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    return module


def _outputs(kernel: Any, one: Drawn, device: str) -> list[Tensor]:
    """What a kernel answers, on the CPU. It gets memory of its own: one that writes out of bounds spoils only that."""
    model = deepcopy(one.model).to(device)
    inputs = [value.clone().to(device) if isinstance(value, Tensor) else value for value in one.inputs]
    with torch.no_grad():
        if hasattr(kernel, "ModelNew"):
            own = kernel.ModelNew(*one.init_inputs)
            own.load_state_dict(model.state_dict())
            floats = [tensor.dtype for tensor in model.state_dict().values() if tensor.is_floating_point()]
            made = own.to(device, *floats[:1]).eval()(*inputs)
        else:
            state = {name.replace(".", "_"): tensor for name, tensor in model.state_dict().items()}
            wanted = inspect.signature(kernel.kernel_function).parameters
            named = dict(zip(inspect.signature(one.model.forward).parameters, inputs, strict=False))
            given = {name: value for name, value in {**named, **state}.items() if name in wanted}
            made = kernel.kernel_function(**given)
    return [output.detach().cpu() for output in (made if isinstance(made, (tuple, list)) else (made,))]


def _known(one: Drawn, kernel: Any, device: str) -> Known | None:
    """None for an input that says nothing: not finite, refused by the reference, or hard for the kernel itself."""
    wide = [
        value.double() if isinstance(value, Tensor) and value.is_floating_point() else value for value in one.inputs
    ]
    try:
        with torch.no_grad():
            made = deepcopy(one.model).double()(*wide)
        outputs = _outputs(kernel, one, device)
    except Exception:
        return None
    expected = [output.detach() for output in (made if isinstance(made, (tuple, list)) else (made,))]
    if [tuple(o.shape) for o in outputs] != [tuple(e.shape) for e in expected]:
        return None
    own = [_error(output, wanted) for output, wanted in zip(outputs, expected, strict=True)]
    for error, wanted in zip(own, expected, strict=True):
        limit = COARSE * _scale(wanted) if wanted.is_floating_point() else 0.0
        if not (math.isfinite(_scale(wanted)) and error <= limit):
            return None
    return Known(one, expected, own, [output.dtype for output in outputs])


def _scale(wanted: Tensor) -> float:
    return float(wanted.abs().max()) if wanted.numel() and wanted.dtype != torch.bool else 0.0


def _error(output: Tensor, wanted: Tensor) -> float:
    """The largest difference; infinite where one of the two is not finite and the other is."""
    if not wanted.numel():
        return 0.0
    if output.is_complex() or not output.is_floating_point():
        return float((output != wanted.to(output.dtype)).sum())
    if not bool(torch.equal(output.isfinite(), wanted.isfinite())):
        return math.inf
    return float((output.double() - wanted.double()).abs().nan_to_num(0.0, 0.0, 0.0).max())


def _difference(one: Known, changed: Any, device: str) -> str:
    """How a mutant's answer is wrong on an input; "" where it is not."""
    try:
        outputs = _outputs(changed, one.drawn, device)
        if device != "cpu":
            torch.cuda.synchronize()
    except torch.AcceleratorError:
        raise  # this process is of no use any more
    except Exception as error:
        return f"raises {type(error).__name__}"
    if [tuple(o.shape) for o in outputs] != [tuple(e.shape) for e in one.expected]:
        return "another shape"
    for output, wanted, own, dtype in zip(outputs, one.expected, one.own, one.dtypes, strict=True):
        if output.dtype != dtype:
            return "another dtype"
        least = torch.finfo(dtype).eps * _scale(wanted) if dtype.is_floating_point else 0.0
        error = _error(output, wanted)
        if error > TIMES * max(own, least):
            return f"off by {error:.2g} of {_scale(wanted):.2g}, the kernel itself by {own:.2g}"
    return ""


def main(words: list[str], say: Callable[[str], None] = lambda line: print(line, flush=True)) -> None:
    name, count, at_most, *numbers = words
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.set_num_threads(1)  # many of these run at once, one for each core
    subject = next(one for one in subjects() if one.name == name)
    with contextlib.redirect_stdout(sys.stderr):
        for row in decided(subject, [int(number) for number in numbers], int(count), int(at_most), device):
            say(json.dumps(row))


if __name__ == "__main__":
    said = sys.stdout
    main(sys.argv[1:], lambda line: print(line, file=said, flush=True))
