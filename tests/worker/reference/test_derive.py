"""Derived cases: which numbers of a file may be made smaller, and what a smaller one must not change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from kernelwright.errors import ProblemError
from kernelwright.model import Case, Loading
from kernelwright.worker.reference.derive import (
    MOST_ELEMENTS,
    ODD,
    SECOND,
    SMALL,
    WANTED_ELEMENTS,
    WANTED_MADE,
    Derived,
    Search,
    derive,
    load_with_cases,
)
from kernelwright.worker.reference.load import LoadedProblem, load_problem
from kernelwright.worker.reference.unmade import MOST_COUNTED

HEAD = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"


def loaded(folder: Path, text: str) -> LoadedProblem:
    (folder / "some.py").write_text(HEAD + text)
    return load_problem(str(folder / "some.py"))


def model(forward: str, init: str = "", arguments: str = "") -> str:
    """A Model with this body of forward."""
    return (
        f"class Model(nn.Module):\n    def __init__(self{arguments}):\n        super().__init__()\n"
        f"        {init or 'pass'}\n"
        f"    def forward(self, x, *more):\n        {forward}\n"
    )


def given(numbers: str, inputs: str, arguments: str = "") -> str:
    """What follows a Model: the numbers of the file, and the lists that its two functions return."""
    return f"{numbers}\ndef get_inputs():\n    return [{inputs}]\ndef get_init_inputs():\n    return [{arguments}]\n"


def text_of(forward: str, numbers: str, inputs: str, init: str = "", arguments: str = "") -> str:
    """A problem whose Model is built from these arguments, by their names."""
    return model(forward, init, arguments and f", {arguments}") + given(numbers, inputs, arguments)


def elements(problem: LoadedProblem, case: Case) -> int:
    return problem.traced(case).elements


def by_name(found: Derived) -> dict[str, Case]:
    return {case.name: case for case in found.cases}


SOFTMAX = text_of(
    "return torch.softmax(x, dim=self.dim)",
    "batch_size = 4096; features = 393216; dim = 1",
    "torch.rand(batch_size, features)",
    "self.dim = dim",
    "dim",
)


def test_a_file_without_cases_gets_two_small_ones_and_an_odd_one_that_is_held_out(tmp_path: Path) -> None:
    problem = loaded(tmp_path, SOFTMAX)
    cases = by_name(derive(problem))
    assert list(cases) == [SMALL, SECOND, ODD]
    assert all(case.small and case.derived for case in cases.values())
    assert [case.held_out for case in cases.values()] == [False, False, True]
    for case in cases.values():
        assert elements(problem, case) <= 40_000
        assert "dim" not in case.params
        problem.run(case)


def test_odd_sizes_are_no_multiples_of_16_and_no_powers_of_two(tmp_path: Path) -> None:
    params = by_name(derive(loaded(tmp_path, SOFTMAX)))[ODD].params
    assert all(type(size) is int and size % 16 and size & (size - 1) for size in params.values())


def test_an_odd_size_is_one_past_a_tile_where_there_is_room_for_one(tmp_path: Path) -> None:
    text = text_of("return x @ x.T", "rows = 1024; columns = 4096", "torch.randn(rows, columns)")
    assert int(by_name(derive(loaded(tmp_path, text)))[ODD].params["columns"]) % 32 == 1


def test_a_small_problem_keeps_enough_rows_for_several_programs_in_one_case(tmp_path: Path) -> None:
    text = text_of("return torch.sin(x)", "rows = 201; columns = 12", "torch.randn(rows, columns)")
    sizes = [int(case.params["rows"]) for case in derive(loaded(tmp_path, text)).cases]
    assert min(sizes) <= 8
    assert max(sizes) >= 48


def test_the_same_file_has_the_same_cases_every_time(tmp_path: Path) -> None:
    problem = loaded(tmp_path, SOFTMAX)
    assert derive(problem) == derive(problem)


FIXED = ("kernel_size", "stride", "padding", "dilation", "groups", "num_groups", "window")
CONVOLUTION = text_of(
    "return self.pool(self.norm(self.conv(x)))",
    "batch_size, channels, out_channels, kernel_size, stride, padding, dilation = 128, 64, 128, 5, 2, 4, 2\n"
    "height = width = 128; groups, num_groups, window = 4, 8, 4",
    "torch.rand(batch_size, channels, height, width)",
    "self.conv = nn.Conv2d(channels, out_channels, kernel_size, stride, padding, dilation, groups); "
    "self.norm = nn.GroupNorm(num_groups, out_channels); self.pool = nn.MaxPool2d(window)",
    "channels, out_channels, kernel_size, stride, padding, dilation, groups, num_groups, window",
)


def test_what_is_no_size_is_left_alone_and_named_with_the_reason(tmp_path: Path) -> None:
    problem = loaded(tmp_path, CONVOLUTION)
    found = derive(problem)
    assert found.cases
    for case in found.cases:
        assert not set(FIXED) & case.params.keys()
        assert case.params["batch_size"] < 128  # type: ignore[operator]
    assert set(FIXED) <= found.left_alone.keys()
    assert "the extent 2×2 instead of 5×5" in found.left_alone["kernel_size"]
    assert "stride = 1×1 instead of 2×2" in found.left_alone["stride"]
    assert "groups = 2 instead of 4" in found.left_alone["groups"]


@pytest.mark.parametrize(
    ("number", "forward"),
    [
        ("axis = 2", "return x.sum(axis)"),
        ("places = 4", "return torch.roll(x, places, 1)"),
        ("diagonal = 6", "return torch.tril(x, diagonal)"),
        ("factor = 8", "return x * factor"),
        ("power = 4", "return x ** power"),
        ("most = 12", "return x.clamp(max=most)"),
        ("count = 6", "for _ in range(count):\n            x = torch.sin(x)\n        return x"),
        ("window = 8", "return F.avg_pool1d(x, window, 2)"),
        ("window = 8", "return x.unfold(2, window, 2)"),
        ("wanted = 8", "return F.adaptive_avg_pool1d(x, wanted)"),
        ("best = 6", "return x.topk(best).values"),
        ("tail = 6", "return F.pad(x, (0, tail))"),
        ("first = 40", "return x[:, :, first:]"),
    ],
)
def test_a_number_that_is_an_argument_of_an_operator_is_never_shrunk(tmp_path: Path, number: str, forward: str) -> None:
    text = text_of(forward, f"rows = 64; channels = 32; length = 512; {number}", "torch.rand(rows, channels, length)")
    found = derive(loaded(tmp_path, text))
    name = number.split()[0]
    assert found.cases
    assert all(name not in case.params for case in found.cases)
    assert name in found.left_alone


TWO = "torch.randn(rows, width), torch.randn(rows, width)"
PRODUCT = "torch.rand(rows, width), torch.rand(width, columns)"
SIZES: dict[str, tuple[str, Callable[[Any], bool]]] = {
    **{
        f"a scale follows a size or its root: {scale}": (
            text_of("return (x @ more[0]) * self.scale", "rows, width, columns = 1024, 4096, 2048", PRODUCT,
                    f"self.scale = {scale}", "width"),
            lambda sizes: sizes["width"] < 4096,
        )
        for scale in ("width**-0.5", "1 / width", "width**0.5")
    },
    **{
        f"a factor follows from a size: {forward}": (
            text_of(f"return {forward}", "rows, width = 64, 4096", "torch.randn(rows, width)"),
            lambda sizes: sizes["width"] < 4096,
        )
        for forward in (
            "x.sum(1) / x.shape[1]", "x.sum() / x.numel()", "x * (0.15 / x.shape[1])",
            "F.cross_entropy(x, torch.arange(len(x)), label_smoothing=0.1)",
        )
    },
    **{
        f"an index past the last one follows the size: {forward}": (
            text_of(f"return {forward}", "rows, width = 64, 4096", "torch.randn(rows, width)"),
            lambda sizes: sizes["width"] < 4096,
        )
        for forward in (
            "torch.where(x > 0, x.shape[1], x.sort(1)[1])", "x.sort(1)[1].masked_fill(x > 0, x.shape[1])",
        )
    },
    "a part of a dimension follows the size of an input, as the places that are drawn": (
        text_of("return x[more[0]]", "rows, width, drawn = 4096, 64, 512",
                "torch.randn(rows, width), torch.randperm(rows)[:drawn]"),
        lambda sizes: sizes["drawn"] <= 64,
    ),
    "a limit of random numbers follows a part of a size, as the shortest prompt of a batch": (
        text_of("return x * (torch.arange(x.shape[1]) >= x.shape[1] - more[0][:, None])", "batch = 64; length = 4096",
                "torch.rand(batch, length), torch.randint(length // 4, length + 1, (batch,))"),
        lambda sizes: sizes["length"] < 4096,
    ),
    "labels below a literal keep their range": (
        text_of("return F.cross_entropy(x, *more)", "rows = 32768; classes = 1000",
                "torch.rand(rows, classes), torch.randint(0, 10, (rows,))"),
        lambda sizes: "get_inputs[1]" not in sizes,
    ),
    "numbers that become equal to a fixed one shrink on: both of 1024 are halved to the 512 that has to stay": (
        text_of("return F.layer_norm(x, (512,)) + more[0]", "",
                "torch.randn(8, 1024, 512), torch.randn(8, 1024, 512)"),
        lambda sizes: sizes["get_inputs[1]"] < 512,
    ),
    **{
        f"a part of a dimension stays a part, neither the whole nor nothing: {part}": (
            text_of(f"return x[:, {part}].exp()", "rows, width = 4096, 8192", "torch.randn(rows, width)"),
            lambda sizes: sizes.get("width", 8192) > 1800,
        )
        for part in ("-1800:", ":1800")
    },
    **{
        f"equal parts of a dimension stay equal: {forward}": (
            text_of(forward, "rows, width = 4096, 128", TWO), lambda sizes: sizes.get("width", 128) % 2 == 0
        )
        for forward in (
            "first, last = x.chunk(2, -1); return x * more[0] + torch.cat([-last, first], -1)",
            "half = x.shape[-1] // 2; return x * more[0] + torch.cat([-x[..., half:], x[..., :half]], -1)",
            "first, last = x.chunk(2, -1); return x * more[0], first, last",
        )
    },
    "a norm keeps enough elements to depend on its input": (
        text_of("return self.norm(self.linear(x))", "rows, columns, features, groups = 1024, 512, 4096, 64",
                "torch.randn(rows, columns)",
                "self.linear = nn.Linear(columns, features); self.norm = nn.GroupNorm(groups, features)",
                "columns, features, groups"),
        lambda sizes: sizes.get("features", 4096) >= 8 * 64,
    ),
    **{
        f"a group keeps more than one channel: {layer}": (
            text_of("return self.layer(x)", "rows, features, width, side, groups = 64, 64, 64, 128, 8",
                    "torch.randn(rows, width, side, side)", f"self.layer = {layer}", "width, features, groups"),
            lambda sizes: sizes["features"] >= 2 * 8,
        )
        for layer in ("nn.GroupNorm(groups, features)", "nn.Conv2d(width, features, 3, groups=groups)")
    },
    "a length shrinks with its chunks: their number stays, and the constructor counts up to the last of one": (
        text_of("return torch.cat([part * self.decay for part in x.split(self.chunk, 1)], 1)",
                "rows, length, chunk = 512, 4096, 256", "torch.randn(rows, length)",
                "self.chunk = chunk; self.register_buffer('decay', 0.9 ** (chunk - 1 - torch.arange(chunk)))", "chunk"),
        lambda sizes: sizes["length"] == 16 * sizes["chunk"] < 4096,
    ),
    "numbers of heads stay where only a view shows them": (
        text_of("q = x.view(*x.shape[:2], self.n_head, -1).transpose(1, 2); "
                "return F.scaled_dot_product_attention(q, q, q)", "batch, length, width, n_head = 32, 256, 512, 8",
                "torch.rand(batch, length, width)", "self.n_head = n_head", "n_head"),
        lambda sizes: "n_head" not in sizes,
    ),
    "a number that decides a branch stays": (
        text_of("return torch.sin(x) if x.shape[1] > 100 else torch.cos(x)", "rows = 4096; columns = 4096",
                "torch.randn(rows, columns)"),
        lambda sizes: sizes.get("columns", 4096) > 100,
    ),
}  # fmt: skip


@pytest.mark.parametrize("rule", SIZES)
def test_sizes_of_derived_cases(tmp_path: Path, rule: str) -> None:
    text, holds = SIZES[rule]
    found = derive(loaded(tmp_path, text))
    assert ODD in by_name(found)
    assert all(holds(case.params) for case in found.cases)


def test_a_value_that_only_the_constructor_sees_stays(tmp_path: Path) -> None:
    text = text_of(
        "return x * self.scale",
        "rows = 1024; features = 512; level = 64",
        "torch.rand(rows, features)",
        "self.scale = nn.Parameter(torch.full((features,), float(level)))",
        "features, level",
    )
    found = derive(loaded(tmp_path, text))
    assert "fill_value = 32.0 instead of 64.0" in found.left_alone["level"]


def test_a_number_of_classes_shrinks_with_the_labels_that_it_limits(tmp_path: Path) -> None:
    text = text_of(
        "return F.cross_entropy(x, *more)",
        "rows = 32768; classes = 4096; shape = (classes,)",
        "torch.rand(rows, *shape), torch.randint(0, classes, (rows,))",
    )
    problem = loaded(tmp_path, text)
    cases = by_name(derive(problem))
    assert cases[SMALL].params["classes"] < 4096  # type: ignore[operator]
    for case in cases.values():
        problem.run(case)


def test_numbers_in_tuples_and_in_the_body_of_get_inputs_are_shrunk(tmp_path: Path) -> None:
    text = text_of(
        "return torch.relu(x)", "batch_size = 512; input_shape = (64, 128)", "torch.randn(batch_size, *input_shape, 16)"
    )
    problem = loaded(tmp_path, text)
    case = by_name(derive(problem))[SMALL]
    assert {"input_shape[0]", "input_shape[1]"} <= case.params.keys()
    assert elements(problem, case) <= 20_000
    instance = problem.instance(case, seed=0)
    assert instance.inputs[0].shape[1] == case.params["input_shape[0]"]  # type: ignore[union-attr]


def test_equal_numbers_shrink_together_where_one_alone_does_not_run(tmp_path: Path) -> None:
    text = text_of(
        "return x + self.bias",
        "rows = 2048; features = 8192; bias_shape = (8192,)",
        "torch.randn(rows, features)",
        "self.bias = nn.Parameter(torch.randn(bias_shape))",
        "bias_shape",
    )
    case = by_name(derive(loaded(tmp_path, text)))[SMALL]
    assert case.params["features"] == case.params["bias_shape[0]"]


def test_the_reason_says_why_equal_numbers_cannot_change_together(tmp_path: Path) -> None:
    text = text_of(
        "return F.cross_entropy(x * x.shape[1] ** 0.25, *more)",
        "",
        "torch.rand(32, 8704), torch.randint(0, 8704, (32,))",
    )
    left = derive(loaded(tmp_path, text)).left_alone
    assert "would still get high = 8704" in left["get_inputs[1]"]
    assert "; together with get_inputs[3]: " in left["get_inputs[1]"]
    assert "instead of 9.658" in left["get_inputs[1]"]


@pytest.mark.parametrize(
    "config",
    [
        "@dataclass\nclass Config:\n    width: int\n    heads: int\n    kind: object = Kind.FAST\n",
        "class Config:\n    def __init__(self, width, heads):\n        self.width, self.heads = width, heads\n",
        "def Config(width, heads):\n    return SimpleNamespace(width=width, heads=heads, more=[Kind.FAST, (1,)])\n",
    ],
)
def test_an_object_of_the_file_is_the_same_in_two_executions(tmp_path: Path, config: str) -> None:
    """The counts among its attributes stay, even where only a view shows them."""
    text = (
        "from dataclasses import dataclass\nfrom enum import Enum\nfrom types import SimpleNamespace\n"
        "class Kind(Enum):\n    FAST = 1\n" + config
        + model("return x.view(len(x), self.heads, -1).softmax(-1).flatten(1) * self.scale",
                "self.heads = config.heads; self.scale = nn.Parameter(torch.ones(config.width))", ", config")
        + given("rows, width, heads = 4096, 1024, 8", "torch.randn(rows, width)", "Config(width, heads)")
    )  # fmt: skip
    found = derive(loaded(tmp_path, text))
    assert len(found.cases) == 3
    assert all("rows" in case.params for case in found.cases)
    assert any("width" in case.params for case in found.cases)
    assert found.left_alone["heads"].endswith(" would be 4 instead of 8")


def test_a_dimension_of_one_element_stays_and_none_is_made(tmp_path: Path) -> None:
    text = text_of(
        "return x.max(dim=-1, keepdim=True).values + x.squeeze()",
        "rows = 3; columns = 1 << 20; few = 2",
        "torch.randn(rows, few, columns)",
    )
    found = derive(loaded(tmp_path, text))
    assert all({"rows", "few"}.isdisjoint(case.params) for case in found.cases if case.name == SMALL)
    assert "1×2×" in found.left_alone["rows"]


def test_a_size_stays_a_multiple_of_a_tile_in_the_small_case_and_in_no_other(tmp_path: Path) -> None:
    """A kernel whose masks are left out for such sizes has a case that judges it."""
    text = text_of(
        "return (x * more[0]).softmax(-1)",
        "rows, width = 4096, 32000",
        "torch.randn(rows, width), torch.randn(rows, width)",
    )
    widths = {
        name: int(case.params.get("width", 32000)) for name, case in by_name(derive(loaded(tmp_path, text))).items()
    }
    assert len(widths) == 3
    assert [name for name, width in widths.items() if width % 32 == 0] == ["derived_small"]


def test_a_network_whose_sizes_are_written_in_its_model_says_why_it_has_no_case(tmp_path: Path) -> None:
    text = text_of(
        "return self.linear(x)", "rows = 64", "torch.randn(rows, 2048)", "self.linear = nn.Linear(2048, 2048)"
    )
    found = derive(loaded(tmp_path, text))
    assert found.cases == ()
    assert f"at most {MOST_ELEMENTS:,} are allowed" in found.left_alone[""]


def test_numbers_that_shrink_together_are_tried_together_first(tmp_path: Path) -> None:
    """Each trace of such a loop has many operators, and only `MOST_CALLS` are traced for one file."""
    text = text_of(
        "return torch.cat([one * self.chunk for one in x.split(self.chunk, 1)], 1)",
        "length = 8192; chunk = 2048",
        "torch.randn(8, length)",
        "self.chunk = chunk",
        "chunk",
    )
    search = Search(problem := loaded(tmp_path, text), problem.cases[0])
    tried: list[dict[str, int]] = []
    attempt = search.attempt
    search.attempt = lambda sizes: (tried.append(sizes), attempt(sizes))[1]  # type: ignore[method-assign]
    assert search.shrunk() == {"length": 1024, "chunk": 256}
    assert tried[-1] == {"length": 1024, "chunk": 256}
    assert {"length": 2048, "chunk": 512} in tried
    assert {"length": 2048, "chunk": 1024} not in tried, "the length alone was tried once"


def test_a_size_shrinks_past_the_number_of_elements_that_are_real(tmp_path: Path) -> None:
    """A constructor's values are real in small tensors only; each operator on them is one call at any size."""
    values = "self.register_buffer('near', torch.exp(-(torch.arange(side)[:, None] - torch.arange(side)).abs() / 8))"
    text = text_of("return x @ self.near", "side = 1024", "torch.randn(8, side)", values, "side")
    problem = loaded(tmp_path, text)
    assert elements(problem, by_name(derive(problem))[SMALL]) <= WANTED_ELEMENTS < 256**2 <= MOST_COUNTED


