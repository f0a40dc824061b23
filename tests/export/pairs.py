"""Uses exported packages of a forward with its backward as a program would, on the CPU: run in a process of its own,
says what came of it as JSON.

Triton interprets here, `wins.json` says "cpu", and the operators run the kernels there too, so that they are taken
without a GPU. Not a test: test_pair.py is.
"""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Callable
from typing import Any

import fast_add_rms_norm
import fast_cross_entropy
import fast_swiglu
import torch

FOUND: dict[str, Any] = {}
CALLS: list[str] = []
PACKAGES = (fast_swiglu, fast_add_rms_norm, fast_cross_entropy)


def part(package: Any, name: str) -> Any:
    return sys.modules[f"{package.__name__}.{name}"]


def on_cpu(package: Any) -> None:
    """Let the operator run the kernels here, and note its calls of the candidate."""
    part(package, "outline").KERNEL_DEVICES = ("cpu",)
    built = part(package, "kernel_host").Built

    class Noted(built):  # type: ignore[misc,valid-type]
        def __init__(self, init: Any) -> None:
            super().__init__(init)
            forward, backward = self.function, self.backward
            self.function = lambda *given: (CALLS.append("forward"), forward(*given))[1]
            self.backward = lambda *given: (CALLS.append("backward"), backward(*given))[1]

    part(package, "kernel_host").Built = part(package, "dispatch").Built = Noted


def called(use: Callable[[], Any]) -> list[str]:
    """What of the candidate was called meanwhile."""
    CALLS.clear()
    use()
    return list(CALLS)


def leaves(*tensors: torch.Tensor) -> list[torch.Tensor]:
    return [one.detach().clone().requires_grad_(one.is_floating_point()) for one in tensors]


def same(ones: Any, others: Any) -> bool:
    return all(torch.allclose(one, other, 1e-4, 1e-5) for one, other in zip(ones, others, strict=True))


def step(module: Any, *given: torch.Tensor, weights: tuple[torch.Tensor, ...] = ()) -> list[torch.Tensor]:
    """Outputs, and the gradients of a loss that weighs all of them."""
    result = module(*given)
    outputs = [result] if isinstance(result, torch.Tensor) else list(result)
    wanted = [one for one in (*given, *weights) if one.requires_grad]
    loss = sum((one * torch.arange(1.0, one.numel() + 1).view(one.shape).sin()).sum() for one in outputs)
    return [*outputs, *torch.autograd.grad(loss, wanted)]


def use_swiglu() -> None:
    module, theirs = fast_swiglu.Module(), fast_swiglu.reference.Model()
    gate, up = torch.randn(7, 300), torch.randn(7, 300)
    given = leaves(gate, up)
    FOUND["training"] = [called(lambda: step(module, *given)), same(step(module, *given), step(theirs, *given))]
    FOUND["a step is made by"] = module(*given).grad_fn.name()
    FOUND["no gradient wanted"] = called(lambda: module(gate, up))
    with torch.no_grad():
        FOUND["no_grad"] = called(lambda: module(*given))
        FOUND["no_grad is right"] = same([module(*given)], [theirs(*given)])
    FOUND["a part wants one"] = called(lambda: step(module, given[0], up))
    FOUND["a part is right"] = same(step(module, given[0], up), step(theirs, given[0], up))
    other = leaves(torch.randn(5, 300), torch.randn(5, 300))
    FOUND["forward wins, both lose"] = [
        called(lambda: step(module, *other)),
        called(lambda: module(*map(torch.clone, [one.detach() for one in other]))),
    ]
    wide = leaves(torch.randn(9, 300), torch.randn(9, 300))
    FOUND["both win, forward loses"] = [
        called(lambda: step(module, *wide)),
        called(lambda: module(*[one.detach() for one in wide])),
    ]
    FOUND["unknown size"] = called(lambda: step(module, *leaves(torch.randn(3, 8), torch.randn(3, 8))))
    strided = torch.randn(300, 7).t().requires_grad_()
    FOUND["strided"] = called(lambda: step(module, strided, given[1]))
    FOUND["torch.func.grad"] = called(lambda: torch.func.grad(lambda one: module(one, up).sum())(gate))
    loss = module(*given).sum()  # the gradient of the output is expanded, not dense
    FOUND["an expanded gradient"] = same(
        torch.autograd.grad(loss, given), torch.autograd.grad(theirs(*given).sum(), given)
    )
    result = module(*given).sum()
    first = torch.autograd.grad(result, given, retain_graph=True)
    FOUND["twice"] = same(first, torch.autograd.grad(result, given))
    try:
        torch.autograd.grad(module(*given).sum(), given, create_graph=True)
        FOUND["second derivative"] = ""
    except RuntimeError as error:
        FOUND["second derivative"] = str(error)
    FOUND["explained"] = fast_swiglu.explain(module, gate, up)
    twin = copy.deepcopy(module)
    FOUND["a copy is right"] = same(step(twin, *given), step(theirs, *given))
    refuses(module, given, theirs)


