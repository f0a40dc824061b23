"""The process that compiles baselines before they are timed. Inductor's caches then have the results for the judge.

The baselines run on fake tensors, so nothing of them runs on the GPU, and no memory is taken. Where Inductor measures
which kernel is faster, it does so on the GPU, and that takes the lease. What fails here fails again in the judge, which
reports it. The process executes the user's problem file but no candidate code, and is killed after use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode, unset_fake_temporarily

from kernelwright import codec
from kernelwright.model import Case
from kernelwright.worker.ahead.messages import CompileAhead
from kernelwright.worker.plan.library import allow_tf32
from kernelwright.worker.processes.channel import Channel, Done
from kernelwright.worker.processes.lease import Lease
from kernelwright.worker.reference.baseline import mode_of
from kernelwright.worker.reference.derive import load_with_cases
from kernelwright.worker.reference.load import LoadedProblem
from kernelwright.worker.reference.unmade import casting


def main(channel: Channel, options: dict[str, Any]) -> None:
    channel.send(Done(value=compile_ahead(codec.record(channel.receive(30.0), CompileAhead))))


def compile_ahead(job: CompileAhead) -> list[str]:
    """Compile every baseline of every wanted case; returns why some could not be."""
    problem, _ = load_with_cases(job.path, "kept", job.cases)
    allow_tf32(problem.precision == "tf32")
    lease = Lease(job.gpu)
    prepare(lease)
    failures = []
    for case in problem.cases:
        for name in job.names if case.name in job.wanted else ():
            try:
                compile_one(problem, case, job.wanted[case.name], name, job.device)
            except Exception as error:  # noqa: BLE001 - Inductor raises errors of many kinds
                failures.append(f"{name}, case {case.name}: {type(error).__name__}: {error}"[:400])
            finally:
                if lease.is_held:
                    lease.release()
    return failures


def compile_one(problem: LoadedProblem, case: Case, dtype: str | None, name: str, device: str) -> None:
    """Run a baseline on fake tensors. Raises whatever the problem or Inductor raises."""
    from torch._inductor import list_mode_options
    from torch._inductor.compile_fx import compile_fx

    mode = mode_of(name)
    options = list_mode_options(mode) if mode is not None else None

    def compiled(graph: torch.fx.GraphModule, given: list[Tensor]) -> Callable[..., Any]:
        with unset_fake_temporarily():
            compile_fx(graph, given, config_patches=options)
        forward: Callable[..., Any] = graph.forward
        return forward

    torch._dynamo.reset()
    with FakeTensorMode(allow_non_fake_inputs=True), casting(), torch.no_grad():
        instance = problem.instance(case, seed=0, device=device, dtype=dtype)
        args, named = instance.called()
        torch.compile(instance.module, backend=compiled)(*args, **named)


def prepare(lease: Lease) -> None:
    """Have Inductor take the lease before it measures, and compile without it as far as possible. Call once per
    process.

    It compiles all choices for an operator, and then measures them in one go. Later it measures fused kernels one by
    one, and compiles each before that. With a turn for each it would wait long where several runs use the GPU, so the
    caller releases the lease when the graph is done. Inductor's pool of processes does not say which choices need too
    much shared memory: each of them would be compiled again while it is measured (a product with four of them took 49 s
    in place of 2). So threads of this process compile the choices.
    """
    from torch._inductor import config
    from torch._inductor.runtime.benchmarking import benchmarker
    from torch._inductor.select_algorithm import AlgorithmSelectorCache

    of_choices, of_one = AlgorithmSelectorCache.benchmark_in_current_process, benchmarker.benchmark_gpu
    compiled = AlgorithmSelectorCache.make_precompile_fn

    def choices_compiled(*args: Any, **kwargs: Any) -> Any:
        with config.patch(compile_threads=1):
            return compiled(*args, **kwargs)

    def choices_measured(*args: Any, **kwargs: Any) -> Any:
        with lease:
            return of_choices(*args, **kwargs)

    def one_measured(*args: Any, **kwargs: Any) -> Any:
        if not lease.is_held:
            lease.acquire()
        return of_one(*args, **kwargs)

    for holder, name, measure in (
        (AlgorithmSelectorCache, "make_precompile_fn", choices_compiled),
        (AlgorithmSelectorCache, "benchmark_in_current_process", staticmethod(choices_measured)),
        (benchmarker, "benchmark_gpu", one_measured),
    ):
        setattr(holder, name, measure)