def test_a_case_is_small_in_between_too(tmp_path: Path) -> None:
    """As the distances of all pairs of points, which no product counts."""
    text = text_of(
        "return (x[:, :, None] - more[0][:, None]).abs().sum(-1).amin(1)", "batch, n, m = 16, 5000, 4000",
        "torch.randn(batch, n, 3), torch.randn(batch, m, 3)",
    )  # fmt: skip
    problem = loaded(tmp_path, text)
    assert problem.traced(by_name(derive(problem))[SMALL]).made <= WANTED_MADE


def test_a_number_is_tried_again_beside_smaller_sizes_where_the_case_is_too_large(tmp_path: Path) -> None:
    """640 halves to 320 with the other 320 in its ratio, and not again, as 80 is no multiple of the groups. When the
    other is 64, it may be 160."""
    text = text_of(
        "return self.s(x) + self.b(self.m(self.a(self.n(x))))", "rows, inner, outer = 8, 320, 640",
        "torch.randn(rows, inner, 16, 16)",
        "self.n, self.m = nn.GroupNorm(32, inner), nn.GroupNorm(32, outer); self.a = nn.Conv2d(inner, outer, 3, 1, 1); "
        "self.b = nn.Conv2d(outer, outer, 3, 1, 1); "
        "self.s = nn.Identity() if inner == outer else nn.Conv2d(inner, outer, 1)", "inner, outer",
    )  # fmt: skip
    problem = loaded(tmp_path, text)
    found = by_name(derive(problem))
    assert elements(problem, found[SMALL]) < MOST_ELEMENTS


