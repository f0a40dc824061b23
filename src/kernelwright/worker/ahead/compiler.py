"""The process that compiles baselines before they are timed. The judge finds the results in the caches of Inductor and
Triton.

The baselines run on fake tensors: nothing of them runs on the GPU, and it only loads compiled kernels. Nothing is
measured here. Where Inductor is about to measure (whether padding pays, which template is fastest), everything that it
would measure is compiled, and the judge does the rest. The judge also does whatever fails here, such as a module that
reads values. The process executes the user's problem file but no candidate code, and is killed after use.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from typing import Any, NoReturn

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode, unset_fake_temporarily

from kernelwright import codec
from kernelwright.model import AS_KEPT, Case
from kernelwright.worker.ahead.messages import CompileAhead
from kernelwright.worker.plan.library import allow_tf32
from kernelwright.worker.processes.channel import Channel, Done
from kernelwright.worker.processes.commands import Options
from kernelwright.worker.reference.baseline import mode_of
from kernelwright.worker.reference.derive import load_with_cases
from kernelwright.worker.reference.load import LoadedProblem
from kernelwright.worker.reference.unmade import casting


class Measuring(BaseException):
    """Inductor is about to measure. It is no `Exception`, so that no handler in between catches it."""


def main(channel: Channel, options: Options) -> None:
    channel.send(Done(value=compile_ahead(codec.record(channel.receive(30.0), CompileAhead))))


def compile_ahead(job: CompileAhead) -> list[str]:
    """Compile every baseline of every wanted case; returns why some could not be."""
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = str(job.cores)  # read by Inductor when it is imported
    problem, _ = load_with_cases(job.path, AS_KEPT, job.cases)
    allow_tf32(problem.precision == "tf32")
    stop_before_measuring()
    failures = []
    for case in problem.cases:
        for name in job.names if case.name in job.wanted else ():
            try:
                compile_one(problem, case, name, job.device)
            except Exception as error:  # noqa: BLE001 - Inductor raises errors of many kinds
                failures.append(f"{name}, case {case.name}: {type(error).__name__}: {error}"[:400])
    return failures


def compile_one(problem: LoadedProblem, case: Case, name: str, device: str) -> None:
    """Run a baseline on fake tensors. Raises whatever the problem or Inductor raises."""
    from torch._inductor import compile_fx, list_mode_options

    mode = mode_of(name)
    options = list_mode_options(mode) if mode is not None else None

    def compiled(graph: torch.fx.GraphModule, given: list[Tensor]) -> Callable[..., Any]:
        with unset_fake_temporarily(), contextlib.suppress(Measuring):
            compile_fx.compile_fx(graph, given, config_patches=options)
        forward: Callable[..., Any] = graph.forward
        return forward

    torch._dynamo.reset()
    with FakeTensorMode(allow_non_fake_inputs=True), casting(), torch.no_grad():
        instance = problem.instance(case, seed=0, device=device)
        args, named = instance.called()
        torch.compile(instance.module, backend=compiled)(*args, **named)


def stop_before_measuring() -> None:
    """Have Inductor stop where it is about to measure, after it has compiled what it would measure. Call once per
    process.

    Inductor's pool of processes does not say which choices need too much shared memory, and compiles each of them again
    when its turn to be measured comes (a product with four of them took 49 s in place of 2). So threads compile them
    here, and Triton's cache has them.
    """
    from torch._inductor import config
    from torch._inductor.runtime.benchmarking import benchmarker
    from torch._inductor.select_algorithm import AlgorithmSelectorCache

    own, pending = AlgorithmSelectorCache.make_precompile_fn, list[Callable[[], object]]()

    def choices_compiled(*args: Any, **kwargs: Any) -> Callable[[], object]:
        with config.patch(compile_threads=1):
            wait: Callable[[], object] = own(*args, **kwargs)
        pending.append(wait)
        return wait

    def stop(*_: object, **__: object) -> NoReturn:
        while pending:
            pending.pop()()
        raise Measuring

    for holder, name, replacement in (
        (AlgorithmSelectorCache, "make_precompile_fn", choices_compiled),
        (AlgorithmSelectorCache, "benchmark_in_current_process", staticmethod(stop)),
        (benchmarker, "benchmark_gpu", stop),
    ):
        getattr(holder, name)  # raises AttributeError where this version of torch does not have it
        setattr(holder, name, replacement)