def refuses(module: Any, given: list[torch.Tensor], theirs: Any) -> None:
    """A candidate whose host code refuses what it is given."""
    kernel = part(fast_swiglu, "kernel_host").built([])
    function = kernel.function
    refusing: dict[str, Any] = {"__name__": "fast_swiglu.kernel"}
    exec("def refuse(*given):\n    raise ValueError('not these sizes')", refusing)
    kernel.function = refusing["refuse"]
    FOUND["refused"] = same(step(module, *given), step(theirs, *given))
    kernel.function = function


def use_operator() -> None:
    """The operator itself, which does not choose, and gives gradients to those that want one."""
    call = part(fast_swiglu, "op").served
    theirs = fast_swiglu.reference.Model()
    gate, up = torch.randn(4, 33), torch.randn(4, 33)
    given = leaves(gate, up)
    FOUND["operator"] = [called(lambda: step(call, *given)), same(step(call, *given), step(theirs, *given))]
    FOUND["operator, a part"] = [same(step(call, gate, given[1]), step(theirs, gate, given[1]))]
    FOUND["operator, strided"] = same(
        step(call, leaves(gate)[0], up.t().contiguous().t()), step(theirs, leaves(gate)[0], up)
    )
    for package in PACKAGES:
        op, check = part(package, "op"), sys.modules[f"{package.__name__}.check"]
        operands = check.operator_arguments(torch.float32, gradients=True)
        FOUND[f"opcheck of {package.__name__}"] = list(torch.library.opcheck(op.call.default, operands).values())


def use_add_rms_norm() -> None:
    """A parameter, two outputs, a saved tensor, one gradient for two inputs."""
    module, theirs = fast_add_rms_norm.Module(37, 1e-6), fast_add_rms_norm.reference.Model(37, 1e-6)
    with torch.no_grad():
        module.weight.copy_(torch.randn(37))
        theirs.weight.copy_(module.weight)
    x, residual = torch.randn(5, 37), torch.randn(5, 37)
    given = leaves(x, residual)
    mine = step(module, *given, weights=(module.weight,))
    wanted = step(theirs, *given, weights=(theirs.weight,))
    FOUND["norm"] = [called(lambda: step(module, *given, weights=(module.weight,))), same(mine, wanted)]
    FOUND["norm returns"] = type(module(*given)).__name__
    out, _ = module(*given)
    expected, _ = theirs(*given)
    FOUND["norm, one output used"] = same(
        torch.autograd.grad(out.sum(), [*given, module.weight]),
        torch.autograd.grad(expected.sum(), [*given, theirs.weight]),
    )
    (out.detach(), module(*given)[0].square().sum().backward())
    theirs(*given)[0].square().sum().backward()
    FOUND["norm learns"] = same([module.weight.grad], [theirs.weight.grad])
    FOUND["norm, kept for the backward"] = kept(module, given)
    module.weight.requires_grad_(False)
    FOUND["norm, a frozen weight"] = called(lambda: step(module, *given))
    module.weight.requires_grad_(True)
    net = torch.nn.Sequential()
    net.add_module("norm", theirs)
    FOUND["norm, patched"] = fast_add_rms_norm.patch(net, "norm", init=[37, 1e-6])
    FOUND["norm, patched, takes both"] = called(lambda: step(net.norm, *given, weights=(theirs.weight,)))


