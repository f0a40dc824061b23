"""Graphs are taken at Inductor's own pass, beside passes that are set, and the user's module stays as it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch._inductor import config
from torch.fx import Graph

from kernelwright.errors import RequestError
from kernelwright.worker.models.capture import Captured, Taking, captured, loss_of, taking
from kernelwright.worker.models.script import Script, on_fakes, read_script

X = torch.randn(4, 8)


def script(build: Callable[[], Any], inputs: Any = None, **names: Any) -> Script:
    given = inputs if inputs is not None else {"only": [X]}
    return Script(Path("net.py"), {"build": build, "inputs": lambda: given, **names}, "build")


def graphs_of(one: Script) -> list[Captured]:
    faked = on_fakes(one, "cpu")
    return [graph for given in faked.sets for graph in captured(faked, given, one)]


def operators(graph: Captured) -> list[str]:
    return [str(node.target) for node in graph.graph.nodes if node.op == "call_function"]


class Twice(nn.Module):
    """Calls one part twice, with a graph break between."""

    def __init__(self) -> None:
        super().__init__()
        self.part = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.part(x).relu()
        torch._dynamo.graph_break()
        return self.part(x).sigmoid()


def test_a_graph_break_gives_two_graphs() -> None:
    first, second = graphs_of(script(Twice))
    assert "aten.relu.default" in operators(first)
    assert "aten.sigmoid.default" in operators(second)


def test_training_gives_a_backward_graph_and_ambient_autocast_gives_casts() -> None:
    forward, backward = graphs_of(script(lambda: nn.Linear(8, 8), train=True, autocast=torch.bfloat16))
    assert (forward.is_backward, backward.is_backward) == (False, True)
    assert any("convert_element_type" in name for name in operators(forward))


def test_the_users_module_and_inputs_are_untouched() -> None:
    net = nn.BatchNorm1d(8)
    before, x = {name: one.clone() for name, one in net.state_dict().items()}, X.clone()
    graphs_of(script(lambda: net, {"only": [x]}, train=True))
    assert all(torch.equal(one, before[name]) for name, one in net.state_dict().items())
    assert torch.equal(x, X)
    assert net.weight.grad is None


class Cache:
    """What a model writes into in place. PyTorch does not know its parts."""

    def __init__(self) -> None:
        self.layers = [{"keys": torch.zeros(6, 8)}]


class Cached(nn.Module):
    """Tensors in lists and in an object."""

    def __init__(self) -> None:
        super().__init__()
        self.scales = [torch.ones(8)]

    def forward(self, x: torch.Tensor, cache: Cache) -> torch.Tensor:
        cache.layers[0]["keys"][:4] = x * self.scales[0]
        return cache.layers[0]["keys"].relu()


def test_tensors_inside_lists_and_objects_are_copied_without_memory() -> None:
    cache = Cache()
    (graph,) = graphs_of(script(Cached, {"only": [X, cache]}))
    assert "aten.relu.default" in operators(graph)
    assert len(graph.values) == 2
    assert not cache.layers[0]["keys"].any()


def test_values_of_inputs_are_known_and_those_of_parameters_are_not() -> None:
    (graph,) = graphs_of(script(lambda: nn.Linear(8, 8)))
    assert [*map(torch.Tensor.tolist, graph.values.values())] == [X.tolist()]


def test_passes_that_are_set_run_first_and_are_set_again_afterwards() -> None:
    seen: list[str] = []

    def own(graph: Graph) -> None:
        seen.append("own")

    with config.patch(post_grad_custom_post_pass=own):
        assert graphs_of(script(lambda: nn.ReLU()))
        assert config.post_grad_custom_post_pass is own
    assert seen == ["own"]


def test_a_list_of_passes_stays_one() -> None:
    def own(graph: Graph) -> None: ...

    with config.patch(post_grad_custom_post_pass=[own]), taking():
        chained = config.post_grad_custom_post_pass
        assert chained[0] is own
        assert isinstance(chained[1], Taking)
        assert chained[1].uuid() is None


def test_one_pass_runs_those_before_it_where_torch_takes_one() -> None:
    seen: list[Graph] = []
    taken = Taking([seen.append])
    graph = Graph()
    graph.output(graph.placeholder("x"))
    taken(graph)
    assert seen == [graph]
    assert [node.op for node in taken.taken[0].nodes] == ["placeholder", "output"]


def test_attention_with_dropout_is_one_call_without_a_gpu_too() -> None:
    class Attention(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = x.view(1, 1, 4, 8)
            attention = torch.nn.functional.scaled_dot_product_attention
            return attention(y, y, value=y, attn_mask=None, dropout_p=0.1, is_causal=True)

    graphs = graphs_of(script(Attention, {"only": [X.clone().requires_grad_()]}, train=True))
    assert any("scaled_dot_product" in name for name in operators(graphs[0]))


def test_a_module_that_reads_values_is_refused_with_the_reason() -> None:
    class Reads(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * float(x.sum())

    with pytest.raises(RequestError, match="reads values"):
        graphs_of(script(Reads))


def test_a_compiled_module_is_captured_as_what_it_compiles() -> None:
    made = script(lambda: torch.compile(nn.ReLU(), dynamic=True))
    assert isinstance(made.build(), nn.ReLU)


def test_shares_that_are_not_stated_are_equal_parts_of_the_rest() -> None:
    sets = {"a": {"args": [X], "share": 0.5}, "b": X, "c": {"input": X}}
    assert [(one.name, one.share, len(one.args), [*one.kwargs]) for one in script(nn.ReLU, sets).inputs()] == [
        ("a", 0.5, 1, []), ("b", 0.25, 1, []), ("c", 0.25, 0, ["input"]),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("names", "why"),
    [
        ({}, "defines no function build"),
        ({"build": lambda: 3}, "no torch.nn.Module but a int"),
        ({"build": nn.ReLU, "inputs": lambda: [X]}, "no dict of sets by name but a list"),
    ],
)
def test_what_a_script_lacks_is_said(names: dict[str, Any], why: str) -> None:
    one = Script(Path("net.py"), names, "build")
    with pytest.raises(RequestError, match=why):
        (one.build(), one.inputs())


def test_another_function_may_build_the_module(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text("import torch\n\n\ndef small():\n    return torch.nn.Linear(2, 2)\n")
    assert read_script(f"{file}:small").build().out_features == 2
    with pytest.raises(RequestError, match="no script at"):
        read_script(str(tmp_path / "none.py"))


def test_the_loss_of_a_result_that_has_one_is_differentiated() -> None:
    x = torch.ones(3, requires_grad=True)
    assert loss_of({"loss": x.sum() * 2, "logits": x}).item() == 6
    assert loss_of((x, [x * 2])).item() == 9
    with pytest.raises(RequestError, match="has a gradient"):
        loss_of(torch.ones(2))
