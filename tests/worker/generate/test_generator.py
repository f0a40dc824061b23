"""What Inductor generates for a problem without a GPU, and the candidate that it becomes, on a real worker."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from evaluated import StartedWorker, gives_the_same
from forked import Programs
from generated import exact
from kernelwright.errors import ProblemError
from kernelwright.evaluator.client import ProcessWorker
from kernelwright.inductor import NotConverted, candidate_text, candidate_texts, library_call
from kernelwright.model import Candidate, Generated, LibraryMode, Loading, Status
from problem_text import problem_text

BIASED = """
import torch
import torch.nn as nn

rows, features = 4096, 3000

class Model(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(features))

    def forward(self, x):
        return {forward}

def get_inputs():
    return [torch.randn(rows, features)]

def get_init_inputs():
    return [features]

CASES = [dict(name="large"), dict(name="small", small=True, held_out=True, rows=3, features=37)]
"""


def biased(forward: str, rows: int | str = 4096, features: int = 3000) -> str:
    """A problem with one input and a bias."""
    return BIASED.replace("{forward}", forward).replace("4096, 3000", f"{rows}, {features}")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("generated")


def loaded(worker: StartedWorker, folder: Path, text: str, loading: Loading = Loading()) -> ProcessWorker:  # noqa: B008
    (folder / "problem.py").write_text(text)
    worker().load(str(folder / "problem.py"), loading)
    return worker()


def generated(worker: StartedWorker, folder: Path, text: str, loading: Loading = Loading()) -> Generated:  # noqa: B008
    return loaded(worker, folder, text, loading).generate()


def passes_small(worker: StartedWorker, source: str) -> None:
    """The candidate is right on the small case of the problem that is loaded, at other sizes than the timed ones."""
    result = worker().evaluate(Candidate(source=source), "verify")
    assert {case.case: case.status for case in result.results}["small"] is Status.PASSED, result.reason


def test_one_capture_has_symbols_in_place_of_sizes_and_rows_are_reduced_in_one_piece_too(
    shared_worker: StartedWorker, folder: Path
) -> None:
    """The timed sizes are captured only where this is not possible."""
    found = generated(shared_worker, folder, biased("torch.relu(x + self.bias).mean(1)"))
    (first,) = found.captures
    assert first.sizes is not None
    assert first.sizes.shapes == (("rows", "features"), ("features",))
    assert first.sizes.values == {"rows": 4096, "features": 3000}
    assert first.sizes.conditions == ()
    assert first.names == ("x", "bias")
    assert all(kernel.configs for kernel in first.kernels)
    assert [kernel.operations for kernel in first.kernels] == [("aten.add", "aten.relu", "aten.mean")]
    assert len(found.rows) == 1
    looped, whole = candidate_texts(found, "finish")[:2]
    assert "tl.range(" in looped
    assert "tl.range(" not in whole
    assert "R0_WIDTH=triton.next_power_of_2(features)" in whole
    for source in (looped, whole):
        passes_small(shared_worker, source)


@pytest.mark.parametrize(("count", "shape"), [
    ("int(features)", ("rows", "x_size1")), ("7", ("rows", "features")),
])  # fmt: skip
def test_a_number_among_the_inputs_that_is_computed_from_a_size_keeps_it(
    shared_worker: StartedWorker, folder: Path, count: str, shape: tuple[str, str]
) -> None:
    """The number alone: sides that differ with it between cases are sizes."""
    text = biased("x * count + self.bias").replace("forward(self, x)", "forward(self, x, count)")
    text = text.replace("features)]", f"features), {count}]")
    first = generated(shared_worker, folder, text).captures[0]
    assert first.sizes is not None
    assert first.sizes.shapes[0] == shape
    assert first.numbers.get("count") == (None if count == "7" else "3000"), "other values are refused"


REDUCED = {
    "softmax": "torch.softmax(x * self.bias, 1)", "sum of powers": "torch.logsumexp(x * self.bias, 1)",
    "place": "(x * self.bias).argmax(1)", "least": "torch.cat((x.amin(1), (x + self.bias).amax(1)))",
}  # fmt: skip


@pytest.mark.parametrize("name", REDUCED)
def test_reductions_by_functions_of_inductor_are_right(
    shared_worker: StartedWorker, programs: Programs, folder: Path, name: str
) -> None:
    """In a loop over the row and in one piece; torch 2.14 has other functions than 2.13."""
    texts = candidate_texts(generated(shared_worker, folder, biased(REDUCED[name])), "none")
    for source in (texts[0], next(one for one in texts if "tl.range(" not in one)):
        gives_the_same(shared_worker(), programs, folder, source)


NORM = """total = x + residual
rstd = torch.rsqrt(total.square().mean(-1, keepdim=True) + 1e-6)
return F.silu(total * rstd * self.weight), total"""


def with_gradients(forward: str) -> str:
    both = {"x": "torch.randn(rows, features)", "residual": "torch.randn(rows, features)"}
    return problem_text(
        forward, "rows=512, features=1000", both, top="GRADIENTS = True",
        init="self.weight = nn.Parameter(torch.randn(features))", numbers="features=1000",
        small="rows=3, features=37",
    )  # fmt: skip


PICKED = problem_text(
    "picked = x.log_softmax(-1)[:, :-1].gather(-1, chosen[:, 1:].unsqueeze(-1))\nreturn picked.squeeze(-1).sum(-1)",
    "rows=64, steps=32, features=1000",
    {"x": "torch.randn(rows, steps, features)", "chosen": "torch.randint(0, features, (rows, steps))"},
    top="GRADIENTS = True", small="rows=3, steps=5, features=37",
)  # fmt: skip
CHANGED = problem_text(
    "total.add_(x.sum(1))\nreturn total / share, x.mul_(2)", "rows=4096, features=1000, share=3",
    {"x": "torch.randn(rows, features)", "total": "torch.randn(rows)", "share": "share"},
    top='MUTATES = ("x", "total")', small="rows=3, features=37",
)  # fmt: skip
SEQUENTIAL = """
import torch

