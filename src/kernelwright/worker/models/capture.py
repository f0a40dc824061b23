"""Capture of a module's graphs where Inductor would lower them: after its post-grad passes, forward and backward.

No kernel is generated: the inner compile runs Inductor's own passes up to `post_grad_custom_post_pass`, takes the graph
there, and then interprets it. All that comes before in the compiler is the compiler's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch._functorch import config as functorch
from torch._inductor import compile_fx, config, custom_graph_pass
from torch._inductor.custom_graph_pass import CustomGraphPass
from torch._inductor.fx_passes.post_grad import view_to_reshape
from torch._inductor.virtualized import V
from torch._subclasses.fake_tensor import DataDependentOutputException
from torch.fx import Graph, GraphModule, Node
from torch.utils._pytree import tree_leaves

from kernelwright.errors import RequestError
from kernelwright.worker.generate.replacing import replaced
from kernelwright.worker.models.script import Arguments, Faked, Script


@dataclass
class Captured:
    """One graph. calls: how often one call of the module runs it. values: of its placeholders, where they are known."""

    graph: Graph
    is_backward: bool
    calls: int = 0
    values: dict[Node, Tensor] = field(default_factory=dict)


class Taking(CustomGraphPass):
    """A pass that takes a copy of each graph that it is called with, after the passes that were set before it."""

    def __init__(self, before: Sequence[Callable[[Graph], Any]]) -> None:
        self.before = before
        self.taken: list[Graph] = []

    def __call__(self, graph: Graph) -> None:
        for one in self.before:
            one(graph)
        copied = Graph()
        copied.output(copied.graph_copy(graph, {}))
        self.taken.append(copied)

    def uuid(self) -> Any:
        """None: Inductor's cache must not answer in place of the pass."""
        return None


@contextmanager
def taking() -> Iterator[list[Graph]]:
    """Inside, Inductor's custom pass adds graphs to the list. Passes that are set already run first, as before."""
    known = config.post_grad_custom_post_pass
    several = list(known) if isinstance(known, list | tuple) else [known] if known is not None else []
    takes_several = hasattr(custom_graph_pass, "get_custom_graph_passes")  # torch 2.13
    taken = Taking([] if takes_several else several)
    chained: Any = [*several, taken] if takes_several else taken
    with config.patch(post_grad_custom_post_pass=chained):
        yield taken.taken


def without_dropout(own: Any) -> Any:
    """Attention without dropout: PyTorch's CPU composes attention with dropout of products, where a GPU calls it."""

    def called(
        query: Any, key: Any, value: Any, mask: Any = None, dropout_p: float = 0.0, *more: Any, **named: Any
    ) -> Any:
        return own(query, key, value, named.pop("attn_mask", mask), 0.0, *more, **named)

    return called


def captured(faked: Faked, given: Arguments, script: Script) -> list[Captured]:
    """The graphs of one call, and of its backward where the script trains. Raises `RequestError` for a module that
    cannot be called without values."""
    found: list[Captured] = []

    def inner(module: GraphModule, inputs: Sequence[Any], **options: Any) -> Any:
        view_to_reshape(module)
        with torch.no_grad():
            mode = compile_fx.fake_tensor_prop(module, list(inputs))
        with taking() as taken, V.set_fake_mode(mode):  # here, as the backward may be compiled in another thread
            compile_fx._recursive_post_grad_passes(module, is_inference=options.get("is_inference", False))
        module.recompile()
        own = [Captured(graph, options.get("is_backward", False)) for graph in taken]
        found.extend(own)
        return _interpreted(module, own, faked, learns=not options.get("is_inference", False))

    def backend(module: GraphModule, inputs: list[Any]) -> Any:
        return compile_fx.compile_fx(module, inputs, inner_compile=inner)

    torch._dynamo.reset()
    called = torch.compile(faked.module, backend=backend, dynamic=False)
    try:
        with faked.mode, torch.set_grad_enabled(script.train), functorch.patch(enable_autograd_cache=False):
            attention = (torch.nn.functional, "scaled_dot_product_attention", without_dropout)
            with script.autocast(faked.device), replaced(*[attention] * (faked.device == "cpu")):
                made = called(*given.args, **given.kwargs)
            if script.train:
                loss_of(made).backward()
    except DataDependentOutputException as error:
        why = f"the module reads values of its tensors ({error}), which are not there when it is captured"
        raise RequestError(why, "leave that part out of build()") from error
    finally:
        torch._dynamo.reset()
    return [one for one in found if one.calls]


def _interpreted(module: GraphModule, own: Sequence[Captured], faked: Faked, learns: bool) -> Any:
    """learns: whether a backward may read results."""

    def run(values: list[Any]) -> Any:
        given = [*values]
        values.clear()
        for one in own:
            one.calls += 1
        for outermost in own[-1:]:  # subgraphs come before it
            places = [node for node in outermost.graph.nodes if node.op == "placeholder"]
            for node, value in zip(places, given, strict=False):
                if isinstance(value, Tensor) and (known := faked.known(value)) is not None:
                    outermost.values[node] = known
        with faked.mode:
            made = module(*given)
        for outermost in own[-1:] if learns else []:
            ends: Any = outermost.graph.output_node().args[0]
            faked.learn(zip(ends, made, strict=True), outermost.values)
        return made

    run._boxed_call = True  # type: ignore[attr-defined]
    return run


def loss_of(made: Any) -> Tensor:
    """What training differentiates: `loss` of a result that has one, else the sum of all results with a gradient."""
    stated = made.get("loss") if isinstance(made, dict) else getattr(made, "loss", None)
    found = [one for one in tree_leaves(made) if isinstance(one, Tensor) and one.requires_grad]
    if not found:
        raise RequestError("no result of the module has a gradient", "leave out `train = True`, or return a loss")
    return stated if isinstance(stated, Tensor) else torch.stack([one.float().sum() for one in found]).sum()
