"""Forward and backward of a problem that states GRADIENTS, as two graphs on the device.

Autograd cannot differentiate fake tensors of a device that is not there. So both are traced as one graph on the CPU,
which PyTorch's partitioner divides: what backward needs of forward is saved, or computed again where that is cheaper.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import SymInt, Tensor
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch._inductor.decomposition import select_decomp_table
from torch._ops import OpOverload
from torch.func import functionalize
from torch.fx import GraphModule, Interpreter, Node
from torch.fx.experimental.proxy_tensor import make_fx


@dataclass(frozen=True)
class Part:
    """One of the two functions. call: takes its tensors. tensors: by name, on the device. saved: names of what it
    returns last, for the other."""

    call: Callable[..., Sequence[Tensor]]
    tensors: Mapping[str, Tensor]
    saved: tuple[str, ...] = ()


def without_mutations(graph: GraphModule, given: Sequence[Any]) -> GraphModule:
    """The graph, or where it writes into tensors, one that makes others. given: its arguments."""
    if not any(isinstance(one.target, OpOverload) and one.target._schema.is_mutable for one in graph.graph.nodes):
        return graph
    return make_fx(functionalize(Interpreter(graph).run, remove="mutations"))(*given)


def divided(
    joint: Callable[..., Any],
    counts: Sequence[SymInt],
    tensors: Mapping[str, Tensor],
    gradients: Collection[str],
    returned: int,
) -> tuple[Part, Callable[[Sequence[Tensor]], Part]]:
    """Forward, and backward after the results of forward.

    joint: takes `tensors`, which are on the CPU, and gives forward's outputs and the gradients. counts: symbols in the
    shapes. gradients: which of the tensors are those of outputs. returned: how many results are gradients."""
    call = lambda *values: tuple(joint(*values[len(counts) :]))  # noqa: E731
    given = [*counts, *tensors.values()]
    graph = without_mutations(make_fx(call, select_decomp_table())(*given), given)
    names = dict[str, str]()
    for place, node in enumerate(graph.graph.find_nodes(op="placeholder")):
        name = list(tensors)[place - len(counts)] if place >= len(counts) else ""
        node.name = node.target = f"{'tangents' if name in gradients else 'primals'}_{place}"
        names[node.name] = name
    outputs = len(graph.graph.output_node().args[0]) - returned  # type: ignore[arg-type]
    graph.recompile()
    forward, backward = min_cut_rematerialization_partition(graph, None, num_fwd_outputs=outputs)
    made: Any = forward.graph.output_node().args[0]
    names = {_copied(node).name: f"output_{place}" for place, node in enumerate(made[:outputs])} | names
    kept = {
        node.name: place for place, node in enumerate(made)
        if place >= outputs and _is_tensor(node) and node.name not in names
    }  # fmt: skip
    names |= {name: f"saved_{place}" for place, name in enumerate(kept)}
    on_device = {name: torch.empty_strided(one.shape, one.stride(), dtype=one.dtype, device="cuda")
                 for name, one in tensors.items()}  # fmt: skip

    def forwards(*values: Tensor) -> Sequence[Tensor]:
        found = _on_device(forward).run(*counts, *values)
        saved = (one if is_dense(one) else one.contiguous() for one in map(found.__getitem__, kept.values()))
        return [*found[:outputs], *saved]

    def after(results: Sequence[Tensor]) -> Part:
        known = {f"output_{place}": one for place, one in enumerate(results[:outputs])}
        known |= {names[name]: one for name, one in zip(kept, results[outputs:], strict=True)}
        places = backward.graph.find_nodes(op="placeholder")
        read = [names[one.name] for one in places if _is_tensor(one)]

        def backwards(*values: Tensor) -> Sequence[Tensor]:
            passed = iter(values)
            given = [next(passed) if _is_tensor(one) else one.meta["val"] for one in places]
            found: Sequence[Tensor] = _on_device(backward).run(*given)
            return found

        return Part(backwards, {name: (known | on_device)[name] for name in read})

    inputs = {name: one for name, one in on_device.items() if name not in gradients}
    return Part(forwards, inputs, tuple(names[name] for name in kept)), after


def is_dense(tensor: Tensor) -> bool:
    """Whether its elements fill memory, in some order of its sides."""
    expected: Any = 1
    for step, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size != 1 and step != expected:
            return False
        expected *= size
    return True


def _copied(node: Node) -> Node:
    """The tensor that a result is: Autograd's are detached."""
    while node.target in (torch.ops.aten.detach.default, torch.ops.aten.alias.default):
        node = node.all_input_nodes[0]
    return node


def _is_tensor(node: Node) -> bool:
    return isinstance(node.meta.get("val"), Tensor)


def _on_device(part: GraphModule) -> Interpreter:
    """The part, which makes its tensors on the device in place of the CPU."""
    for node in part.graph.nodes:
        if node.kwargs.get("device") is not None:
            node.kwargs = {**node.kwargs, "device": torch.device("cuda")}
    return Interpreter(part)
