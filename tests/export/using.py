"""Uses exported packages as a program would, on the CPU: run in a process of its own, says what came of it as JSON.

Triton interprets here and `wins.json` says "cpu", so that the kernel is taken without a GPU. Not a test: test_op.py is.
"""

from __future__ import annotations

import ast
import copy
import json
import pickle
import sys
from typing import Any

import fast_linear
import fast_softmax
import torch
from fast_softmax import benchmark, dispatch
from torch.autograd import forward_ad
from torch.utils.flop_counter import FlopCounterMode

FOUND: dict[str, Any] = {}


class Counted:
    """A kernel's host code that counts its calls."""

    def __init__(self, module: Any, inputs: tuple[Any, ...]) -> None:
        module(*inputs)  # decides, and imports the kernel
        self.calls = 0
        self.host = module.fast_state.kernel.function
        module.fast_state.kernel.function = self

    def __call__(self, *given: Any, **named: Any) -> Any:
        self.calls += 1
        return self.host(*given, **named)

    def during(self, use: Any) -> bool:
        before = self.calls
        use()
        return self.calls > before


def operators(module: Any, inputs: tuple[Any, ...], **options: Any) -> list[str]:
    graph = torch.export.export(module, inputs, **options).graph
    return [str(node.target) for node in graph.nodes if node.op == "call_function"]


def same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return bool(torch.allclose(one, other, 1e-4, 1e-5))


def use_softmax() -> None:
    module, x = fast_softmax.Module(), torch.randn(32, 64)
    counted = Counted(module, (x,))
    FOUND["is right"] = same(module(x), torch.softmax(x, -1))
    FOUND["kernel: measured to win"] = counted.during(lambda: module(x))
    FOUND["kernel: by keyword"] = counted.during(lambda: module(x=x))
    FOUND["kernel: between"] = counted.during(lambda: module(torch.randn(48, 64)))
    FOUND["kernel: measured to lose"] = counted.during(lambda: module(torch.randn(8, 64)))
    FOUND["kernel: larger"] = counted.during(lambda: module(torch.randn(128, 64)))
    FOUND["kernel: another dtype"] = counted.during(lambda: module(x.double()))
    FOUND["kernel: wants a gradient"] = counted.during(lambda: module(x.clone().requires_grad_()))
    with torch.no_grad():
        FOUND["kernel: a leaf without grad mode"] = counted.during(lambda: module(x.clone().requires_grad_()))
    FOUND["kernel: strided"] = counted.during(lambda: module(torch.randn(64, 32).t()))
    FOUND["kernel: misaligned"] = counted.during(lambda: module(torch.randn(32 * 64 + 1)[1:].view(32, 64)))
    FOUND["kernel: vmap"] = counted.during(lambda: torch.vmap(module)(torch.randn(2, 32, 64)))
    FOUND["kernel: torch.func.grad"] = counted.during(lambda: torch.func.grad(lambda one: module(one).sum())(x))
    FOUND["kernel: torch.func.jvp"] = counted.during(lambda: torch.func.jvp(module, (x,), (torch.ones_like(x),)))
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, torch.randn(32, 64))
        FOUND["kernel: a forward derivative"] = counted.during(lambda: module(dual))
        tangents = [forward_ad.unpack_dual(of(dual)).tangent for of in (module, lambda one: torch.softmax(one, -1))]
        FOUND["forward derivative is right"] = tangents[0] is not None and same(*tangents)
    with FlopCounterMode(display=False):
        FOUND["kernel: under a mode"] = counted.during(lambda: module(x))
    gradient = torch.func.grad(lambda one: (module(one) * torch.arange(64.0)).sum())(x)
    expected = torch.func.grad(lambda one: (torch.softmax(one, -1) * torch.arange(64.0)).sum())(x)
    FOUND["gradient is right"] = same(gradient, expected)
    FOUND["in a graph"] = operators(module, (x,))
    FOUND["in a graph, measured to lose"] = operators(module, (torch.randn(8, 64),))
    rows = {"x": {0: torch.export.Dim("rows")}}
    FOUND["in a graph, any number of rows"] = operators(module, (x,), dynamic_shapes=rows)
    compiled = torch.compile(module, fullgraph=True, backend="aot_eager")
    with torch.no_grad():
        made = [same(compiled(one), torch.softmax(one, -1)) for one in map(torch.randn, (32, 8, 48, 5), (64,) * 4)]
    FOUND["compiled is right"] = all(made)
    FOUND["explained"] = fast_softmax.explain(module, x)
    FOUND["a copy is right"] = same(copy.deepcopy(module)(x), module(x))
    del module.fast_state.kernel
    module.fast_state.forget()
    FOUND["a pickled one is right"] = same(pickle.loads(pickle.dumps(module))(x), module(x))
    module = fast_softmax.Module()
    lost = torch.randn(8, 64)
    module(lost)
    FOUND["a size below all that win"] = (
        lost.numel() < module.fast_state.least <= x.numel() and not module.fast_state.known
    ) and same(module(lost), torch.softmax(lost, -1))
    module(lost.bfloat16())
    FOUND["a dtype of a size below all that win, explained"] = fast_softmax.explain(module, lost.bfloat16())
    module(x.double())
    FOUND["a dtype that loses"] = Counted(module, (x,)).during(lambda: module(x))
    FOUND["too many shapes are forgotten"] = forgets(x)


