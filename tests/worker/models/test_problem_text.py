"""The text of a region's problem: sizes as numbers, draws from what was seen, reasons where there is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch._inductor.decomposition import select_decomp_table
from torch.fx import Graph
from torch.fx.experimental.proxy_tensor import make_fx

from kernelwright.errors import RequestError
from kernelwright.worker.models.draws import draw_text
from kernelwright.worker.models.problem_text import problem_text
from kernelwright.worker.models.regions import Region, family_of, key_of, regions_of
from kernelwright.worker.models.sizes import Names
from kernelwright.worker.models.work import evaluated, kept_by, mask_text, work_of

aten = torch.ops.aten


def graph_of(function: Callable[..., Any], *inputs: Tensor) -> Graph:
    return make_fx(function, select_decomp_table(), tracing_mode="fake")(*inputs).graph


def region_of(function: Callable[..., Any], *inputs: Tensor) -> Region:
    (region,), _ = regions_of(graph_of(function, *inputs))
    return region


def flattened(x: Tensor, weight: Tensor) -> Tensor:
    return x.relu().view(-1, 5, weight.shape[0]) * weight


def run(text: str, **sizes: int) -> Any:
    """The result of a written problem."""
    names: dict[str, Any] = {}
    exec(text, names)
    names.update(sizes)
    model = names["Model"](*names["get_init_inputs"]())
    return model(*names["get_inputs"]())


def test_a_flattened_size_is_factored_and_other_sizes_run() -> None:
    text = problem_text({"one": region_of(flattened, torch.randn(15, 7), torch.randn(7))}, {}, "A region.")
    assert "torch.randn(n0 * n1, n2)" in text
    assert run(text).shape == (3, 5, 7)


def test_regions_of_other_sizes_are_cases_of_one_problem() -> None:
    two = [region_of(flattened, torch.randn(rows * 5, width), torch.randn(width)) for rows, width in ((3, 7), (4, 9))]
    assert len({*map(family_of, two)}) == 1
    assert len({*map(key_of, two)}) == 2
    text = problem_text({key_of(one): one for one in two}, {}, "A region.")
    assert [line.partition(", ")[2] for line in text.splitlines() if line.startswith("    dict(")] == [
        "n0=3, n1=5, n2=7),", "n0=4, n1=5, n2=9),"
    ]  # fmt: skip


def test_a_size_that_nothing_explains_is_the_reason() -> None:
    regions = [region_of(lambda x: x.relu() * 2, torch.randn(size)) for size in (50, 70)]
    with pytest.raises(RequestError, match="nothing explains the sizes 11, 13"):
        Names(regions).text((11, 13))


def test_a_constant_infinity_and_an_index_can_be_run() -> None:
    def picked(table: Tensor, rows: Tensor) -> Tensor:
        return aten.embedding(table, rows).relu().masked_fill(rows.unsqueeze(-1) == 2, float("-inf"))

    text = problem_text({"one": region_of(picked, torch.randn(11, 4), torch.randint(0, 11, (3, 5)))}, {}, "A region.")
    assert "torch.randint(0, n2, (n0, n1,))" in text
    assert run(text).shape == (3, 5, 4)


def test_half_precision_is_the_dtype_of_the_case_and_mixed_dtypes_are_stated() -> None:
    low = torch.randn(3, 4, dtype=torch.bfloat16)
    one = problem_text({"one": region_of(lambda x: x.float().exp().to(x.dtype), low)}, {}, "A region.")
    assert "dtype='bfloat16'" in one
    assert ".to(x0.dtype)" in one or "dtype=x0.dtype" in one
    two = problem_text({"one": region_of(lambda x, y: x.float() * y, low, torch.randn(4))}, {}, "A region.")
    assert "(torch.randn(n0, n1)).to(torch.bfloat16)" in two
    assert "dtype='bfloat16'" not in two


def test_an_input_in_another_order_of_memory_is_drawn_in_that_order() -> None:
    x = torch.randn(2, 5, 3).permute(0, 2, 1)
    text = problem_text({"one": region_of(lambda x: x.relu(), x)}, {}, "A region.")
    assert run(text).shape == (2, 3, 5)
    assert ".permute(0, 2, 1)" in text


@pytest.mark.parametrize(
    ("seen", "text"),
    [
        (torch.arange(3, 9), "torch.arange(3, 3 + n0)"),
        (torch.tensor([2, 0, 1, 3]), "torch.randperm(n0)"),
        (torch.tensor([5, -100, 7, 7]), "torch.randint(0, 8, (n0,)).masked_fill(torch.rand(n0) < 0.25, -100)"),
        (torch.tensor([4, 9, 4]), "torch.randint(4, 10, (n0,))"),
        (torch.tensor([True, False]), "torch.rand(n0) < 0.5"),
        (torch.tensor([0.25, 0.5]), "torch.rand(n0) * 0.25 + 0.25"),
        (torch.tensor([-3.0, 2.0]), "torch.randn(n0)"),
        (torch.tensor([0.0, float("-inf")]), "torch.zeros(n0).masked_fill(torch.rand(n0) < 0.3, float('-inf'))"),
    ],
)
def test_draws_have_the_range_and_the_structure_of_what_was_seen(seen: Tensor, text: str) -> None:
    node = next(iter(graph_of(lambda x: x + 1, seen).nodes))
    assert draw_text(node, seen, "n0", "") == text


def test_what_depends_on_known_values_is_evaluated_and_the_rest_is_not() -> None:
    graph = graph_of(lambda x, y: (torch.arange(4, device=x.device) < x.sum(), y + 1), torch.ones(3), torch.ones(3))
    places = [node for node in graph.nodes if node.op == "placeholder"]
    mask, other = next(node for node in graph.nodes if node.op == "output").args[0]
    known = {places[0]: torch.tensor([1.0, 1.0, 0.0])}
    found = evaluated(mask, known)
    assert found is not None
    assert found.tolist() == [True, True, False, False]
    assert evaluated(other, known) is None


@pytest.mark.parametrize(
    ("mask", "said"),
    [
        (torch.ones(1, 1, 4, 4, dtype=torch.bool), "keeps every score"),
        (torch.zeros(4, 4).masked_fill(~torch.ones(4, 4, dtype=torch.bool).tril(), float("-inf")), "is causal"),
        ((torch.arange(4) < torch.tensor([[1], [4]]))[:, None, None], "is padding"),
        (torch.eye(4, dtype=torch.bool), "leaves out 75%"),
        (None, "not known"),
    ],
)
def test_a_materialised_mask_is_recognised(mask: Tensor | None, said: str) -> None:
    assert said in mask_text(kept_by(mask))


def test_the_work_of_a_slice_is_what_is_read() -> None:
    work = work_of(region_of(lambda x: x[:, :2].relu() + 1, torch.randn(6, 4)), {})
    assert (work.bytes, work.written_bytes) == (2 * 6 * 2 * 4, 6 * 2 * 4)


def test_an_operator_that_contains_a_graph_counts_by_its_bytes() -> None:
    graph = graph_of(lambda x: x + 1, torch.randn(6, 4))
    x, add, _ = graph.nodes
    add.target = torch.cond
    work = work_of(Region((add,), (x,), (add,)), {})
    assert (work.bytes, work.written_bytes, work.remark) == (2 * 96, 96, "its bytes alone are counted")


def test_a_region_of_what_is_no_tensor_has_a_reason_and_the_work_of_its_bytes() -> None:
    graph = graph_of(lambda x: x + 1, torch.randn(6, 4))
    x, add, _ = graph.nodes
    number = graph.placeholder("number")
    number.meta["val"] = 3
    region = Region((add,), (x, number), (add,))
    assert work_of(region, {}).bytes == 2 * 96
    with pytest.raises(RequestError, match="an input of it is no tensor"):
        problem_text({"one": region}, {}, "A region.")


def test_what_is_computed_again_from_an_input_belongs_to_the_region_that_alone_reads_it() -> None:
    def backward(saved: Tensor, gradient: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
        made = gradient @ weight
        return made * saved.tanh().exp(), saved.tanh()

    regions, calls = regions_of(graph_of(backward, torch.randn(4, 4), torch.randn(4, 4), torch.randn(4, 4)))
    assert len(calls) == 1
    assert [len(one.nodes) for one in regions] == [3, 1]


def test_a_table_that_several_depths_read_is_a_region_of_its_own() -> None:
    def layers(x: Tensor, angles: Tensor, weight: Tensor) -> Tensor:
        table = angles.cos()
        return ((x @ weight) * table @ weight) * table

    regions, _ = regions_of(graph_of(layers, torch.randn(4, 4), torch.randn(4, 4), torch.randn(4, 4)))
    assert [[str(node.target) for node in one.nodes] for one in regions] == [
        ["aten.cos.default"], ["aten.mul.Tensor"], ["aten.mul.Tensor"],
    ]  # fmt: skip


def test_a_concatenated_dimension_is_a_sum_also_where_it_is_split() -> None:
    def grouped(x: Tensor, skip: Tensor, weight: Tensor) -> Tensor:
        return torch.cat([x, skip], 1).view(2, 3, 6, 49).relu() * weight

    given = torch.randn(2, 10, 7, 7), torch.randn(2, 8, 7, 7), torch.randn(3, 6, 1)
    text = problem_text({"one": region_of(grouped, *given)}, {}, "A region.")
    assert "reshape([self.n0, self.n4, ((self.n1 + self.n3) // (self.n4)), self.n2 * self.n2])" in text
    assert run(text, n1=4, n3=5, n2=2).shape == (2, 3, 3, 4)


def test_sizes_of_what_is_computed_from_no_tensor_are_numbers_of_the_constructor() -> None:
    def positions(table: Tensor) -> Tensor:
        return table[torch.arange(6)[:, None].clamp(max=3)] + torch.ones(6, 9, 1)

    text = problem_text({"one": region_of(positions, torch.randn(4, 1))}, {}, "A region.")
    assert "n1 = 6" in text
    assert run(text, n1=5).shape == (5, 9, 1)