def test_a_limit_in_the_ratio_of_a_size_that_changes_without_it_stays(tmp_path: Path) -> None:
    """No kernel can know a limit that is computed from nothing that it gets, such as the height of a camera's image."""
    text = text_of(
        "return torch.where(x < HEIGHT, x, -1.0)", "points, cameras, HEIGHT = 3000, 6, 900",
        "torch.randn(points, cameras)",
    )  # fmt: skip
    found = derive(loaded(tmp_path, text))
    assert [case.params.get("HEIGHT", 900) for case in found.cases] == [900] * 3
    assert len({case.params.get("cameras", 6) for case in found.cases}) > 1


def test_what_inputs_are_computed_from_may_change_with_a_size(tmp_path: Path) -> None:
    """Such as the places of a lattice, whose number is the third power of its side."""
    lattice = "(torch.arange(side ** 3) % side).float() + torch.full((side ** 3,), 1.5 * side)"
    found = derive(loaded(tmp_path, text_of("return x.exp()", "side = 48", lattice)))
    assert {case.params["side"] for case in found.cases} < {*range(2, 28)}
    lengths = "torch.randint(1, page * pages + 1, (rows * pages, page))"
    paged = text_of("return x * 2", "rows, page, pages = 64, 16, 63", lengths)
    assert derive(loaded(tmp_path, paged)).cases[0].params["pages"] < 63


