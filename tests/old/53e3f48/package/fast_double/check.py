"""`python -m PACKAGE.check`: does this package work here? Imports, falls back, holds PyTorch's rules for operators and
gradients; on the GPU it was measured on, also whether the kernel is right where it is used, in a graph and compiled.

Not a proof of the kernel (`kernelwright recheck` judges it on secret inputs). The rule: each check is a function that
raises AssertionError with what was found; a check that needs a GPU is left out without one, and said to be.
"""

from __future__ import annotations

import sys
from functools import partial

import torch

from . import arguments, instance, op, reference, wins
from .dispatch import MEASURED, device_name
from .module import Module

ALLOWED = 16.0
"""Times the framework's own error in the same dtype, as kernelwright allows in float32."""


def the_fallback_is_the_reference():
    case = instance.smallest()
    init, inputs = instance.drawn(case, "cpu")
    ours, theirs = (instance.module(of, init, "cpu", case["dtype"]) for of in (Module, reference.Model))
    with torch.no_grad():
        for one, other in zip(outputs(ours(*inputs)), outputs(theirs(*inputs)), strict=True):
            assert torch.equal(torch.nan_to_num(one), torch.nan_to_num(other)), (
                "the fallback differs from the reference"
            )


def the_operator_keeps_the_rules():
    """PyTorch's own checks: schema, fake tensors, autograd registration, tracing."""
    torch.library.opcheck(op.call.default, operator_arguments(torch.float32, gradients=True))


def gradients_are_those_of_the_reference():
    given = operator_arguments(torch.float64, gradients=True)
    leaves = [tensor for tensor in op.tensors_in(given) if tensor.requires_grad]
    found = gradients_of(op.call(*given), leaves)
    expected = gradients_of(op.by_reference(*given), leaves)
    for one, other in zip(found, expected, strict=True):
        assert (one is None) == (other is None), "a gradient is missing, or there should be none"
        if other is not None:
            far = (one - other).abs().max().item()
            assert far <= 1e-8 * max(1.0, other.abs().max().item()), f"a gradient is off by {far:.3g}"


def a_graph_of_torch_compile_gives_the_same():
    case = instance.smallest()
    init, inputs = instance.drawn(case, "cpu")
    ours, theirs = (instance.module(of, init, "cpu", case["dtype"]) for of in (Module, reference.Model))
    compiled = torch.compile(ours, fullgraph=True, backend="aot_eager")
    with torch.no_grad():
        for one, other in zip(outputs(compiled(*inputs)), outputs(theirs(*inputs)), strict=True):
            assert torch.allclose(one, other, equal_nan=True), "compiled, the fallback differs from the reference"


def the_kernel_is_right_where_it_is_used():
    for ours, inputs, exact, own in winning():
        with torch.no_grad():
            close(ours(*inputs), exact, own)


def the_kernel_is_right_in_a_cuda_graph():
    for ours, inputs, exact, own in winning(graphs=True):
        with torch.no_grad():
            ours(*inputs)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                result = ours(*inputs)
            graph.replay()
            torch.cuda.synchronize()
            close(result, exact, own)


def the_kernel_is_right_when_compiled():
    for ours, inputs, exact, own in winning("compiled", graphs=True, most=3):
        compiled = torch.compile(ours, fullgraph=True)
        with torch.no_grad():
            close(compiled(*inputs), exact, own)
        torch.compiler.reset()


ANYWHERE = (
    the_fallback_is_the_reference,
    the_operator_keeps_the_rules,
    gradients_are_those_of_the_reference,
    a_graph_of_torch_compile_gives_the_same,
)
ON_THE_GPU = (
    the_kernel_is_right_where_it_is_used,
    the_kernel_is_right_in_a_cuda_graph,
    the_kernel_is_right_when_compiled,
)


def measured_here():
    return torch.cuda.is_available() and device_name(torch.cuda.current_device()) == MEASURED.device


def winning(regime="eager", graphs=False, most=8):
    """Cases where the dispatcher takes the kernel: (module, inputs, float64 outputs, the framework's errors).

    graphs: as of `Module`, which then takes it where it takes it without, and elsewhere.
    """
    of, why = partial(Module, graphs=graphs), wins.WHY["graphs" if graphs else "calls"]
    for case in [case for case in MEASURED.cases if case[why][regime] == "faster"][:most]:
        init, inputs = instance.drawn(case, "cuda")
        ours = instance.module(of, init, "cuda", case["dtype"])
        theirs = instance.module(reference.Model, init, "cuda", case["dtype"])
        answer, reason, _ = ours.fast_state.judged(inputs, regime)
        assert answer, f"case {case['case']} won when it was measured and is not used now: {reason}"
        exact = exactly(theirs, inputs)
        with torch.no_grad():
            own = [error(one, other) for one, other in zip(outputs(theirs(*inputs)), exact, strict=True)]
        yield ours, inputs, exact, own


def exactly(theirs, inputs):
    """The reference in float64; `theirs` stays as it is."""
    import copy

    wide = [one.double() if isinstance(one, torch.Tensor) and one.is_floating_point() else one for one in inputs]
    with torch.no_grad():
        return outputs(copy.deepcopy(theirs).double()(*wide))


def error(one, exact):
    return (one.double() - exact.double()).abs().max().item()


def close(result, exact, own):
    for one, wanted, allowed in zip(outputs(result), exact, own, strict=True):
        floor = torch.finfo(one.dtype).eps * wanted.abs().max().item() if one.is_floating_point() else 0.0
        far = error(one, wanted)
        assert far <= ALLOWED * max(allowed, floor), f"off by {far:.3g}, the framework by {allowed:.3g}"


def operator_arguments(dtype, gradients):
    """Arguments of the operator on the CPU, from the smallest case."""
    case = instance.smallest()
    init, inputs = instance.drawn(case, "cpu")
    made = instance.module(reference.Model, init, "cpu", None)
    held = [instance.found(made, name) for name in arguments.PARAMETERS]

    def leaf(value):
        if not isinstance(value, torch.Tensor) or not value.is_floating_point():
            return value
        return value.detach().to(dtype).clone().requires_grad_(gradients)

    leaves, parameters = [leaf(value) for value in inputs], [leaf(value) for value in held]
    return arguments.operator_arguments(leaves, parameters, repr(init))


def gradients_of(result, leaves):
    torch.manual_seed(0)
    pairs = [(one, torch.randn_like(one)) for one in outputs(result) if one.requires_grad]
    if not pairs:
        return [None for _ in leaves]
    ones, grads = zip(*pairs, strict=True)
    return torch.autograd.grad(ones, leaves, grads, allow_unused=True)


def outputs(result):
    return [result] if isinstance(result, torch.Tensor) else list(result)


def main():
    failed = 0
    for one in (*ANYWHERE, *(ON_THE_GPU if measured_here() else ())):
        name = one.__name__.replace("_", " ")
        try:
            one()
        except Exception as error:  # each check is reported; what went wrong is its answer
            failed += 1
            print(f"FAILED  {name}: {type(error).__name__}: {error}")
        else:
            print(f"ok      {name}")
    if not measured_here():
        print(f"left out: the checks of the kernel itself, which were to run on {MEASURED.device or 'a GPU'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