class Model(torch.nn.Sequential):
    def __init__(self, features):
        super().__init__(torch.nn.LayerNorm(features), torch.nn.GELU())

def get_inputs(rows=4096):
    return [torch.randn(rows, 48)]

def get_init_inputs():
    return [48]

CASES = [dict(name="large"), dict(name="small", small=True, held_out=True, rows=3)]
"""
ROUTER = problem_text(
    "weights, places = x.softmax(-1).topk(2, dim=-1)\nreturn weights / weights.sum(-1, keepdim=True), places",
    "tokens=4096, experts=64", {"x": "torch.randn(tokens, experts)"},
    small="tokens=5, experts=11",
)  # fmt: skip
SHIFTED = problem_text(
    "cost = x.square().sum(1)\nshifted = cost - cost.min()\nreturn torch.softmax(-shifted / (cost.std() + 1e-6), 0)",
    "rows=16384, features=40", {"x": "torch.randn(rows, features)"}, small="rows=65",
)  # fmt: skip
HALVES = problem_text(
    "torch.cat([x.sin(), x.cos()], -1) @ self.weight", "rows=1024, features=96", {"x": "torch.randn(rows, features)"},
    init="self.weight = nn.Parameter(torch.randn(features * 2, 48))", numbers="features=96",
    small="rows=3, features=8",
)  # fmt: skip
ONE_ROW = problem_text(
    "(x * y).sum(-1)", "rows=1, features=512", dict.fromkeys("xy", "torch.randn(rows, features)"),
    small="rows=1, features=40",
).replace('CASES = [dict(name="large")', 'CASES = [dict(name="one"), dict(name="many", rows=64)')  # fmt: skip
CHUNKS = problem_text(
    """state, parts = x.new_zeros(x.shape[0], 1), []
for start in range(0, x.shape[1], self.chunk):
    part = x[:, start : start + self.chunk]
    parts.append(part + state)
    state = state + (part * self.decay).sum(1, keepdim=True)
return torch.cat(parts, 1)""",
    "rows=1024, length=192", {"x": "torch.randn(rows, length)"}, numbers="chunk=64",
    init='self.chunk = chunk\nself.register_buffer("decay", 0.9 ** torch.arange(chunk))',
    small="rows=2, length=12, chunk=4",
)  # fmt: skip
LEVELS = problem_text(
    "torch.cat((x, y), 1) * self.scale", "rows=512, image=640",
    {"x": "torch.randn(rows, image // 8)", "y": "torch.randn(rows, image // 16)"}, numbers="image=640",
    init="self.register_buffer('scale', torch.cat([torch.full((image // one,), 1.0 / one) for one in (8, 16)]))",
    small="rows=3, image=70",
)  # fmt: skip
STEPS = problem_text(
    "state = x[0]\nfor one in x[1:]:\n    state = state * 0.9 + one\nreturn state", "steps=6, rows=1024",
    {"x": "torch.randn(steps, rows)"}, small="steps=3, rows=5",
)  # fmt: skip
SWIN = problem_text(
    """for rate in self.rates:
    x = x * (1 - rate)
return self.norm(x)[:, self.order] + torch.arange(x.shape[1], device=x.device)""",
    "rows=4096", {"x": "torch.randn(rows, 64)"}, numbers="features=64, depth=4",
    init="""self.rates = [rate.item() for rate in torch.linspace(0, 0.1, depth)]
self.register_buffer("order", torch.arange(features).flip(0))
self.norm = torch.nn.LayerNorm(features)""",
    small="rows=3",
)  # fmt: skip
NESTED = problem_text(
    """hidden, more = state