def test_an_operand_may_follow_an_argument_of_the_constructor(tmp_path: Path) -> None:
    """As a decay by the places in a chunk, of which a loop computes as many as before."""
    init = "self.chunk = chunk"
    forward = """return torch.cat([x[:, at:at + self.chunk] * (self.chunk - 1 - torch.arange(self.chunk))
                          for at in range(0, x.shape[1], self.chunk)], 1)"""
    text = text_of(forward, "rows, length, chunk = 64, 2048, 128", "torch.randn(rows, length)", init, "chunk")
    small = by_name(derive(loaded(tmp_path, text)))[SMALL].params
    assert small["length"] == 16 * small["chunk"] < 2048


def test_what_a_constructor_makes_has_other_sizes_and_so_have_shifts_and_coarse_levels(tmp_path: Path) -> None:
    """Frequencies of a transform, a shift by half of them, and the last place of a level with half of the side."""
    init = 'self.register_buffer("places", torch.fft.fftfreq(side))'
    forward = """half = F.avg_pool1d(torch.roll(x * self.places, (self.places.shape[0] // 2,), (1,)), 2)
        return half / (half.shape[1] - 1)"""
    found = derive(loaded(tmp_path, text_of(forward, "rows, side = 64, 2048", "torch.randn(rows, side)", init, "side")))
    assert by_name(found)[SMALL].params["side"] < 2048