def kept(module: Any, given: list[torch.Tensor]) -> list[list[int]]:
    """The shapes of what a call keeps for its backward."""
    found: list[list[int]] = []
    with torch.autograd.graph.saved_tensors_hooks(lambda one: (found.append(list(one.shape)), one)[1], lambda one: one):
        module(*given)
    return found


def use_cross_entropy() -> None:
    """An input that has no gradient."""
    module, theirs = fast_cross_entropy.Module(), fast_cross_entropy.reference.Model()
    logits, labels = 2 * torch.randn(5, 300), torch.randint(0, 300, (5,))
    given = leaves(logits, labels)
    FOUND["loss"] = [called(lambda: step(module, *given)), same(step(module, *given), step(theirs, *given))]


def use_compiled() -> None:
    """A graph of forward and backward holds both operators where they win, else PyTorch's own."""
    from torch._functorch.aot_autograd import aot_module_simplified

    operators: list[list[str]] = []

    def noted(graph: torch.fx.GraphModule, inputs: Any) -> Any:
        operators.append(sorted({str(node.target) for node in graph.graph.nodes if node.op == "call_function"}))
        return graph.forward

    def backend(graph: torch.fx.GraphModule, inputs: Any) -> Any:
        return aot_module_simplified(graph, inputs, fw_compiler=noted, bw_compiler=noted)

    module, theirs = fast_add_rms_norm.Module(37, 1e-6), fast_add_rms_norm.reference.Model(37, 1e-6)
    given = leaves(torch.randn(5, 37), torch.randn(5, 37))
    compiled = torch.compile(module, fullgraph=True, backend=backend)
    mine = step(compiled, *given, weights=(module.weight,))
    FOUND["compiled is right"] = same(mine, step(theirs, *given, weights=(theirs.weight,)))
    FOUND["compiled"] = [[name for name in one if "fast_" in name] for one in operators]
    operators.clear()
    with torch.no_grad():
        FOUND["compiled without gradients"] = same(compiled(*given), theirs(*given))
    FOUND["compiled without gradients holds"] = [[name for name in one if "fast_" in name] for one in operators]
    operators.clear()
    lost = leaves(torch.randn(6, 37), torch.randn(6, 37))
    FOUND["compiled, losing"] = same(
        step(compiled, *lost, weights=(module.weight,)), step(theirs, *lost, weights=(theirs.weight,))
    )
    FOUND["compiled, losing, holds"] = [[name for name in one if "fast_" in name] for one in operators]


def use_fallback() -> None:
    """As on a machine without the GPU: the operator is the reference, its second derivative included."""
    part(fast_swiglu, "outline").KERNEL_DEVICES = ("cuda",)
    call, theirs = part(fast_swiglu, "op").served, fast_swiglu.reference.Model()
    given = leaves(torch.randn(4, 33), torch.randn(4, 33))

    def penalty(module: Any) -> list[torch.Tensor]:
        first = torch.autograd.grad(module(*given).square().sum(), given, create_graph=True)
        return list(torch.autograd.grad(sum(one.square().sum() for one in first), given))

    FOUND["fallback"] = [called(lambda: step(call, *given)), same(step(call, *given), step(theirs, *given))]
    FOUND["fallback, second derivative"] = same(penalty(call), penalty(theirs))


if __name__ == "__main__":
    torch.manual_seed(0)
    for package in PACKAGES:
        __import__(f"{package.__name__}.check")
        on_cpu(package)
    use_swiglu()
    use_operator()
    use_add_rms_norm()
    use_cross_entropy()
    use_compiled()
    use_fallback()
    json.dump(FOUND, sys.stdout)