total = x[:, ::2] + hidden * more["scale"]
return {"total": total, "means": (total.mean(1), None), "hidden": [hidden.exp()]}""",
    "rows=512, width=3000",
    {"x": "torch.randn(rows, 2 * width)",
     "state": '(torch.randn(rows, 2 * width)[:, :width], {"scale": torch.randn(rows, 1).expand(rows, width)})'},
    small="rows=3, width=37",
)  # fmt: skip
FRACTIONS = problem_text(
    "return F.gelu(self.down(self.up(x)))[: int(1.25 * x.shape[0] / 3)]", "rows=999, dim=96",
    {"x": "torch.randn(rows, dim)"}, numbers="dim=96", small="rows=7, dim=15",
    init="""ratio = 4.0
self.up = nn.Linear(dim, int(dim * ratio))
self.down = nn.Linear(int(dim * ratio), int(2 * dim / 3))""",
)  # fmt: skip
WINDOW_AFTER_WINDOW = problem_text(
    "F.avg_pool2d(F.avg_pool2d(F.avg_pool2d(self.conv(x), 3, 2), 3, 1), 3, 2).exp()",
    "batch=16, channels=24, side=100", {"x": "torch.randn(batch, channels, side, side + 20)"},
    init="self.conv = nn.Conv2d(channels, 2 * channels, 1, groups=groups)", numbers="channels=24, groups=4",
    small="batch=1, channels=4, side=19",
)  # fmt: skip
GROUPED = problem_text(
    "F.max_pool1d(self.norm(x), 3, 2).relu()", "rows=512, hidden=256, side=100",
    {"x": "torch.randn(rows, hidden, side)"}, init="self.norm = nn.GroupNorm(groups, hidden)",
    numbers="hidden=256, groups=8", small="rows=2, hidden=16, side=7",
)  # fmt: skip
CAUSAL = problem_text(
    "self.conv(x)[..., : x.shape[2]].exp()", "rows=64, hidden=96, side=100, window=4",
    {"x": "torch.randn(rows, hidden, side)"},
    init="self.conv = nn.Conv1d(hidden, hidden, window, groups=hidden, padding=window - 1)",
    numbers="hidden=96, window=4", small="rows=2, hidden=5, side=7",
)  # fmt: skip
RECURRENT = problem_text(
    "self.gru(x)[0]", "rows=512, width=20", {"x": "torch.randn(2, rows, 20)"}, init="self.gru = nn.GRU(20, 12)",
    small="rows=5",
)  # fmt: skip
MANY_STEPS = problem_text(
    "self.gru(F.relu(x))[0].exp()", "rows=2, steps=300", {"x": "torch.randn(rows, steps, 20)"},
    init="self.gru = nn.GRU(20, 12, 2, batch_first=True, bidirectional=True, dropout=0.5)", small="rows=3, steps=4",
)  # fmt: skip


@dataclass(frozen=True)
class Example:
    """A problem whose candidate is right. has, lacks: what is in the candidate's text, and what is not. library: the
    mode in which it is loaded and written. judged: by the worker, which calls a backward too,
    and has the functions of a device's library, which Triton's interpreter lacks."""

    text: str
    has: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    library: LibraryMode = "none"
    judged: bool = False


EXAMPLES = {
    "a forward and its backward are one candidate": Example(
        with_gradients(NORM),
        ("SAVED = ('saved_0',)",  # the reciprocal root; the sum is an output
         "def kernel_function(x, residual, weight):",
         "def kernel_backward(weight, output_1, saved_0, grad_0, grad_1):"),
        judged=True,
    ),
    "a backward that autograd computes in place, by a mask": Example(
        with_gradients("(x + residual).clamp(-1, 1) * self.weight"), judged=True
    ),
    "a part of an input that a backward needs is saved densely": Example(PICKED, ("SAVED = (",), judged=True),
    "inputs that forward changes are changed by kernels, and a number among them keeps its value": Example(
        CHANGED, ("return out, x\n", "if share != 3:", 'raise ValueError("x is changed in place and is not dense")'),
    ),
    "a recurrent layer is unrolled, and its zeros are not loaded": Example(
        RECURRENT, ("tl.full([1, 1], 0.0, tl.float32)",), judged=True
    ),
    "a recurrent layer of many steps is a library step in mode any, for other numbers of steps too": Example(
        MANY_STEPS, ("torch.gru(", "tl.exp("), lacks=("captured sizes only",), library="any"
    ),
    "parameters whose names begin with a number are arguments too": Example(
        SEQUENTIAL, ("def kernel_function(input, _0_weight, _0_bias):",)
    ),
    "a product with more is a template where no library call is allowed": Example(
        biased("torch.relu(x @ self.bias.outer(self.bias[:24]))"), ("tl.dot(",)
    ),
    "an operator that is on no list is a library step in mode any": Example(
        biased("torch.relu(x + self.bias).digamma().exp()"), ("torch.digamma(",), library="any"
    ),
    "a part of an input begins where the input does, which may be in the middle of memory": Example(
        problem_text(
            "return x[1].digamma().exp(), x[1]", "rows=512, features=1000",
            {"x": "torch.rand(2, rows, features) + 0.5"}, small="rows=3, features=15",
        ),
        ("x.storage_offset() + ",), library="any", judged=True,
    ),
    "the largest of short rows are found by kernels": Example(ROUTER, lacks=("torch.topk",)),
    "a shift that only guards against overflow has memory of its own": Example(SHIFTED),
    "a size that is compared with every index may be a constant": Example(
        HALVES, ("tl.full([BLOCK_M, BLOCK_K], features, tl.int64)",)
    ),
    "one number may be added to a product": Example(biased("x @ x.t() + self.bias.mean()")),
    "one row and many where both are stated": Example(ONE_ROW),
    "a loop over chunks keeps their number only": Example(CHUNKS, lacks=("captured sizes only",)),
    "the levels of an image are sizes, whatever its side": Example(LEVELS, lacks=("640", "kernel_function_1")),
    "every stated case has kernels for its steps": Example(
        STEPS, ("if x.shape[0] == 6:", "return kernel_function_2(x)"), lacks=("captured sizes only",), judged=True
    ),
    "a constructor may read numbers that it counted itself": Example(SWIN),
    "nested values, and inputs that are not dense": Example(
        NESTED, ("state_1_scale = state[1]['scale']",), judged=True
    ),
    "whole parts of fractions of sizes are sizes": Example(FRACTIONS, lacks=("captured sizes only",)),
    "a side after two windows follows from the first": Example(WINDOW_AFTER_WINDOW, lacks=("captured sizes only",)),
    "a padding follows from a window that is a number": Example(CAUSAL, lacks=("captured sizes only",)),
    "sides after windows and channels of groups are sizes": Example(GROUPED, ("8 * hidden",)),
    "padding counts with sizes, and a scale is a root of one": Example(
        biased("nn.functional.pad(x * x.shape[1] ** -0.5 + self.bias, (1, 2)).exp()"), ("float(features) ** (-0.5)",)
    ),
    "scales of two sizes that are equal are two": Example(
        problem_text(
            "x * x.shape[0] ** -0.5 + (x * x.shape[1] ** -0.5).exp()", "rows=512, features=512",
            {"x": "torch.randn(rows, features)"}, small="rows=3, features=37",
        ),
        ("float(rows) ** (-0.5)", "float(features) ** (-0.5)"), judged=True,
    ),
    "a scale of a library step is a root of a size": Example(
        biased("torch.baddbmm(self.bias, x[None], (x.t() @ x)[None], alpha=x.shape[1] ** -0.5).exp()"),
        ("alpha=float(features) ** (-0.5)",), library="any",
    ),
    "interpolation counts with sizes": Example(
        biased("nn.functional.interpolate((x + self.bias)[:, None, :], scale_factor=2).exp()")
    ),
    "sides that are whole parts of multiples are sizes": Example(
        biased("nn.functional.interpolate((x + self.bias)[None, None], scale_factor=2, mode='bicubic').exp()"),
        ("int(2.0 * float(features))",),
    ),
    "an image may have few channels where the timed one has many": Example(
        problem_text(
            "F.interpolate(x, scale_factor=2, mode='bilinear').exp()", "rows=64, channels=32, side=20",
            {"x": "torch.randn(rows, channels, side, side)"}, small="rows=2, channels=5, side=7",
        ),
        lacks=("channels >=",),
    ),
    "a spectrum is products with cosines and sines": Example(
        biased("torch.fft.rfft(x + self.bias).abs()"), lacks=("captured sizes only",), judged=True
    ),
    "values are counted in buckets": Example(
        biased("torch.bucketize(x + self.bias, torch.linspace(-2, 2, 9, device=x.device)) + self.bias"), ("= bucket(",)
    ),
    "a subscript in the middle counts with sizes": Example(biased("(x + self.bias)[:, x.shape[1] // 2].exp()")),
}  # fmt: skip


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_problem_becomes_a_candidate_that_is_right_at_other_sizes(
    shared_worker: StartedWorker, programs: Programs, folder: Path, name: str
) -> None:
    example = EXAMPLES[name]
    found = generated(shared_worker, folder, example.text, Loading(library=example.library))
    assert found.captures, found.reason
    assert found.captures[0].sizes is not None, found.reason
    source = candidate_text(found, example.library)
    assert [words for words in example.has if words not in source] == []
    assert [words for words in example.lacks if words in source] == []
    if example.judged:
        passes_small(shared_worker, source)
    else:
        gives_the_same(shared_worker(), programs, folder, exact(source))


def test_long_scans_and_parts_of_a_concatenation_have_grids_that_candidates_have(
    shared_worker: StartedWorker, folder: Path
) -> None:
    text = biased("torch.cat((x, self.bias[None])).cumsum(1)", 2, 300000)
    found = generated(shared_worker, folder, text)
    assert {kernel.grid for one in found.captures for kernel in one.kernels} <= {"Grid1D", "Grid2D"}
    source = candidate_text(found, "none")
    assert "tl.associative_scan(" in source
    passes_small(shared_worker, source)


def test_loops_of_too_many_operators_are_refused_by_their_number(shared_worker: StartedWorker, folder: Path) -> None:
    # Few steps where the judge runs it, which measures tolerances meanwhile.
    loop = "[x := x + self.bias for _ in range(1 if type(x) is torch.Tensor else 5000)][-1]"
    reason = generated(shared_worker, folder, biased(loop)).reason
    assert "forward calls more than 4,096 operators: its loops are unrolled" in reason


def test_a_sum_of_everything_runs_in_few_programs_at_small_sizes(shared_worker: StartedWorker, folder: Path) -> None:
    """At the timed size it has the parts that Inductor chooses there; the interpreter runs one after the other."""
    text = biased("(x * self.bias).square().sum()").replace("rows=3,", "rows=30,")
    source = candidate_text(generated(shared_worker, folder, text, Loading(library="none")), "none")
    parts = "splits_1 = triton.cdiv(rows * features, max(256, triton.cdiv(rows * features, {})))"
    chosen = next(count for count in range(64, 5000) if parts.format(count) in source)
    assert source.count(str(chosen)) == 1
    passes_small(shared_worker, source)


def test_a_measured_config_follows_the_first_of_inductors(shared_worker: StartedWorker, folder: Path) -> None:
    """Rows in a loop get one with several blocks in flight, and where two loops read them one that keeps them in the
    cache. In one piece they have many threads; strided rows get one of many columns."""

    def configs(forward: str) -> list[dict[str, int]]:
        found = generated(shared_worker, folder, biased(forward, features=30000))
        assert {one["num_warps"] for row in found.rows for kernel in row.kernels for one in kernel.configs} <= {32}
        (kernel,) = found.captures[0].kernels
        return list(kernel.configs)

    in_flight, long = {"num_warps": 8, "num_stages": 4}, {"R0_BLOCK": 16384, "num_warps": 32}
    first, second, third, *_ = configs("(x + self.bias) / x.norm(dim=1, keepdim=True)")
    assert first["R0_BLOCK"] == 2048
    assert (second, third) == ({**first, **in_flight, "R0_BLOCK": 4096}, {**first, **long})
    first, second, third, *_ = configs("x.norm(dim=1, keepdim=True)")
    assert second == {**first, **in_flight, "R0_BLOCK": 4096}
    assert third == {**second, "R0_BLOCK": 1024, "num_warps": 4}
    first, second, *_ = configs("self.bias + x[:64].mean(0)")
    assert second == {**first, "XBLOCK": 128, "num_warps": 4}


def test_a_product_alone_is_a_library_call_with_a_template_in_its_place(
    shared_worker: StartedWorker, folder: Path
) -> None:
    found = generated(shared_worker, folder, biased("x @ x.T"))
    assert library_call(found) == "the library call is the computation (aten.mm)"
    assert [one.operator for one in found.captures[0].library_calls] == ["mm.default"]
    assert "tl.dot(" in candidate_text(found, "finish")


def test_why_a_library_call_is_no_step_is_said(shared_worker: StartedWorker, folder: Path) -> None:
    found = generated(shared_worker, folder, biased("torch.fft.rfft(torch.cat((x, x), 1)).abs().exp()"))
    with pytest.raises(NotConverted, match=r"it calls aten\.\w+, which "):
        candidate_text(found, "any")


@pytest.mark.parametrize(
    ("rows", "inner", "dtype", "turned", "copies", "pads"),
    [
        pytest.param(2048, 256, "float32", "", 1, 0, id="rows are contiguous"),
        pytest.param(2048, 250, "float32", "", 2, 6, id="rows are not aligned"),
        pytest.param(2048, 256, "float32", ".T", 0, 0, id="columns are contiguous"),
        pytest.param(64, 250, "float32", "", 0, 0, id="few rows"),
        pytest.param(2048, 250, "float16", "", 2, 6, id="half precision, rows are not aligned"),
        pytest.param(2048, 256, "float16", "", 0, 0, id="half precision"),
    ],
)
def test_factors_are_copied_where_tensor_cores_and_long_loads_need_it(
    shared_worker: StartedWorker, programs: Programs, folder: Path, rows: int, inner: int, dtype: str, turned: str,
    copies: int, pads: int,
) -> None:  # fmt: skip
    second = "columns, inner" if turned else "inner, columns"
    both = {name: f"torch.randn({shape}, dtype=torch.{dtype})" for name, shape in (("x", "rows, inner"), ("y", second))}
    text = problem_text(
        "torch.relu(x @ y)", f"rows={rows}, inner={inner}, columns=4096", both | {"y": both["y"] + turned},
        small="rows=3, inner=5, columns=7",
    )  # fmt: skip
    texts = candidate_texts(generated(shared_worker, folder, text, Loading(library="none")), "none", split=True)
    source = texts[-1]
    depth = f"{pads} + inner" if pads else "inner"
    assert (f"torch.empty((rows, {depth}), dtype=" in source) == bool(pads)
    assert (f"torch.empty_strided(({depth}, columns), (1, {depth}), dtype=" in source) == bool(copies)
    assert source.count("@triton.jit\ndef mm") == 1 + copies, "a copy is a kernel of its own"
    if pads:
        gives_the_same(shared_worker(), programs, folder, exact(texts[0]))


FAULTS = {
    "templates": 'getattr(sys.modules.get("torch._inductor.config"), "max_autotune_gemm", False)',
    "rows": '"torch._inductor.choices" in sys.modules and sys.modules["torch._inductor.choices"].InductorChoices'
    '.should_use_persistent_reduction.__qualname__.startswith("whole_rows")',
}
"""Whether Inductor is set up for these captures."""


@pytest.mark.parametrize("faulty", FAULTS)
def test_where_other_captures_fail_the_rest_remains(shared_worker: StartedWorker, folder: Path, faulty: str) -> None:
    """Beside templates, rows are only there where library calls are allowed."""
    text = problem_text(
        f'assert not ({FAULTS[faulty]}), "a fault"\nreturn torch.softmax(x @ y, -1)',
        "rows=2048, inner=256, columns=4096",
        {"x": "torch.randn(rows, inner)", "y": "torch.randn(inner, columns)"},
        small="rows=3, inner=5, columns=7", top='LIBRARY = "any"',
    )  # fmt: skip
    line = next(at for at, said in enumerate(text.splitlines(), 1) if "assert not" in said)
    found = generated(shared_worker, folder, text)
    assert found.reason == (
        f"{faulty}: Inductor traced forward for a GPU, and line {line} raised AssertionError: a fault"
    )
    made = {name: bool(getattr(found, name)) for name in ("captures", "templates", "rows")}
    assert made == {"captures": True, "templates": True, "rows": True, faulty: False}
    assert "torch.mm(" in candidate_text(found, "any")
    if faulty == "rows":
        assert "tl.dot(" in candidate_text(found, "none")
    else:
        with pytest.raises(NotConverted, match=r"aten\.mm, which needs LIBRARY .*; templates: Inductor traced"):
            candidate_text(found, "none")


def without_symbols(small: str = "") -> str:
    text = problem_text(
        'if not isinstance(x.shape[0], int):\n    raise ValueError("of another size")\nreturn torch.softmax(x, -1)',
        "rows=2048, columns=512", {"x": "torch.randn(rows, columns)"}, small=small,
    )  # fmt: skip
    return text if small else text.partition("CASES = ")[0]


def test_where_no_symbols_can_be_traced_the_sizes_of_the_only_case_remain(
    shared_worker: StartedWorker, folder: Path
) -> None:
    made = generated(shared_worker, folder, without_symbols(), Loading(which="derived"))
    assert [one.sizes for one in made.captures] == [None]
    assert "raised ValueError: of another size" in made.reason
    source = candidate_text(made, "none")
    assert "captured sizes only" in source
    found = shared_worker().evaluate(Candidate(source=source), "search")
    assert found.status is Status.NOT_VERIFIED, "no GPU, and no small case that it serves"
    assert [one.name for one in found.serves] == ["sized"]
    assert next(one for one in found.results if "derived" not in one.case).timing is not None


def test_where_other_cases_are_stated_each_has_its_captured_sizes(shared_worker: StartedWorker, folder: Path) -> None:
    found = generated(shared_worker, folder, without_symbols(small="rows=3"))
    assert [one.tensors[0].shape for one in found.captures] == [(2048, 512), (3, 512)]
    source = candidate_text(found, "none")
    assert "captured sizes only" in source
    passes_small(shared_worker, source)


@pytest.mark.parametrize(("forward", "is_left"), [("self.layer(x)", True), ("self.layer(x).relu()", False)])
def test_a_convolution_with_its_bias_is_one_library_call(
    shared_worker: StartedWorker, folder: Path, forward: str, is_left: bool
) -> None:
    """A kernel adds the bias, but there is nothing besides that it could do meanwhile."""
    text = problem_text(
        forward, "batch=16, side=64", {"x": "torch.randn(batch, 3, side, side)"}, numbers="channels=32",
        init="self.layer = nn.Conv2d(3, channels, 3)", small="batch=2, side=9, channels=4",
    )  # fmt: skip
    found = generated(shared_worker, folder, text)
    assert all(one.kernels for one in found.captures)
    assert {one.is_one_operator for one in found.captures} == {is_left}
    if is_left:
        assert library_call(found) == "the library call is the computation (aten.convolution)"
        assert "tl.dot(" in candidate_text(found, "any")
    else:
        assert "torch.convolution(" in candidate_text(found, "any")


def test_assertions_of_values_have_no_kernels(shared_worker: StartedWorker, folder: Path) -> None:
    """`one_hot` asserts that its indices are below the number of classes."""
    asserting = "nn.functional.one_hot((x > self.bias).long(), 2).float() * x.unsqueeze(-1)"
    found = generated(shared_worker, folder, biased(asserting))
    assert [len(one.kernels) for one in found.captures] == [1]


WITHOUT_DEVICE = {
    "complement": "x.masked_fill(~(x > self.bias), float('-inf')).amax(1)",
    "list": "x[:, [2, 0]] * 2",
    "written": "torch.zeros_like(x).copy_(x * self.bias)",
    "a number made a tensor": "torch.minimum(x, torch.tensor(0.5, device=x.device))",
}


@pytest.mark.parametrize("name", WITHOUT_DEVICE)
def test_methods_for_which_torch_selects_the_device_need_none(
    shared_worker: StartedWorker, folder: Path, name: str
) -> None:
    found = generated(shared_worker, folder, biased(WITHOUT_DEVICE[name]))
    assert "kernel_function" in candidate_text(found), found.reason


def test_a_contiguous_copy_needs_no_device(shared_worker: StartedWorker, folder: Path) -> None:
    found = generated(shared_worker, folder, biased("x.t().softmax(1).t().contiguous()"))
    assert "kernel_function" in candidate_text(found), found.reason


def test_random_numbers_are_the_reason_where_forward_draws_some(shared_worker: StartedWorker, folder: Path) -> None:
    with pytest.raises(ProblemError, match=r"forward draws random numbers \(bernoulli_\)"):
        generated(shared_worker, folder, biased("nn.functional.dropout(x + self.bias, training=True)"))


def attention(refusal: str = "", width: str = "") -> str:
    return problem_text(
        f"{refusal}return F.scaled_dot_product_attention(x, x, x)", f"rows=1024{width and ', width=64'}",
        {"x": f"torch.randn(2, 4, rows, {width or 64})"}, small="rows=16",
    )  # fmt: skip


def test_an_operator_with_a_seed_that_draws_nothing_is_no_reason(shared_worker: StartedWorker, folder: Path) -> None:
    refused = generated(shared_worker, folder, attention('if x.is_cuda:\n    raise ValueError("for the CPU")\n')).reason
    assert refused.startswith("Inductor traced forward for a GPU, and line ")
    assert refused.endswith(" raised ValueError: for the CPU")


def test_a_forward_for_gpus_only_is_not_run_for_its_seed(shared_worker: StartedWorker, folder: Path) -> None:
    only = attention('if type(x) is torch.Tensor:\n    raise ValueError("for GPUs")\n')
    assert generated(shared_worker, folder, only).captures


def test_attention_becomes_products_and_rows_for_every_length_and_head(
    shared_worker: StartedWorker, folder: Path
) -> None:
    """Which of PyTorch's own kernels serves it depends on the machine."""
    loading = Loading(dtype="bfloat16", which="derived")
    texts = candidate_texts(generated(shared_worker, folder, attention(width="width"), loading), "none")
    text = next(one for one in texts if "attention_kernel" not in one)
    assert "width >=" not in "".join(texts)
    assert text.count("dtype=torch.float32, device") == 1, (
        "scores in half precision are wrong where the softmax is steep"
    )