def test_a_factor_that_equals_a_size_stays(tmp_path: Path) -> None:
    """Rows and columns shrink only together, and the factor has the same value."""
    text = text_of("return x @ x * FACTOR", "rows, columns, FACTOR = 1024, 1024, 1024", "torch.randn(rows, columns)")
    found = derive(loaded(tmp_path, text))
    assert all("FACTOR" not in case.params for case in found.cases)
    assert "mul would get other = 512 instead of 1024" in found.left_alone["FACTOR"]


DRAWN = "torch.randn(rows, features)"
INPUTS = "def get_inputs():\n    return [torch.randn(64, 32)]\ndef get_init_inputs():\n    return []\n"


def test_a_problem_whose_sizes_depend_on_values_is_refused_with_what_helps(tmp_path: Path) -> None:
    text = model("return x[x > 0]") + INPUTS
    with pytest.raises(ProblemError, match=r"sizes of outputs differ from draw to draw: .*in small cases too: return"):
        derive(loaded(tmp_path, text))


def test_a_size_that_depends_on_values_and_stays_inside_is_no_reason_to_refuse(tmp_path: Path) -> None:
    found = derive(loaded(tmp_path, model("return x[x > 0].sum()") + given("rows, features = 512, 96", DRAWN)))
    assert [one.name for one in found.cases] == [SMALL, SECOND, ODD]
    assert found.cases[0].params["rows"] == 8