def use_graphs() -> None:
    """The same of a module that is called, and of one whose program replays graphs."""
    both = [fast_softmax.Module(), fast_softmax.Module(graphs=True)]
    small, x = torch.randn(16, 64), torch.randn(32, 64)

    def took(modules: list[Any], given: torch.Tensor) -> list[bool]:
        return [Counted(one, (x,)).during(lambda one=one: one(given)) for one in modules]

    FOUND["graphs: a module"] = took(both, small)
    FOUND["graphs: a size that loses on the device"] = took(both, torch.randn(8, 64))
    FOUND["graphs: a size that wins in calls"] = took(both, x)
    functions = [fast_softmax.softmax, fast_softmax.softmax_in_graphs]
    counted = [Counted(one.__self__, (x,)) for one in functions]
    FOUND["graphs: a function"] = [
        one.during(lambda of=of: of(small)) for one, of in zip(counted, functions, strict=True)
    ]
    nets = [torch.nn.Sequential(torch.nn.Softmax(-1)) for _ in both]
    for net, graphs in zip(nets, (False, True), strict=True):
        fast_softmax.patch(net, torch.nn.Softmax, graphs=graphs)
    FOUND["graphs: a patched model"] = took([net[0] for net in nets], small)
    FOUND["graphs: a copy"] = took([copy.deepcopy(one) for one in both], small)
    fresh = [fast_softmax.Module(), fast_softmax.Module(graphs=True)]
    FOUND["graphs: a pickled one"] = took([pickle.loads(pickle.dumps(one)) for one in fresh], small)
    FOUND["graphs: compiled"] = [operators(one, (small,)) for one in both]
    FOUND["graphs: explained"] = fast_softmax.explain(both[1], small)
    FOUND["graphs: kinds"] = [[kind.use, kind.least] for kind in dispatch.KINDS]
    FOUND["rows of the benchmark"] = [benchmark.row(case) for case in dispatch.MEASURED.cases]
    torch.compiler.reset()
    made = [torch.compile(one, fullgraph=True, backend="aot_eager") for one in both]
    with torch.no_grad():
        FOUND["graphs: compiled is right"] = all(same(one(small), torch.softmax(small, -1)) for one in made)


def use_warm() -> None:
    """What is compiled ahead, and for which shapes the kernel's host code ran."""
    ran: list[list[int]] = []
    host = fast_softmax.kernel.kernel_function

    def counted(x: torch.Tensor) -> torch.Tensor:
        ran.append(list(x.shape))
        return host(x)

    fast_softmax.kernel.kernel_function = counted
    seconds = fast_softmax.warm()
    fast_softmax.kernel.kernel_function = host
    FOUND["warm: the kernel ran"] = ran
    FOUND["warm: cases"] = [name for name, taken in seconds.items() if taken > 0]
    FOUND["warm: cases in graphs"] = [*fast_softmax.warm("graphs")]
    there, dispatch.MEASURED.device = dispatch.MEASURED.device, "another GPU"
    FOUND["warm: measured elsewhere"] = fast_softmax.warm()
    dispatch.MEASURED.device = there


def use_small_gpu() -> None:
    """A config that does not fit the GPU: Triton raises the error at the launch, in its own code."""
    from triton.runtime import errors

    module, x = fast_softmax.Module(), torch.randn(32, 64)
    module(x)

    def launch(given: torch.Tensor) -> torch.Tensor:
        raise errors.OutOfResources(200_000, 100_000, "shared memory")

    module.fast_state.kernel.function = launch
    FOUND["a config that does not fit"] = same(module(x), torch.softmax(x, -1))
    FOUND["a config that does not fit, explained"] = [*module.fast_state.why.values()]