@pytest.mark.parametrize(
    "factors", ["[features**-0.5, 32.0 / rank]", "[1 / math.sqrt(rank), rank / features]", "[(rank**2 + 1) ** -0.25]"]
)
def test_factors_that_a_constructor_computes_from_sizes_follow_them(
    shared_worker: StartedWorker, folder: Path, factors: str
) -> None:
    """As the scale of an attention, or of a low-rank adapter."""
    text = problem_text(
        "for factor in self.factors:\n    x = x * factor\nreturn x + y.sum(1, keepdim=True)",
        "rows=1024, features=96, rank=24",
        {"x": "torch.randn(rows, features)", "y": "torch.randn(rows, rank)"},
        init=f"self.factors = {factors}", numbers="features=96, rank=24", small="rows=3, features=8, rank=4",
    )  # fmt: skip
    found = generated(shared_worker, folder, text)
    if tuple(map(int, shared_worker().environment().torch.split(".")[:2])) < (2, 13):
        pytest.skip("torch before 2.13 does not trace such a factor")
    assert found.captures[0].sizes is not None
    passes_small(shared_worker, candidate_text(found, "none"))


def test_indices_without_limits_are_left_as_they_are(shared_worker: StartedWorker, folder: Path) -> None:
    """torch 2.13 raises `vr must not be None for symbol` where torch.compile is used."""
    shuffled = "torch.nn.functional.pixel_shuffle(x.expand(1, 4, -1, -1), 2)"
    padded = f'torch.nn.functional.pad({shuffled}, (1, 1, 1, 1), mode="replicate")'
    assert generated(shared_worker, folder, biased(padded)).captures