PAGED = """
class Model(nn.Module):
    def forward(self, x, table, lengths):
        found = []
        for row, length in zip(table, lengths.tolist()):
            pages = row[: (length + x.shape[1] - 1) // x.shape[1]].tolist()
            found.append(torch.cat([x[page] for page in pages])[:length].sum(0))
        return torch.stack(found)

pages, page, width, batch = 64, 16, 128, 8

def get_inputs():
    own = pages // batch
    table = torch.randperm(pages)[: batch * own].reshape(batch, own)
    return [torch.randn(pages, page, width), table, torch.randint(1, own * page + 1, (batch,))]

def get_init_inputs():
    return []
"""


def test_a_problem_that_reads_lengths_and_pages_has_cases(tmp_path: Path) -> None:
    problem = loaded(tmp_path, PAGED)
    found = derive(problem)
    assert [one.name for one in found.cases] == [SMALL, SECOND, ODD]
    for case in found.cases:
        instance = problem.instance(case, seed=1)
        x, table, lengths = (one for one in instance.inputs if isinstance(one, torch.Tensor))
        assert x.numel() <= WANTED_ELEMENTS
        assert table.max() < len(x)
        assert lengths.max() <= table.shape[1] * x.shape[1]


def test_a_problem_that_reads_values_and_is_large_says_what_cannot_be_traced(tmp_path: Path) -> None:
    text = model("return x * x.max().item()") + given("rows, features = 8192, 4096", DRAWN)
    found = derive(loaded(tmp_path, text))
    assert found.cases == ()
    assert "its operators cannot be traced without values" in found.left_alone[""]


