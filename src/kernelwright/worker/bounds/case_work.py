"""The least work of one case of a problem, with index values from a random draw if they matter and are affordable."""

from __future__ import annotations

import torch

from kernelwright.errors import ProblemError
from kernelwright.model import Case, TensorSpec
from kernelwright.worker.bounds.work import Work, least_work, taped
from kernelwright.worker.reference.instance import Specs, compulsory_bytes, is_out_of_memory
from kernelwright.worker.reference.load import LoadedProblem

CPU_BYTES, CPU_FLOP = 1 << 24, 10**9
"""Limits up to which a case is computed without a GPU; this takes a second or two."""

CPU_INPUT_BYTES = 1 << 26
"""Limit up to which the inputs of a larger case are made without a GPU, to get its indices."""


def case_work(problem: LoadedProblem, case: Case, specs: Specs, seed: int, device: str) -> Work:
    """The least work of `case`: derived on fake tensors first and, if an index matters, on inputs of `seed`.

    Different seeds touch different rows, but nearly the same number of rows. Without a GPU, a large case gets values of
    its whole-number inputs only. If values are missing, `Work.assumed` says what was assumed in their place.
    """
    work = problem.least_work(case)
    is_too_large = compulsory_bytes(specs) > CPU_BYTES or sum(work.flop.values()) > CPU_FLOP
    if not work.depends_on_values:
        return work
    if device == "cpu" and is_too_large:
        taken = Specs(inputs=specs.inputs, outputs=(), parameters={})
        if compulsory_bytes(taken) > CPU_INPUT_BYTES:
            return work
        return problem.least_work(case, problem.whole_numbers(case, seed=seed))
    try:
        call = taped(problem.instance(case, seed=seed, device=device))
    except (
        ProblemError
    ) as error:  # no half-precision kernel on the CPU, or no memory: the caller meets it where it matters
        if device == "cpu" or is_out_of_memory(error):
            return work
        raise
    except torch.OutOfMemoryError:
        return work
    finally:
        if device != "cpu":
            torch.cuda.empty_cache()
    return least_work(call)


def flop_stated(flop: int, derived: dict[str, int], specs: Specs) -> dict[str, int]:
    """A stated number of FLOP, divided by dtype in the same shares as the products of forward. Without products, all
    FLOP count in the narrowest floating-point dtype of the case, which has the highest rate."""
    counted = sum(derived.values())
    if counted:
        shares = {dtype: flop * count // counted for dtype, count in derived.items()}
        largest = max(shares, key=lambda dtype: shares[dtype])
        return shares | {largest: shares[largest] + flop - sum(shares.values())}
    tensors = [
        spec for spec in (*specs.inputs, *specs.parameters.values(), *specs.outputs) if isinstance(spec, TensorSpec)
    ]
    dtypes = [getattr(torch, spec.dtype) for spec in tensors]
    floating = [dtype for dtype in dtypes if dtype.is_floating_point]
    narrowest = min(floating, key=lambda dtype: dtype.itemsize, default=torch.float32)
    return {str(narrowest).removeprefix("torch."): flop} if flop else {}