def test_offsets_have_64_bits_at_all_sizes_where_the_timed_case_needs_them(
    shared_worker: StartedWorker, folder: Path
) -> None:
    found = generated(shared_worker, folder, biased("(x + self.bias).mean(1)", rows="2**20"))
    assert all("'xnumel': 'i64'" in kernel.source for one in found.captures for kernel in one.kernels)
    assert "2**31" not in candidate_text(found, "none")


def test_sizes_that_the_kernels_do_not_serve_are_a_property_that_the_dispatcher_knows(
    shared_worker: StartedWorker, folder: Path
) -> None:
    forward = "torch.relu(x + self.bias).mean(1) if x.shape[1] > 2900 else torch.relu(x + self.bias).mean(1)"
    text = biased(forward).partition("CASES = ")[0]
    source = candidate_text(generated(shared_worker, folder, text, Loading(which="derived")), "finish")
    assert "features >= 2901" in source
    found = shared_worker().evaluate(Candidate(source=source), "verify")
    assert [(one.name, one.shown_by) for one in found.serves] == [("sized", "refused")], found.reason
    assert "the kernels serve sizes where" in found.serves[0].detail


@pytest.mark.parametrize(
    ("forward", "x", "weight"),
    [
        pytest.param("x @ weight", "length, inner", "inner, channels", id="product"),
        pytest.param("torch.bmm(x, weight)", "batch, length, inner", "batch, inner, channels", id="batched"),
        pytest.param("F.conv2d(x, weight, groups=2)", "batch, 2 * channels, length, length + 4",
                     "2 * inner, channels, 3, 3", id="grouped"),
        pytest.param("F.conv1d(x, weight, dilation=2)", "batch, channels, length", "inner, channels, 3", id="dilated"),
        pytest.param("F.conv_transpose2d(x, weight, stride=2)", "batch, channels, length, length + 4",
                     "channels, inner, 3, 3", id="transposed"),
    ],
)  # fmt: skip
def test_products_and_convolutions_in_half_precision_begin_with_templates(
    shared_worker: StartedWorker, programs: Programs, folder: Path, forward: str, x: str, weight: str
) -> None:
    """One of each is judged, for what a few draws of outputs do not show."""
    both = {name: f"torch.randn({shape}, dtype=torch.float16)" for name, shape in (("x", x), ("weight", weight))}
    text = problem_text(
        forward, "batch=6, inner=128, channels=32, length=30", both,
        small="batch=2, inner=33, channels=18, length=7",
    )  # fmt: skip
    found = generated(shared_worker, folder, text)
    assert {one.dtype for one in found.captures[0].tensors} == {"float16"}
    assert library_call(found) is not None
    source = candidate_text(found, "finish")
    assert "tl.dot(" in source
    assert ("x_step * IN_C + x_channel" in source) == ("conv" in forward), "loads of 16 bytes need channels last"
    if forward == "x @ weight" or "dilation" in forward:
        passes_small(shared_worker, source)
    else:
        gives_the_same(shared_worker(), programs, folder, exact(source), adversarial=True)


