"""A program: whether candidates give what the models of their problems give, on the CPU in one draw of each small case.

    python small_cases.py [--adversarial] CANDIDATE PROBLEM …

--adversarial: also where inputs have very large values and rows of zeros, and where sums of products are negative and
one input has infinities and NaN.

All cases where none is small. Not a verification: no sandbox, no backward, and few draws. With TRITON_INTERPRET=1
kernels run without a GPU.
"""

from __future__ import annotations

import importlib.util
import sys
import warnings
from collections.abc import Sequence
from types import ModuleType, SimpleNamespace

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from kernelwright.source.parameter_names import as_argument
from kernelwright.worker.reference.instance import Instance, cast, outputs
from kernelwright.worker.reference.load import load_problem
from kernelwright.worker.reference.values import AS_GIVEN, NEGATIVE, OUTLIER, ROWS, SPECIAL_ONE, redraw

GIVEN: tuple[str, ...] = (AS_GIVEN,)
ADVERSARIAL = ((OUTLIER, ROWS), (NEGATIVE, SPECIAL_ONE))
"""Draws: the changes of the inputs as given, one after the other."""

ROUNDINGS = 8
"""How often an output may be rounded as the framework rounds it: a kernel sums in another order, rounds between steps
where the framework does not, and approximates functions by others."""


def loaded(file: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location("loaded", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def made(candidate: ModuleType, instance: Instance) -> list[Tensor]:
    """What the candidate's function returns, then the inputs that it changes in place."""
    held = [*instance.module.named_parameters(), *instance.module.named_buffers()]
    values = {as_argument(name): one.detach() for name, one in held}
    positional, keywords = instance.called()
    values |= dict(zip(instance.init_names, instance.init_inputs, strict=False))
    values |= dict(zip(instance.input_names, instance.inputs, strict=True)) | keywords
    function = candidate.kernel_function
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    values |= dict(zip(names, positional, strict=False)) if instance.arguments else {}
    returned = [one for one in tree_leaves(function(**{name: values[name] for name in names})) if one is not None]
    return [*returned, *(values[name] for name in instance.mutates)]


def differs(found: Tensor, own: Tensor, exact: Tensor) -> str:
    """How an output differs from the framework's `own` by more than rounding does, "" if it does not. exact: in
    float64. Where rounding makes the framework's output infinite, or another whole number, any will do; where it is
    exactly infinite or NaN, one of these."""
    if (found.shape, found.dtype) != (own.shape, own.dtype):
        return f"{found.dtype} {tuple(found.shape)} in place of {own.dtype} {tuple(own.shape)}"
    if not own.is_floating_point():
        wrong = (found != own) & (own == exact)
        return f"{int(wrong.sum())} of {own.numel()} values differ" if wrong.any() else ""
    finite = own.isfinite() & exact.isfinite()
    error, largest = ((own - exact)[finite].abs().max(), exact[finite].abs().max()) if finite.any() else (0.0, 0.0)
    limit = ROUNDINGS * (error + torch.finfo(own.dtype).eps * largest)
    wrong = torch.where(finite, ~((found - exact).abs() <= limit), found.isfinite() & ~exact.isfinite())
    if not wrong.any():
        return ""
    pairs = [f"{a:g} for {b:g}" for a, b in zip(found[wrong][:4].tolist(), own[wrong][:4].tolist(), strict=True)]
    return f"{int(wrong.sum())} of {own.numel()} elements, such as {', '.join(pairs)}; allowed {float(limit):g}"


def compare(candidate: str, problem: str, draws: Sequence[Sequence[str]]) -> None:
    reference, module = load_problem(problem), loaded(candidate)
    for case in [one for one in reference.cases if one.small] or reference.cases:
        for changes in draws:
            instance = reference.instance(case, seed=0)
            for change in changes:
                redraw(instance.inputs, change, 0)
            own, exact = outputs(instance), outputs(cast(instance, "float64"))
            for place, values in enumerate(zip(made(module, instance), own, exact, strict=True)):
                if changes != GIVEN and not values[1].is_floating_point():
                    continue  # of equal values, and of NaN, any may be chosen
                assert not (why := differs(*values)), f"{candidate}, {case.name}, {changes}: output {place}: {why}"


if __name__ == "__main__":
    warnings.simplefilter("ignore", RuntimeWarning)  # NumPy computes with infinities too
    torch.set_grad_enabled(False)
    gpu = SimpleNamespace(major=9, multi_processor_count=2)  # few, so that a program computes several tiles
    torch.cuda.get_device_properties = lambda device=None: gpu  # type: ignore[assignment, return-value]
    words = [word for word in sys.argv[1:] if word != "--adversarial"]
    for candidate, problem in zip(words[::2], words[1::2], strict=True):
        compare(candidate, problem, (GIVEN, *ADVERSARIAL) if "--adversarial" in sys.argv else (GIVEN,))