def use_assertion() -> None:
    """An assertion of a kernel that another kernel calls: Triton raises an error from it."""
    from triton.compiler import errors

    module, x = fast_softmax.Module(), torch.randn(32, 64)
    module(x)

    def launch(given: torch.Tensor) -> torch.Tensor:
        asserted = errors.CompileTimeAssertionFailure("", ast.parse("f()").body[0], "no such block")
        raise errors.CompilationError("", ast.parse("g()").body[0]) from asserted

    module.fast_state.kernel.function = launch
    FOUND["an assertion of a kernel"] = same(module(x), torch.softmax(x, -1))


def forgets(x: torch.Tensor) -> bool:
    module = fast_softmax.Module()
    module.fast_state.known.update(dict.fromkeys(range(dispatch.MOST_SHAPES), False))
    return same(module(x), torch.softmax(x, -1)) and len(module.fast_state.known) == 1


def refused(*given: Any, **named: Any) -> str:
    try:
        fast_softmax.patch(*given, **named)
    except (LookupError, ValueError) as error:
        return str(error)
    return ""


def use_patch() -> None:
    net = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Softmax(-1))
    x = torch.randn(32, 64)
    with torch.no_grad():
        before, keys = net(x), list(net.state_dict())
        FOUND["patched"] = fast_softmax.patch(net, torch.nn.Softmax)
        FOUND["patched is right"] = same(net(x), before) and list(net.state_dict()) == keys
        FOUND["patched takes the kernel"] = Counted(net[1], (x,)).during(lambda: net(x))
        twin = copy.deepcopy(net)
        FOUND["a copy of a patched model is right"] = (
            same(twin(x), before) and twin[1].fast_state is not net[1].fast_state
        )
        FOUND["patched twice"] = refused(net, "1")
        FOUND["unpatched"] = fast_softmax.unpatch(net)
        FOUND["unpatched is right"] = same(net(x), before) and "fast_state" not in vars(net[1])
    by_name, back = fast_softmax.patch(net, "1"), fast_softmax.unpatch(net)
    FOUND["patched by name and function"] = [by_name, back, fast_softmax.patch(net, lambda name, module: name == "1")]
    FOUND["nothing is meant"] = refused(net, torch.nn.GELU)
    FOUND["another dimension"] = refused(torch.nn.Sequential(torch.nn.Softmax(0)), torch.nn.Softmax)
    FOUND["another function"] = refused(torch.nn.Sequential(torch.nn.LogSoftmax(-1)), "0")
    noisy = torch.nn.Sequential(torch.nn.Sequential(torch.nn.Softmax(-1), torch.nn.Dropout(0.9)))
    FOUND["right in evaluation only"] = refused(noisy, "0")


def use_linear() -> None:
    module, x = fast_linear.Module(20, hidden=33).eval(), torch.randn(9, 20)
    with torch.no_grad():
        expected = fast_linear.reference.Model.forward(module, x)
        counted = Counted(module, (x,))
        FOUND["linear is right"] = same(module(x), expected)
        FOUND["linear takes the kernel"] = counted.during(lambda: module(x))
        module.layers[0].weight.mul_(2.0)
        FOUND["linear follows its weights"] = same(module(x), fast_linear.reference.Model.forward(module, x))
        module.layers[0].weight = torch.nn.Parameter(torch.randn(33, 20))
        FOUND["linear follows a new weight"] = same(module(x), fast_linear.reference.Model.forward(module, x))
        FOUND["linear in a graph"] = operators(module, (x,))
        compiled = torch.compile(module, fullgraph=True, backend="aot_eager")
        FOUND["linear compiled is right"] = same(compiled(x), module(x))
        other = fast_linear.Module(20, 34).eval()
        other(x)
        FOUND["linear of another size"] = other.fast_state.kernel is None
        plain = torch.nn.Sequential(torch.nn.Linear(20, 33), torch.nn.ReLU(), torch.nn.Linear(33, 20)).eval()
        expected, names = plain(x), {f"layers.{name}": name for name in plain.state_dict()}
        FOUND["linear patched"] = fast_linear.patch(plain, "", init=[20, 33], parameters=names, example=(x,))
        FOUND["linear patched is right"] = same(plain(x), expected)
        FOUND["linear patched takes the kernel"] = Counted(plain, (x,)).during(lambda: plain(x))
    FOUND["linear that learns"] = counted.during(lambda: module(x).sum().backward())
    FOUND["linear learns"] = module.layers[0].bias.grad is not None


if __name__ == "__main__":
    torch.manual_seed(0)
    use_softmax()
    use_graphs()
    use_warm()
    use_small_gpu()
    use_assertion()
    use_patch()
    use_linear()
    json.dump(FOUND, sys.stdout)