LEVELS = """
import torch

ROWS, CHUNK, FACTOR = 256, 32, 2.0
SIDES = [(16, 24), (8, 32)]

class Model(torch.nn.Module):
    def __init__(self, chunk, levels):
        super().__init__()
        self.chunk, self.levels = chunk, levels
        self.register_buffer("sides", torch.tensor(levels).float())

    def forward(self, x, factor):
        parts = x.split([height * width for height, width in self.levels], 1)
        found = [one.view(x.shape[0], *sides).amax(1) for one, sides in zip(parts, self.levels)]
        return torch.cat(found, 1) * factor * self.sides.sum(), x.view(x.shape[0], -1, self.chunk).cumsum(-1)

def get_inputs():
    return [torch.randn(ROWS, sum(height * width for height, width in SIDES)), FACTOR]

def get_init_inputs():
    return [CHUNK, SIDES]

CASES = [
    dict(name="large"), dict(name="other factor", ROWS=8, FACTOR=3.0),
    dict(name="small", small=True, ROWS=3, CHUNK=4, **{"SIDES[0][0]": 4, "SIDES[0][1]": 3}),
    dict(name="small factor", small=True, held_out=True, ROWS=5, FACTOR=3.0, CHUNK=8, **{"SIDES[1][0]": 4}),
]
"""


def test_numbers_that_differ_between_cases_tell_sizes_or_which_kernels_serve_them(
    shared_worker: StartedWorker, programs: Programs, folder: Path
) -> None:
    """A chunk and the sides of levels, also values of a buffer, are in no shape; a factor has kernels for
    each stated value."""
    found = generated(shared_worker, folder, LEVELS)
    assert [one.numbers["factor"] for one in found.captures] == ["2.0", "3.0"]
    source = candidate_text(found, "none")
    assert "def kernel_function(x, factor, sides, chunk, levels):" in source
    gives_the_same(shared_worker(), programs, folder, source)