def test_a_model_that_casts_its_layers_has_cases(tmp_path: Path) -> None:
    text = text_of(
        "return self.norm(x.half()) + self.norm.weight.dtype.itemsize",
        "rows, features = 2048, 1024",
        "torch.randn(rows, features)",
        "self.norm = nn.LayerNorm(features).to(torch.bfloat16).half()",
        "features",
    )
    problem = loaded(tmp_path, text)
    assert len(derive(problem).cases) == 3
    assert problem.outline(problem.cases[0]).module.norm.weight.dtype == torch.float16


def test_what_is_stated_is_not_derived(tmp_path: Path) -> None:
    stated = 'CASES = [dict(name="large", batch_size=8192), dict(name="small", small=True, batch_size=2, features=9)]\n'
    problem = loaded(tmp_path, SOFTMAX + stated)
    assert [case.name for case in derive(problem).cases] == [ODD]
    both = SOFTMAX + stated.replace("]\n", ', dict(name="odd", held_out=True, batch_size=3)]\n')
    assert derive(loaded(tmp_path, both)) == Derived()


def test_derived_cases_have_the_dtype_of_the_timed_one_and_for_the_interpreter_no_bfloat16(tmp_path: Path) -> None:
    problem = loaded(tmp_path, SOFTMAX + 'CASES = [dict(name="large", dtype="bfloat16")]\n')
    assert {case.dtype for case in derive(problem).cases} == {"bfloat16"}
    assert {case.dtype for case in derive(problem, interpreted=True).cases} == {"float32"}


STATED = """
CASES = [
    dict(name="large", dtype="float32"),
    dict(name="small", small=True, batch_size=2, features=9),
    dict(name="odd", held_out=True, batch_size=1001),
]
"""


@pytest.mark.parametrize("more", ["", STATED])
def test_a_dtype_asked_for_is_that_of_every_case(tmp_path: Path, more: str) -> None:
    path = str(loaded(tmp_path, SOFTMAX + more).file)
    problem, _ = load_with_cases(path, Loading(dtype="float16", which="derived"), interpreted=True)
    assert {case.dtype for case in problem.cases} == {"float16"}
    assert {case.small for case in problem.cases} == {case.held_out for case in problem.cases} == {True, False}
    small = next(case for case in problem.cases if case.small)
    assert problem.instance(small, seed=1).inputs[0].dtype == torch.float16  # type: ignore[union-attr]


