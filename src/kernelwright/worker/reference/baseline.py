"""The framework baselines of a problem, prepared for timing: eager and `torch.compile`.

The judge times them, because it has the reference, with the same clock as the candidates. Each baseline is timed as a
CUDA graph and as plain calls, and the faster counts. Inputs that it changes are restored in the same way as a
candidate's.
"""

from __future__ import annotations

import gc
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from kernelwright.errors import ProblemError
from kernelwright.worker.clock import clock
from kernelwright.worker.clock.captured import Captured
from kernelwright.worker.clock.clock import Restore
from kernelwright.worker.reference.gradients import Joint, compiled_forward
from kernelwright.worker.reference.instance import Instance, mutated, with_tensors


class Baselines:
    """The prepared baselines, by name, and the instances that they are timed on, by case."""

    def __init__(self) -> None:
        self.timed: dict[str, clock.Timed] = {}
        self.instances: dict[str, Instance] = {}

    def prepare(self, case: str, name: str, case_bytes: int, least_bytes: int, restored: bool = False) -> Captured:
        """Prepare a baseline for timing.

        case: whose instance is in `instances`, on the GPU; its inputs are not changed. case_bytes: of the inputs,
        parameters and outputs of one call. least_bytes: see `clock.sets_needed`. restored: whether inputs that forward
        changes are restored before each call.
        """
        instance = self.instances[case]
        free, _ = torch.cuda.mem_get_info()
        count = clock.sets_needed(case_bytes, torch.cuda.get_device_properties(0).L2_cache_size, free, least_bytes)
        module = compiled(instance.module, name)
        sets = [
            instance if not (instance.mutates or number) else with_tensors(instance, Tensor.clone)
            for number in range(count)
        ]
        if instance.mutates and not restored:
            check_repeatable(module, sets[0])

        def timed_on(sets: list[Instance]) -> clock.Timed:
            changed = [list(mutated(one).values()) for one in sets]
            restore = Restore(list(mutated(instance).values()), changed) if restored else None
            with torch.no_grad():
                pieces = [_piece(module, *one.called(), keeps=len(sets) > 1) for one in sets]
                return clock.Timed(pieces, either=True, restore=restore)

        timed = timed_on(sets)
        if restored:
            free, _ = torch.cuda.mem_get_info()
            more = clock.sets_for_a_sample(timed.sample_us(), case_bytes, free) - count
            if more > 0:
                sets += [with_tensors(instance, Tensor.clone) for _ in range(more)]
                timed = timed_on(sets)
        torch.cuda.empty_cache()  # releases the memory of a graph that was slower than plain calls
        self.timed[name] = timed
        return timed.prepare(len(sets))

    def capture_again(self, name: str) -> None:
        """Capture a prepared baseline again, with the rotating input sets in the opposite order."""
        with torch.no_grad():
            timed = self.timed[name].again()
        torch.cuda.empty_cache()
        timed.warm_up()
        self.timed[name] = timed

    def forget(self) -> None:
        """Free all prepared baselines: the judge needs their memory. What refers to itself is only freed by `gc`."""
        self.timed.clear()
        self.instances.clear()
        gc.collect()
        torch.cuda.empty_cache()


def check_repeatable(module: Any, instance: Instance) -> None:
    """Raise `ProblemError` if a second call leaves other values in the changed inputs than the first call.

    Changes the instance's inputs.
    """
    left = []
    for _ in range(2):
        with torch.no_grad():
            args, named = instance.called()
            module(*args, **named)
        left.append([tensor.clone() for tensor in mutated(instance).values()])
    for name, one, other in zip(mutated(instance), *left, strict=True):
        if not torch.equal(one.nan_to_num(), other.nan_to_num()):
            raise ProblemError(
                f"{instance.file}: forward leaves other values in {name} when it is called again, although its "
                f"operators do not read {name}",
                "pass all values that forward depends on as inputs, from get_inputs",
            )


def _piece(module: Any, args: Sequence[Any], named: Mapping[str, Any], keeps: bool = True) -> clock.Piece:
    """A call that keeps its output until the next call.

    If the output were freed at once, the next piece would reuse its memory, and outputs would stay in L2 from call to
    call. A candidate's outputs rotate with its inputs. keeps: False where there is one set, as a call moves many times
    the L2 cache or memory affords no second one (`clock.sets_needed`): a second output of several GB may not fit.
    """
    kept: list[Any] = []

    def call() -> None:
        with torch.no_grad():
            output = module(*args, **named)
        kept[:] = [output] if keeps else []

    return call


def compiled(module: torch.nn.Module, name: str) -> Any:
    """The module as a baseline. name: eager, compile or compile_max_autotune."""
    if name == "eager":
        return module
    torch._dynamo.reset()
    mode = mode_of(name)
    return compiled_forward(module, mode) if isinstance(module, Joint) else torch.compile(module, mode=mode)


def mode_of(name: str) -> str | None:
    """Mode of `torch.compile` for the baseline compile or compile_max_autotune; None for the default one."""
    return None if name == "compile" else "max-autotune-no-cudagraphs"
