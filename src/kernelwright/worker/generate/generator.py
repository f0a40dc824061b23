"""The generator process: Inductor generates code for a problem there, as records. None of it runs.

The process executes the user's problem file, as the judge does, but no candidate code. It is killed after use.
"""

from __future__ import annotations

import os

import torch

from kernelwright import codec
from kernelwright.devices import find_target
from kernelwright.errors import ProblemError
from kernelwright.model import AS_KEPT, Case, Generated
from kernelwright.worker.generate.messages import Generate
from kernelwright.worker.judge.usable import refuse_random
from kernelwright.worker.plan.library import allow_tf32
from kernelwright.worker.processes.channel import Channel, Done, Fault
from kernelwright.worker.processes.commands import Options
from kernelwright.worker.reference.derive import load_with_cases
from kernelwright.worker.reference.instance import accepted, cast, outputs
from kernelwright.worker.reference.load import LoadedProblem


def main(channel: Channel, options: Options) -> None:
    job = codec.record(channel.receive(30.0), Generate)
    try:
        channel.send(Done(value=codec.plain(generate(job))))
    except ProblemError as error:
        channel.send(Fault(message=str(error), of_problem=True))


def generate(job: Generate) -> Generated:
    """Captures of the problem, or the reason why there are none. Raises `ProblemError`."""
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = job.cache
    problem, _ = load_with_cases(job.path, AS_KEPT, job.cases)
    base = captured_case(problem)
    small = next((case for case in problem.cases if case.small), None)
    if small is not None and (random := problem.random_operators(base)):
        drawn = problem.instance(small, seed=0)  # an operator may have a seed and draw nothing
        if accepted(lambda: outputs(cast(drawn, "float64"))) is not None:  # forward may be for GPUs only
            refuse_random(drawn, random)
    outline = problem.outline(base)
    named = list(zip(outline.input_names, outline.inputs, strict=True))
    inputs = tuple((name, None if isinstance(value, torch.Tensor) else repr(value))
                   for name, value in named[: len(named) - outline.joint])  # fmt: skip
    # Importing Inductor takes seconds, so it is imported here and not by every fork server.
    from kernelwright.worker.generate.capture import prepare
    from kernelwright.worker.generate.device import pretend
    from kernelwright.worker.generate.series import Series

    pretend(find_target(job.target))
    prepare()
    allow_tf32(problem.precision == "tf32")
    series = Series(problem, base, job.limit_s)
    captures = series.ordinary()
    if not captures:
        return Generated(reason="; ".join(series.faults.values()))
    structures = series.structures(captures[0])
    templates = series.templates() if any(one.library_calls for one in captures[0].parts) else ()
    return Generated(
        captures=captures,
        structures=structures,
        templates=templates,
        rows=series.rows(captures[0], templates),
        inputs=inputs,
        mutates=outline.mutates,
        arguments=outline.arguments,
        returns=problem.specs(base).returns,
        precision=problem.precision,
        torch=str(torch.__version__),
        reason="; ".join(f"{name}: {fault}" for name, fault in series.faults.items()),
    )


def captured_case(problem: LoadedProblem) -> Case:
    """The first timed case in which every number that differs between cases is larger than 1, else the first timed one:
    PyTorch broadcasts sides of length 1, so that they cannot be symbols."""
    numbers = {case.name: problem.numbers(case) for case in problem.cases}
    differ = {name for one in numbers.values() for name, value in one.items()
              if any(other.get(name) != value for other in numbers.values())}  # fmt: skip
    timed = [case for case in problem.cases if case.timed]
    return next((case for case in timed if all(numbers[case.name].get(name) != 1 for name in differ)), timed[0])