@pytest.mark.parametrize("more", ["", STATED])
def test_small_cases_in_bfloat16_are_in_float32_on_the_interpreter_only(tmp_path: Path, more: str) -> None:
    path = str(loaded(tmp_path, SOFTMAX + more).file)
    on_gpu, _ = load_with_cases(path, Loading(dtype="bfloat16", which="derived"))
    assert {case.dtype for case in on_gpu.cases} == {"bfloat16"}
    interpreted, _ = load_with_cases(path, Loading(dtype="bfloat16", which="derived"), interpreted=True)
    assert {case.dtype for case in interpreted.cases if case.small} == {"float32"}
    assert {case.dtype for case in interpreted.cases if not case.small} == {"bfloat16"}


def test_the_steps_of_a_recurrent_layer_stay_where_one_operator_computes_them(tmp_path: Path) -> None:
    """Kernels are unrolled, and serve their number alone."""
    layer = text_of(
        "return self.rnn(x)[0]", "batch, steps, width = 64, 10, 128", "torch.randn(batch, steps, width)",
        "self.rnn = nn.LSTM(width, 48, batch_first=True)", "width",
    )  # fmt: skip
    cases = by_name(derive(loaded(tmp_path, layer)))
    assert all("steps" not in case.params for case in cases.values())
    assert "width" in cases[ODD].params


def test_a_list_of_layer_sizes_is_shrunk(tmp_path: Path) -> None:
    layers = text_of(
        "return self.layers(x)", "rows, sizes = 256, [2048, 1024]", "torch.randn(rows, 512)",
        "self.layers = nn.Sequential(nn.Linear(512, layer_sizes[0]), nn.ReLU(), nn.Linear(*layer_sizes))",
        "layer_sizes",
    ).replace("return [layer_sizes]", "return [sizes]")  # fmt: skip
    cases = by_name(derive(loaded(tmp_path, layers)))
    assert {"sizes[0]", "sizes[1]", "rows"} <= cases[SMALL].params.keys()


def test_a_dtype_that_torch_does_not_have_is_refused(tmp_path: Path) -> None:
    path = str(loaded(tmp_path, SOFTMAX).file)
    with pytest.raises(ProblemError, match="'half8' is no floating-point dtype"):
        load_with_cases(path, Loading(dtype="half8"))


def test_stated_cases_only_are_loaded_where_that_is_asked_for(tmp_path: Path) -> None:
    problem = loaded(tmp_path, SOFTMAX)
    path = str(problem.file)
    assert [case.name for case in load_with_cases(path, Loading(which="stated"))[0].cases] == ["default"]
    assert [case.name for case in load_with_cases(path, Loading())[0].cases] == ["default"]
    with_derived = load_with_cases(path, Loading(which="derived"))[0]
    assert [case.name for case in with_derived.cases] == ["default", SMALL, SECOND, ODD]
    again, left = load_with_cases(path, Loading(which="derived"), with_derived.cases)
    assert again.cases == with_derived.cases
    assert left == {}


def test_a_sidecar_beside_cases_may_hold_derived_ones_only(tmp_path: Path) -> None:
    text = SOFTMAX + 'CASES = [dict(name="large", batch_size=8192)]\n'
    problem = loaded(tmp_path, text)
    sidecar = tmp_path / "some.cases.json"
    derived = '{"name": "derived_small", "small": true, "derived": true, "params": {"batch_size": 2, "features": 9}}'
    sidecar.write_text('{"cases": [' + derived + "]}")
    assert [case.name for case in load_problem(str(problem.file)).cases] == ["large", "derived_small"]
    assert [case.name for case in load_with_cases(str(problem.file), Loading(which="stated"))[0].cases] == ["large"]
    sidecar.write_text('{"cases": [' + derived.replace('"derived": true, ', "") + "]}")
    with pytest.raises(ProblemError, match="derived cases only"):
        load_problem(str(problem.file))


def test_a_problem_that_reads_its_values_from_a_file_is_traced_like_others(tmp_path: Path) -> None:
    torch.save(torch.randn(300, 64), tmp_path / "values.pt")
    reads = f"torch.load({str(tmp_path / 'values.pt')!r}, weights_only=True)[:ROWS]"
    text = f"""\
import torch

ROWS = 300


class Model(torch.nn.Module):
    def forward(self, x):
        return x.relu()


def get_inputs():
    return [{reads}]


def get_init_inputs():
    return []
"""
    (tmp_path / "reads.py").write_text(text)
    problem = load_problem(str(tmp_path / "reads.py"))
    found = derive(problem)
    assert min(int(case.params["ROWS"]) for case in found.cases) < 300, "the end of the slice follows the input"
    assert not found.left_alone
