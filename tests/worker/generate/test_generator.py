"""What Inductor generates for a problem without a GPU, and the candidate that it becomes, on a real worker."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluated import StartedWorker
from generated import exact
from kernelwright.errors import ProblemError
from kernelwright.inductor import NotConverted, candidate_text, candidate_texts, library_call
from kernelwright.model import Candidate, Generated, Loading, Status

PROBLEM = """
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

CASES = [dict(name="large"), dict(name="small", small=True, rows=3, features=37),
         dict(name="odd", small=True, held_out=True, rows=2, features=61)]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("generated")


def generated(worker: StartedWorker, folder: Path, name: str, forward: str) -> Generated:
    file = folder / f"{name}.py"
    file.write_text(PROBLEM.replace("{forward}", forward))
    worker().load(str(file))
    return worker().generate()


OPERATIONS = ("aten.add", "aten.relu", "aten.mean")


@pytest.fixture(scope="module")
def of_rows(shared_worker: StartedWorker, folder: Path) -> Generated:
    return generated(shared_worker, folder, "rows", "torch.relu(x + self.bias).mean(1)")


def test_one_capture_has_symbols_in_place_of_sizes(of_rows: Generated) -> None:
    """The timed sizes are captured only where this is not possible."""
    (first,) = of_rows.captures
    assert first.sizes is not None
    assert first.sizes.shapes == (("rows", "features"), ("features",))
    assert first.sizes.values == {"rows": 4096, "features": 3000}
    assert first.sizes.conditions == ()
    assert first.names == ("x", "bias")
    assert all(kernel.configs for kernel in first.kernels)
    assert [kernel.operations for kernel in first.kernels] == [OPERATIONS]
    assert len(of_rows.rows) == 1


def test_the_candidate_is_right_on_sizes_that_were_not_generated(
    of_rows: Generated, shared_worker: StartedWorker, folder: Path
) -> None:
    source = candidate_text(of_rows, "finish")
    worker = shared_worker()
    worker.load(str(folder / "rows.py"))
    found = worker.evaluate(Candidate(source=source), "verify")
    assert found.status in (Status.PASSED, Status.NOT_VERIFIED), found.reason
    small = {case.case: case.status for case in found.results if case.case in ("small", "odd")}
    assert small == {"small": Status.PASSED, "odd": Status.PASSED}


REDUCED = {
    "softmax": "torch.softmax(x * self.bias, 1)", "sum of powers": "torch.logsumexp(x * self.bias, 1)",
    "place": "(x * self.bias).argmax(1)", "least": "torch.cat((x.amin(1), (x + self.bias).amax(1)))",
}  # fmt: skip


@pytest.mark.parametrize("name", REDUCED)
def test_reductions_by_functions_of_inductor_are_right(shared_worker: StartedWorker, folder: Path, name: str) -> None:
    """In a loop over the row and in one piece; torch 2.14 has other functions than 2.13."""
    found = generated(shared_worker, folder, name.replace(" ", "_"), REDUCED[name])
    texts = candidate_texts(found, "none")
    for source in (texts[0], next(one for one in texts if "tl.range(" not in one)):
        result = shared_worker().evaluate(Candidate(source=source), "verify")
        small = {case.case: case.status for case in result.results if case.case in ("small", "odd")}
        assert small == {"small": Status.PASSED, "odd": Status.PASSED}, result.reason


GRADIENTS = """
import torch
import torch.nn as nn

GRADIENTS = True
rows, features = 512, 1000

class Model(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(features))

    def forward(self, x, residual):
        total = x + residual
        rstd = torch.rsqrt(total.square().mean(-1, keepdim=True) + 1e-6)
        return nn.functional.silu(total * rstd * self.weight), total

def get_inputs():
    return [torch.randn(rows, features), torch.randn(rows, features)]

def get_init_inputs():
    return [features]

CASES = [dict(name="large"), dict(name="small", small=True, rows=3, features=37),
         dict(name="odd", small=True, held_out=True, rows=2, features=61)]
"""

CHANGED = """
import torch

MUTATES = ("x", "total")
rows, features, share = 4096, 1000, 3

class Model(torch.nn.Module):
    def forward(self, x, total, share):
        total.add_(x.sum(1))
        return total / share, x.mul_(2)

def get_inputs():
    return [torch.randn(rows, features), torch.randn(rows), share]

def get_init_inputs():
    return []

CASES = [dict(name="large"), dict(name="small", small=True, rows=3, features=37),
         dict(name="odd", small=True, held_out=True, rows=2, features=61)]
"""


def passed_small(worker: StartedWorker, file: Path, text: str) -> tuple[str, dict[str, Status]]:
    """The first candidate of a problem, and what its small cases are."""
    file.write_text(text)
    worker().load(str(file))
    source = candidate_text(worker().generate(), "none")
    found = worker().evaluate(Candidate(source=source), "verify")
    return source, {case.case: case.status for case in found.results if case.case in ("small", "odd")}


def test_forward_and_backward_become_one_candidate(shared_worker: StartedWorker, tmp_path: Path) -> None:
    source, small = passed_small(shared_worker, tmp_path / "norm.py", GRADIENTS)
    assert small == {"small": Status.PASSED, "odd": Status.PASSED}
    assert "SAVED = ('saved_0',)" in source, "the reciprocal root; the sum is an output"
    assert "def kernel_function(x, residual, weight):" in source
    assert "def kernel_backward(weight, output_1, saved_0, grad_0, grad_1):" in source


def test_a_backward_that_autograd_computes_in_place_is_converted(shared_worker: StartedWorker, tmp_path: Path) -> None:
    """The gradient of clamp is selected by a mask that autograd combines in place."""
    start = GRADIENTS.index("    def forward"), GRADIENTS.index("def get_inputs")
    clamped = "    def forward(self, x, residual):\n        return (x + residual).clamp(-1, 1) * self.weight\n\n"
    text = GRADIENTS[: start[0]] + clamped + GRADIENTS[start[1] :]
    _, small = passed_small(shared_worker, tmp_path / "clamped.py", text)
    assert small == {"small": Status.PASSED, "odd": Status.PASSED}


def test_inputs_that_forward_changes_are_changed_by_kernels(shared_worker: StartedWorker, tmp_path: Path) -> None:
    source, small = passed_small(shared_worker, tmp_path / "changed.py", CHANGED)
    assert small == {"small": Status.PASSED, "odd": Status.PASSED}
    assert "return out, x\n" in source
    assert "if share != 3:" in source, "a number among the inputs keeps its value"
    assert 'raise ValueError("x is changed in place and is not dense")' in source


def test_long_scans_and_parts_of_a_concatenation_have_grids_that_candidates_have(
    shared_worker: StartedWorker, folder: Path
) -> None:
    file = folder / "scan.py"
    text = PROBLEM.replace("4096, 3000", "2, 300000").replace("{forward}", "torch.cat((x, self.bias[None])).cumsum(1)")
    source, small = passed_small(shared_worker, file, text)
    assert small == {"small": Status.PASSED, "odd": Status.PASSED}
    found = shared_worker().generate()
    assert {kernel.grid for one in found.captures for kernel in one.kernels} <= {"Grid1D", "Grid2D"}
    assert "tl.associative_scan(" in source


RECURRENT = """
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = torch.nn.GRU(20, 12)

    def forward(self, x):
        return self.gru(x)[0]

def get_inputs(rows=512):
    return [torch.randn(2, rows, 20)]

def get_init_inputs():
    return []

CASES = [dict(name="large"), dict(name="small", small=True, rows=5), dict(name="odd", small=True, rows=2)]
"""


def test_a_recurrent_layer_is_unrolled(shared_worker: StartedWorker, tmp_path: Path) -> None:
    """Its first state is zeros, which a template multiplies without loading them."""
    file = tmp_path / "recurrent.py"
    file.write_text(RECURRENT)
    worker = shared_worker()
    worker.load(str(file), Loading(library="none"))
    source = exact(candidate_text(worker.generate(), "none"))
    assert "tl.full([1, 1], 0.0, tl.float32)" in source
    found = worker.evaluate(Candidate(source=source), "verify")
    small = {case.case: case.status for case in found.results if case.case in ("small", "odd")}
    assert small == {"small": Status.PASSED, "odd": Status.PASSED}, found.reason


def test_loops_of_too_many_operators_are_refused_by_their_number(shared_worker: StartedWorker, tmp_path: Path) -> None:
    file = tmp_path / "steps.py"
    # Few steps where the judge runs it, which measures tolerances meanwhile.
    loop = "[x := x + self.bias for _ in range(1 if type(x) is torch.Tensor else 5000)][-1]"
    file.write_text(PROBLEM.replace("{forward}", loop))
    worker = shared_worker()
    worker.load(str(file))
    assert "forward calls more than 4,096 operators: its loops are unrolled" in worker.generate().reason


SEQUENTIAL = """
import torch

class Model(torch.nn.Sequential):
    def __init__(self, features):
        super().__init__(torch.nn.LayerNorm(features), torch.nn.GELU())

def get_inputs(rows=4096):
    return [torch.randn(rows, 48)]

def get_init_inputs():
    return [48]

CASES = [dict(name="large"), dict(name="small", small=True, rows=3), dict(name="odd", small=True, rows=2)]
"""


def test_parameters_whose_names_begin_with_a_number_are_arguments_too(
    shared_worker: StartedWorker, tmp_path: Path
) -> None:
    (tmp_path / "layers.py").write_text(SEQUENTIAL)
    worker = shared_worker()
    worker.load(str(tmp_path / "layers.py"))
    source = candidate_text(worker.generate(), "none")
    assert "def kernel_function(input, _0_weight, _0_bias):" in source
    found = worker.evaluate(Candidate(source=source), "verify")
    small = {case.case: case.status for case in found.results if case.case in ("small", "odd")}
    assert small == {"small": Status.PASSED, "odd": Status.PASSED}, found.reason


def test_rows_that_are_looped_over_are_reduced_in_one_piece_too(
    of_rows: Generated, shared_worker: StartedWorker, folder: Path
) -> None:
    looped, whole = candidate_texts(of_rows, "finish")[:2]
    assert "tl.range(" in looped
    assert "tl.range(" not in whole
    assert "R0_WIDTH=triton.next_power_of_2(features)" in whole
    worker = shared_worker()
    worker.load(str(folder / "rows.py"))
    found = worker.evaluate(Candidate(source=whole), "verify")
    small = {case.case: case.status for case in found.results if case.case in ("small", "odd")}
    assert small == {"small": Status.PASSED, "odd": Status.PASSED}, found.reason


def test_a_sum_of_everything_runs_in_few_programs_at_small_sizes(shared_worker: StartedWorker, tmp_path: Path) -> None:
    """At the timed size it has the parts that Inductor chooses there; the interpreter runs one after the other."""
    file = tmp_path / "total.py"
    cases = PROBLEM.replace("rows=3,", "rows=30,").replace("rows=2,", "rows=21,")
    file.write_text(cases.replace("{forward}", "(x * self.bias).square().sum()"))
    worker = shared_worker()
    worker.load(str(file), Loading(library="none"))
    found = worker.generate()
    source = candidate_text(found, "none")
    parts = "splits_1 = triton.cdiv(rows * features, max(256, triton.cdiv(rows * features, {})))"
    chosen = next(count for count in range(64, 5000) if parts.format(count) in source)
    assert source.count(str(chosen)) == 1
    result = worker.evaluate(Candidate(source=source), "verify")
    small = {case.case: case.status for case in result.results if case.case in ("small", "odd")}
    assert small == {"small": Status.PASSED, "odd": Status.PASSED}, result.reason


def test_a_long_row_in_one_piece_has_many_threads(shared_worker: StartedWorker, tmp_path: Path) -> None:
    file = tmp_path / "long.py"
    file.write_text(
        PROBLEM.replace("{forward}", "(x + self.bias) / x.norm(dim=1, keepdim=True)").replace("3000", "30000")
    )
    shared_worker().load(str(file))
    found = shared_worker().generate()
    assert {one["num_warps"] for kernel in found.rows[0].kernels for one in kernel.configs} == {32}


def test_a_measured_config_follows_the_first_of_inductors(shared_worker: StartedWorker, tmp_path: Path) -> None:
    """Rows that two loops read get a config that keeps them in the cache; strided rows get one of many columns."""

    def configs(forward: str) -> list[dict[str, int]]:
        file = tmp_path / "measured.py"
        file.write_text(PROBLEM.replace("{forward}", forward).replace("3000", "30000"))
        shared_worker().load(str(file))
        (kernel,) = shared_worker().generate().captures[0].kernels
        return list(kernel.configs)

    short, long = {"R0_BLOCK": 1024, "num_warps": 4}, {"R0_BLOCK": 16384, "num_warps": 32}
    first, second, *_ = configs("(x + self.bias) / x.norm(dim=1, keepdim=True)")
    assert first["R0_BLOCK"] == 2048
    assert second == {**first, **long}
    first, second, *_ = configs("x.norm(dim=1, keepdim=True)")
    assert second == {**first, **short}
    first, second, *_ = configs("self.bias + x[:64].mean(0)")
    assert second == {**first, "XBLOCK": 128, "num_warps": 4}


def test_a_product_alone_is_a_library_call_with_a_template_in_its_place(
    shared_worker: StartedWorker, folder: Path
) -> None:
    found = generated(shared_worker, folder, "product", "x @ x.T")
    assert library_call(found) == "the library call is the computation (aten.mm)"
    assert "tl.dot(" in candidate_text(found, "finish")


def test_a_product_with_more_is_a_template_where_no_library_call_is_allowed(
    shared_worker: StartedWorker, folder: Path
) -> None:
    found = generated(shared_worker, folder, "activated", "torch.relu(x @ self.bias.outer(self.bias[:24]))")
    assert [one.operator for one in found.captures[0].library_calls] == ["mm.default"]
    assert "torch.mm(" in candidate_text(found, "any")
    source = candidate_text(found, "none")
    assert "tl.dot(" in source
    worker = shared_worker()
    worker.load(str(folder / "activated.py"), Loading(library="none"))
    result = worker.evaluate(Candidate(source=source), "verify")
    small = {case.case: case.status for case in result.results if case.case in ("small", "odd")}
    assert small == {"small": Status.PASSED, "odd": Status.PASSED}, result.reason


def test_an_operator_that_is_on_no_list_is_a_library_step_in_mode_any(
    shared_worker: StartedWorker, folder: Path
) -> None:
    found = generated(shared_worker, folder, "median", "torch.relu(x + self.bias).median(1)[0].exp()")
    source = candidate_text(found, "any")
    assert "torch.median(" in source
    worker = shared_worker()
    worker.load(str(folder / "median.py"), Loading(library="any"))
    result = worker.evaluate(Candidate(source=source), "verify")
    small = {case.case: case.status for case in result.results if case.case in ("small", "odd")}
    assert small == {"small": Status.PASSED, "odd": Status.PASSED}, result.reason


ROUTER = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        weights, places = x.softmax(-1).topk(2, dim=-1)
        return weights / weights.sum(-1, keepdim=True), places

def get_inputs(tokens=4096, experts=64):
    return [torch.randn(tokens, experts)]

def get_init_inputs():
    return []

CASES = [dict(name="large"), dict(name="small", small=True, tokens=7, experts=16),
         dict(name="odd", small=True, held_out=True, tokens=5, experts=11)]
"""


def test_the_largest_of_short_rows_are_found_by_kernels(shared_worker: StartedWorker, tmp_path: Path) -> None:
    source, small = passed_small(shared_worker, tmp_path / "router.py", ROUTER)
    assert small == {"small": Status.PASSED, "odd": Status.PASSED}
    assert "torch.topk" not in source


SHIFTED = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        cost = x.square().sum(1)
        shifted = cost - cost.min()
        return torch.softmax(-shifted / (cost.std() + 1e-6), 0)

def get_inputs(rows=16384, features=40):
    return [torch.randn(rows, features)]

def get_init_inputs():
    return []

CASES = [dict(name="large"), dict(name="small", small=True, rows=96), dict(name="odd", small=True, rows=65)]
"""


def test_a_shift_that_only_guards_against_overflow_is_a_kernel_that_contributes(
    shared_worker: StartedWorker, tmp_path: Path
) -> None:
    """Without it, its memory may not have what an earlier kernel left there."""
    _, small = passed_small(shared_worker, tmp_path / "shifted.py", SHIFTED)
    assert small == {"small": Status.PASSED, "odd": Status.PASSED}


def test_why_a_library_call_is_no_step_is_said(shared_worker: StartedWorker, folder: Path) -> None:
    found = generated(shared_worker, folder, "spectrum", "torch.fft.rfft(x).abs().exp()")
    with pytest.raises(NotConverted, match=r"it calls aten\.\w+, which "):
        candidate_text(found, "any")


PRODUCT = """
import torch

class Model(torch.nn.Module):
    def forward(self, x, y):
        return torch.relu(x @ y)

def get_inputs(rows={rows}, inner={inner}, columns=4096):
    return [torch.randn(rows, inner, dtype=torch.{dtype}), torch.randn({second}, dtype=torch.{dtype}){turned}]

def get_init_inputs():
    return []

CASES = [dict(name="large"), dict(name="small", small=True, rows=3, inner=5, columns=7),
         dict(name="odd", small=True, held_out=True, rows=2, inner=6, columns=11)]
"""


@pytest.mark.parametrize(
    ("rows", "inner", "dtype", "turned", "copies", "pads"),
    [
        (2048, 256, "float32", "", 1, 0),
        (2048, 250, "float32", "", 2, 6),
        (2048, 256, "float32", ".T", 0, 0),
        (64, 250, "float32", "", 0, 0),
        (2048, 250, "float16", "", 0, 0),
    ],
    ids=["rows are contiguous", "rows are not aligned", "columns are contiguous", "few rows", "half precision"],
)
def test_factors_are_copied_where_tensor_cores_and_long_loads_need_it(
    shared_worker: StartedWorker, tmp_path: Path, rows: int, inner: int, dtype: str, turned: str, copies: int, pads: int
) -> None:
    file = tmp_path / "product.py"
    second = "columns, inner" if turned else "inner, columns"
    file.write_text(PRODUCT.format(rows=rows, inner=inner, dtype=dtype, turned=turned, second=second))
    worker = shared_worker()
    worker.load(str(file), Loading(library="none"))
    texts = candidate_texts(worker.generate(), "none", split=True)
    source = texts[-1]
    depth = f"{pads} + inner" if pads else "inner"
    assert (f"torch.empty((rows, {depth}), dtype=" in source) == bool(pads)
    assert (f"torch.empty_strided(({depth}, columns), (1, {depth}), dtype=" in source) == bool(copies)
    assert source.count("@triton.jit\ndef mm") == 1 + copies, "a copy is a kernel of its own"
    if pads:
        result = worker.evaluate(Candidate(source=exact(texts[0])), "verify")
        small = {case.case: case.status for case in result.results if case.case in ("small", "odd")}
        assert small == {"small": Status.PASSED, "odd": Status.PASSED}, result.reason


FAULTY = """
import sys
import torch

LIBRARY = "any"  # beside templates, rows are only there for this mode

class Model(torch.nn.Module):
    def forward(self, x, y):
        assert not ({fault}), "a fault"
        return torch.softmax(x @ y, -1)

def get_inputs(rows=2048, inner=256, columns=4096):
    return [torch.randn(rows, inner), torch.randn(inner, columns)]

def get_init_inputs():
    return []

CASES = [dict(name="large"), dict(name="small", small=True, rows=3, inner=5, columns=7)]
"""

FAULTS = {
    "templates": 'getattr(sys.modules.get("torch._inductor.config"), "max_autotune_gemm", False)',
    "rows": '"torch._inductor.choices" in sys.modules and sys.modules["torch._inductor.choices"].InductorChoices'
    '.should_use_persistent_reduction.__module__.endswith("generate.rows")',
}
"""Whether Inductor is set up for these captures."""


@pytest.mark.parametrize("faulty", FAULTS)
def test_where_other_captures_fail_the_rest_remains(shared_worker: StartedWorker, folder: Path, faulty: str) -> None:
    file = folder / f"faulty_{faulty}.py"
    file.write_text(FAULTY.format(fault=FAULTS[faulty]))
    shared_worker().load(str(file))
    found = shared_worker().generate()
    assert found.reason == f"{faulty}: Inductor traced forward for a GPU, and line 9 raised AssertionError: a fault"
    made = {name: bool(getattr(found, name)) for name in ("captures", "templates", "rows")}
    assert made == {"captures": True, "templates": True, "rows": True, faulty: False}
    assert "torch.mm(" in candidate_text(found, "any")
    if faulty == "rows":
        assert "tl.dot(" in candidate_text(found, "none")
    else:
        with pytest.raises(NotConverted, match=r"aten\.mm, which needs LIBRARY .*; templates: Inductor traced"):
            candidate_text(found, "none")


ELSEWHERE = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        if not isinstance(x.shape[0], int):
            raise ValueError("of another size")
        return torch.softmax(x, -1)

def get_inputs(rows=2048, columns=512):
    return [torch.randn(rows, columns)]

def get_init_inputs():
    return []
"""


def test_where_no_symbols_can_be_traced_the_sizes_of_the_only_case_remain(
    shared_worker: StartedWorker, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere.py").write_text(ELSEWHERE)
    worker = shared_worker()
    worker.load(str(tmp_path / "elsewhere.py"), Loading(which="derived"))
    generated = worker.generate()
    assert [one.sizes for one in generated.captures] == [None]
    assert "line 7 raised ValueError: of another size" in generated.reason
    source = candidate_text(generated, "none")
    assert "captured sizes only" in source
    found = worker.evaluate(Candidate(source=source), "search")
    assert found.status is Status.NOT_VERIFIED, "no GPU, and no small case that it serves"
    assert [one.name for one in found.serves] == ["sized"]
    assert next(one for one in found.results if "derived" not in one.case).timing is not None


def test_where_other_cases_are_stated_their_sizes_have_to_be_traced(
    shared_worker: StartedWorker, tmp_path: Path
) -> None:
    small = "\nCASES = [dict(name='large'), dict(name='small', small=True, rows=3)]\n"
    (tmp_path / "stated.py").write_text(ELSEWHERE + small)
    shared_worker().load(str(tmp_path / "stated.py"))
    found = shared_worker().generate()
    assert found.captures == ()
    assert "line 7 raised ValueError: of another size" in found.reason


LAYER = """
import torch.nn as nn
import torch

class Model(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.layer = nn.Conv2d(3, channels, 3)

    def forward(self, x):
        return {forward}

def get_inputs(batch=16, side=64):
    return [torch.randn(batch, 3, side, side)]

def get_init_inputs(channels=32):
    return [channels]

CASES = [dict(name="large"), dict(name="small", small=True, batch=2, side=9, channels=4)]
"""


@pytest.mark.parametrize(("forward", "is_left"), [("self.layer(x)", True), ("self.layer(x).relu()", False)])
def test_a_convolution_with_its_bias_is_one_library_call(
    shared_worker: StartedWorker, tmp_path: Path, forward: str, is_left: bool
) -> None:
    """A kernel adds the bias, but there is nothing besides that it could do meanwhile."""
    (tmp_path / "convolution.py").write_text(LAYER.replace("{forward}", forward))
    shared_worker().load(str(tmp_path / "convolution.py"))
    found = shared_worker().generate()
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
    found = generated(shared_worker, folder, "asserting", asserting)
    assert [len(one.kernels) for one in found.captures] == [1]


def test_a_number_made_a_tensor_needs_no_device(shared_worker: StartedWorker, folder: Path) -> None:
    found = generated(shared_worker, folder, "number", "torch.minimum(x, torch.tensor(0.5, device=x.device))")
    assert "minimum" in candidate_text(found, "none")
    assert found.rows == (), "nothing is looped over"


WITHOUT_GUARD = {
    "complement": "x.masked_fill(~(x > self.bias), float('-inf')).amax(1)",
    "list": "x[:, [2, 0]] * 2",
    "written": "torch.zeros_like(x).copy_(x * self.bias)",
}


@pytest.mark.parametrize("name", WITHOUT_GUARD)
def test_methods_for_which_torch_selects_the_device_need_none(
    shared_worker: StartedWorker, folder: Path, name: str
) -> None:
    found = generated(shared_worker, folder, name, WITHOUT_GUARD[name])
    assert "kernel_function" in candidate_text(found), found.reason


def test_random_numbers_are_the_reason_where_forward_draws_some(shared_worker: StartedWorker, folder: Path) -> None:
    with pytest.raises(ProblemError, match=r"forward draws random numbers \(bernoulli_\)"):
        generated(shared_worker, folder, "random", "nn.functional.dropout(x + self.bias, training=True)")


ATTENTION = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        if x.is_cuda:
            raise ValueError("this layer is for the CPU")
        return torch.nn.functional.scaled_dot_product_attention(x, x, x)

def get_inputs(rows=1024):
    return [torch.randn(2, 4, rows, 64)]

def get_init_inputs():
    return []

CASES = [dict(name="large"), dict(name="small", small=True, rows=16)]
"""


def test_an_operator_with_a_seed_that_draws_nothing_is_no_reason(shared_worker: StartedWorker, tmp_path: Path) -> None:
    (tmp_path / "attention.py").write_text(ATTENTION)
    shared_worker().load(str(tmp_path / "attention.py"))
    assert shared_worker().generate().reason == (
        "Inductor traced forward for a GPU, and line 7 raised ValueError: this layer is for the CPU"
    )


def test_a_forward_for_gpus_only_is_not_run_for_its_seed(shared_worker: StartedWorker, tmp_path: Path) -> None:
    only = ATTENTION.replace("if x.is_cuda:", "if type(x) is torch.Tensor:").replace("the CPU", "GPUs")
    (tmp_path / "only.py").write_text(only)
    shared_worker().load(str(tmp_path / "only.py"))
    assert shared_worker().generate().captures


def test_attention_becomes_products_and_rows_for_every_length_and_head(
    shared_worker: StartedWorker, tmp_path: Path
) -> None:
    """Which of PyTorch's own kernels serves it depends on the machine."""
    attention = ATTENTION.replace(
        '        if x.is_cuda:\n            raise ValueError("this layer is for the CPU")\n', ""
    )
    (tmp_path / "heads.py").write_text(
        attention.replace("rows=1024", "rows=1024, width=64").replace(", 64)", ", width)")
    )
    worker = shared_worker()
    worker.load(str(tmp_path / "heads.py"), Loading(dtype="bfloat16", which="derived"))
    text = candidate_text(worker.generate(), "none")
    assert "width >=" not in text
    assert "float32, device" in text, "scores in half precision are wrong where the softmax is steep"


SCALED = """
import math
import torch

class Model(torch.nn.Module):
    def __init__(self, features, rank):
        super().__init__()
        self.factors = {factors}

    def forward(self, x, y):
        for factor in self.factors:
            x = x * factor
        return x + y.sum(1, keepdim=True)

def get_inputs(rows=1024, features=96, rank=24):
    return [torch.randn(rows, features), torch.randn(rows, rank)]

def get_init_inputs(features=96, rank=24):
    return [features, rank]

CASES = [dict(name="large"), dict(name="small", small=True, rows=3, features=8, rank=4)]
"""


@pytest.mark.parametrize(
    "factors", ["[features**-0.5, 32.0 / rank]", "[1 / math.sqrt(rank), rank / features]", "[(rank**2 + 1) ** -0.25]"]
)
def test_factors_that_a_constructor_computes_from_sizes_follow_them(
    shared_worker: StartedWorker, tmp_path: Path, factors: str
) -> None:
    """As the scale of an attention, or of a low-rank adapter."""
    (tmp_path / "scaled.py").write_text(SCALED.replace("{factors}", factors))
    worker = shared_worker()
    worker.load(str(tmp_path / "scaled.py"))
    captures = worker.generate().captures
    if tuple(map(int, worker.environment().torch.split(".")[:2])) < (2, 13):
        pytest.skip("torch before 2.13 does not trace such a factor")
    assert captures[0].sizes is not None
    found = worker.evaluate(Candidate(source=candidate_text(worker.generate(), "none")), "verify")
    assert found.status in (Status.PASSED, Status.NOT_VERIFIED), found.reason
    assert Status.PASSED in [case.status for case in found.results]


HALVES = """
import torch

class Model(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(features * 2, 48))

    def forward(self, x):
        return torch.cat([x.sin(), x.cos()], -1) @ self.weight

def get_inputs(rows=1024, features=96):
    return [torch.randn(rows, features)]

def get_init_inputs(features=96):
    return [features]

CASES = [dict(name="large"), dict(name="small", small=True, rows=3, features=8)]
"""


def test_a_size_that_is_compared_with_every_index_may_be_a_constant(
    shared_worker: StartedWorker, tmp_path: Path
) -> None:
    """As where one part of a concatenation ends that a product reads."""
    (tmp_path / "halves.py").write_text(HALVES)
    worker = shared_worker()
    worker.load(str(tmp_path / "halves.py"))
    source = candidate_text(worker.generate(), "none")
    assert "tl.full([BLOCK_M, BLOCK_K], features, tl.int64)" in source
    found = worker.evaluate(Candidate(source=source), "verify")
    assert found.status in (Status.PASSED, Status.NOT_VERIFIED), found.reason
    assert Status.PASSED in [case.status for case in found.results]


def test_one_number_may_be_added_to_a_product(shared_worker: StartedWorker, folder: Path) -> None:
    found = generated(shared_worker, folder, "added", "x @ x.t() + self.bias.mean()")
    source = candidate_text(found, "none")
    worker = shared_worker()
    worker.load(str(folder / "added.py"))
    judged = worker.evaluate(Candidate(source=source), "verify")
    assert judged.status in (Status.PASSED, Status.NOT_VERIFIED), judged.reason
    assert Status.PASSED in [case.status for case in judged.results]


ONE_ROW = """
import torch

class Model(torch.nn.Module):
    def forward(self, x, y):
        return (x * y).sum(-1)

def get_inputs(rows=1, features=512):
    return [torch.randn(rows, features), torch.randn(rows, features)]

def get_init_inputs():
    return []

CASES = [dict(name="one"), dict(name="many", rows=64), dict(name="small", small=True, rows=1, features=40),
         dict(name="odd", small=True, held_out=True, rows=5, features=33)]
"""


def test_a_kernel_serves_one_row_and_many_where_both_are_stated(shared_worker: StartedWorker, tmp_path: Path) -> None:
    (tmp_path / "one_row.py").write_text(ONE_ROW)
    worker = shared_worker()
    worker.load(str(tmp_path / "one_row.py"))
    found = worker.evaluate(Candidate(source=candidate_text(worker.generate(), "none")), "verify")
    small = {case.case: case.status for case in found.results if case.case in ("small", "odd")}
    assert small == {"small": Status.PASSED, "odd": Status.PASSED}, found.reason


CHUNKS = """
import torch

class Model(torch.nn.Module):
    def __init__(self, chunk):
        super().__init__()
        self.chunk = chunk
        self.register_buffer("decay", 0.9 ** torch.arange(chunk))

    def forward(self, x):
        state, parts = x.new_zeros(x.shape[0], 1), []
        for start in range(0, x.shape[1], self.chunk):
            part = x[:, start : start + self.chunk]
            parts.append(part + state)
            state = state + (part * self.decay).sum(1, keepdim=True)
        return torch.cat(parts, 1)

def get_inputs(rows=1024, length=192):
    return [torch.randn(rows, length)]

def get_init_inputs(chunk=64):
    return [chunk]

CASES = [dict(name="large"), dict(name="small", small=True, rows=3, length=24, chunk=8),
         dict(name="odd", small=True, held_out=True, rows=5, length=33, chunk=11)]
"""


def test_a_loop_over_chunks_keeps_their_number_only(shared_worker: StartedWorker, tmp_path: Path) -> None:
    source, small = passed_small(shared_worker, tmp_path / "chunks.py", CHUNKS)
    assert small == {"small": Status.PASSED, "odd": Status.PASSED}
    assert "captured sizes only" not in source


WINDOWS = """
import torch

class Model(torch.nn.Module):
    def __init__(self, features, depth):
        super().__init__()
        self.rates = [rate.item() for rate in torch.linspace(0, 0.1, depth)]
        self.register_buffer("order", torch.arange(features).flip(0))
        self.norm = torch.nn.LayerNorm(features)

    def forward(self, x):
        for rate in self.rates:
            x = x * (1 - rate)
        return self.norm(x)[:, self.order] + torch.arange(x.shape[1], device=x.device)

def get_inputs(rows=4096):
    return [torch.randn(rows, 64)]

def get_init_inputs():
    return [64, 4]

CASES = [dict(name="large"), dict(name="small", small=True, rows=3)]
"""


def test_a_constructor_may_read_numbers_that_it_counted_itself(shared_worker: StartedWorker, tmp_path: Path) -> None:
    """The blocks of a Swin have rates that `linspace` counts."""
    (tmp_path / "windows.py").write_text(WINDOWS)
    worker = shared_worker()
    worker.load(str(tmp_path / "windows.py"))
    found = worker.evaluate(Candidate(source=candidate_text(worker.generate(), "none")), "verify")
    assert found.status in (Status.PASSED, Status.NOT_VERIFIED), found.reason
    assert Status.PASSED in [case.status for case in found.results]


NESTED = """
import torch
import torch.nn as nn

width = 3000

class Model(nn.Module):
    def forward(self, x, state):
        hidden, more = state
        total = x[:, ::2] + hidden * more["scale"]
        return {"total": total, "means": (total.mean(1), None), "hidden": [hidden.exp()]}

def get_inputs(rows=512):
    scale = torch.randn(rows, 1).expand(rows, width)
    return [torch.randn(rows, 2 * width), (torch.randn(rows, 2 * width)[:, :width], {"scale": scale})]

def get_init_inputs():
    return []

CASES = [dict(name="large"), dict(name="small", small=True, rows=3, width=37),
         dict(name="odd", small=True, held_out=True, rows=2, width=61)]
"""


def test_nested_values_and_inputs_that_are_not_dense_become_a_candidate(
    shared_worker: StartedWorker, tmp_path: Path
) -> None:
    (tmp_path / "nested.py").write_text(NESTED)
    worker = shared_worker()
    worker.load(str(tmp_path / "nested.py"))
    source = candidate_text(worker.generate(), "none")
    assert "state_1_scale = state[1]['scale']" in source
    found = worker.evaluate(Candidate(source=source), "verify")
    small = {case.case: case.status for case in found.results if case.case in ("small", "odd")}
    assert small == {"small": Status.PASSED, "odd": Status.PASSED}, found.reason


def test_a_contiguous_copy_needs_no_device(shared_worker: StartedWorker, folder: Path) -> None:
    found = generated(shared_worker, folder, "copied", "x.t().softmax(1).t().contiguous()")
    assert "kernel_function" in candidate_text(found), found.reason


def test_indices_without_limits_are_left_as_they_are(shared_worker: StartedWorker, folder: Path) -> None:
    """torch 2.13 raises `vr must not be None for symbol` where torch.compile is used."""
    shuffled = "torch.nn.functional.pixel_shuffle(x.expand(1, 4, -1, -1), 2)"
    padded = f'torch.nn.functional.pad({shuffled}, (1, 1, 1, 1), mode="replicate")'
    assert generated(shared_worker, folder, "padded", padded).captures


def test_offsets_have_64_bits_at_all_sizes_where_the_timed_case_needs_them(
    shared_worker: StartedWorker, tmp_path: Path
) -> None:
    file = tmp_path / "wide.py"
    file.write_text(
        PROBLEM.replace("{forward}", "(x + self.bias).mean(1)").replace(
            "rows, features = 4096", "rows, features = 2**20"
        )
    )
    shared_worker().load(str(file))
    found = shared_worker().generate()
    assert all("'xnumel': 'i64'" in kernel.source for one in found.captures for kernel in one.kernels)
    assert "2**31" not in candidate_text(found, "none")


def test_sizes_that_the_kernels_do_not_serve_are_a_property_that_the_dispatcher_knows(
    shared_worker: StartedWorker, tmp_path: Path
) -> None:
    file = tmp_path / "plain.py"
    forward = "torch.relu(x + self.bias).mean(1) if x.shape[1] > 2900 else torch.relu(x + self.bias).mean(1)"
    file.write_text(PROBLEM.partition("CASES = ")[0].replace("{forward}", forward))
    worker = shared_worker()
    worker.load(str(file), Loading(which="derived"))
    source = candidate_text(worker.generate(), "finish")
    assert "features >= 2901" in source
    found = worker.evaluate(Candidate(source=source), "verify")
    assert [(one.name, one.shown_by) for one in found.serves] == [("sized", "refused")], found.reason
    assert "the kernels serve sizes where" in found.serves[0].detail


HALF_PRODUCT = """
import torch
import torch.nn.functional as F

class Model(torch.nn.Module):
    def forward(self, x, weight):
        return {forward}

def get_inputs(batch=6, inner=128, channels=32, length=30):
    return [torch.randn({x}), torch.randn({weight})]

def get_init_inputs():
    return []

CASES = [dict(name="large"), dict(name="small", small=True, batch=3, inner=33, channels=18, length=13)]
"""


@pytest.mark.parametrize(
    ("forward", "x", "weight"),
    [
        ("x @ weight", "length, inner", "inner, channels"),
        ("torch.bmm(x, weight)", "batch, length, inner", "batch, inner, channels"),
        ("F.conv2d(x, weight, padding=1)", "batch, channels, length, length + 4", "inner, channels, 3, 3"),
        ("F.conv2d(x, weight, groups=2)", "batch, 2 * channels, length, length + 4", "2 * inner, channels, 3, 3"),
        ("F.conv1d(x, weight, dilation=2)", "batch, channels, length", "inner, channels, 3"),
        ("F.conv_transpose2d(x, weight, stride=2)", "batch, channels, length, length + 4", "channels, inner, 3, 3"),
    ],
    ids=["product", "batched", "padded", "grouped", "dilated", "transposed"],
)
def test_products_and_convolutions_in_half_precision_begin_with_templates(
    shared_worker: StartedWorker, tmp_path: Path, forward: str, x: str, weight: str
) -> None:
    file = tmp_path / "half.py"
    file.write_text(HALF_PRODUCT.format(forward=forward, x=x, weight=weight))
    worker = shared_worker()
    worker.load(str(file), Loading(dtype="float16"))
    found = worker.generate()
    assert {one.dtype for one in found.captures[0].tensors} == {"float16"}
    assert library_call(found) is not None
    source = candidate_text(found, "finish")
    assert "tl.dot(" in source
    result = worker.evaluate(Candidate(source=source), "verify")
    assert {one.case: one.status for one in result.results}["small"] is Status.PASSED, result.reason


def test_the_kernels_of_the_derived_cases_are_those_of_the_timed_one(
    shared_worker: StartedWorker, tmp_path: Path
) -> None:
    """Padding, interpolation and a subscript in the middle count with sizes, and a scale is a root of one."""
    forwards = {
        "padded": "torch.nn.functional.pad(x * x.shape[1] ** -0.5 + self.bias, (1, 2)).exp()",
        "enlarged": "torch.nn.functional.interpolate((x + self.bias)[:, None, :], scale_factor=2).exp()",
        "middle": "(x + self.bias)[:, x.shape[1] // 2].exp()",
    }
    worker = shared_worker()
    for name, forward in forwards.items():
        file = tmp_path / f"{name}.py"
        file.write_text(PROBLEM.replace("{forward}", forward))
        worker.load(str(file))
        found = worker.generate()
        assert found.captures[0].sizes is not None, found.reason
        source = candidate_text(found, "none")
        assert ("float(features) ** (-0.5)" in source) == (name == "padded")
        result = worker.evaluate(Candidate(source=source), "verify")
        small = {case.case: case.status for case in result.results if case.case in ("small", "odd")}
        assert small == {"small": Status.PASSED, "odd": Status.PASSED}, result.reason


GROUPED = """
import torch

hidden, groups = 256, 8

class Model(torch.nn.Module):
    def __init__(self, hidden, groups):
        super().__init__()
        self.norm = torch.nn.GroupNorm(groups, hidden)

    def forward(self, x):
        return torch.nn.functional.max_pool1d(self.norm(x), 3, 2).relu()

def get_inputs(rows=512, side=100):
    return [torch.randn(rows, hidden, side)]

def get_init_inputs():
    return [hidden, groups]

CASES = [dict(name="large"), dict(name="small", small=True, rows=3, hidden=16, side=7),
         dict(name="odd", small=True, held_out=True, rows=2, hidden=24, side=8)]
"""


def test_sides_after_windows_and_channels_of_groups_are_sizes(shared_worker: StartedWorker, tmp_path: Path) -> None:
    (tmp_path / "grouped.py").write_text(GROUPED)
    worker = shared_worker()
    worker.load(str(tmp_path / "grouped.py"))
    found = worker.generate()
    source = candidate_text(found, "none")
    assert "8 * hidden" in source or "// 8" in source
    result = worker.evaluate(Candidate(source=source), "verify")
    small = {case.case: case.status for case in result.results if case.case in ("small", "odd")}
    assert small == {"small": Status.PASSED, "odd": Status.PASSED}, result.reason


FRACTIONS = """
import torch

class Model(torch.nn.Module):
    def __init__(self, dim, ratio=4.0):
        super().__init__()
        self.up = torch.nn.Linear(dim, int(dim * ratio))
        self.down = torch.nn.Linear(int(dim * ratio), int(2 * dim / 3))
    def forward(self, x):
        n = int(1.25 * x.shape[0] / 3)
        return torch.nn.functional.gelu(self.down(self.up(x)))[:n]

def get_inputs(rows=999, dim=96):
    return [torch.randn(rows, dim)]

def get_init_inputs(dim=96):
    return [dim]

CASES = [dict(name="large"), dict(name="small", small=True, rows=12, dim=12),
         dict(name="odd", small=True, held_out=True, rows=7, dim=15)]
"""


def test_whole_parts_of_fractions_of_sizes_are_sizes(shared_worker: StartedWorker, tmp_path: Path) -> None:
    """As the width of a layer, which a parameter's shape tells, and the capacity of an expert, which is computed."""
    source, small = passed_small(shared_worker, tmp_path / "fractions.py", FRACTIONS)
    assert small == {"small": Status.PASSED, "odd": Status.PASSED}
    assert "captured sizes only" not in source


WINDOW_AFTER_WINDOW = """
import torch
import torch.nn.functional as F

class Model(torch.nn.Module):
    def __init__(self, channels, groups):
        super().__init__()
        self.conv = torch.nn.Conv2d(channels, 2 * channels, 1, groups=groups)

    def forward(self, x):
        return F.avg_pool2d(F.avg_pool2d(F.avg_pool2d(self.conv(x), 3, 2), 3, 1), 3, 2).exp()

def get_inputs(batch=16, channels=24, side=100):
    return [torch.randn(batch, channels, side, side + 20)]

def get_init_inputs(channels=24, groups=4):
    return [channels, groups]

CASES = [dict(name="large"), dict(name="small", small=True, batch=1, channels=8, side=19),
         dict(name="odd", small=True, held_out=True, batch=2, channels=4, side=20)]
"""


def test_a_side_after_two_windows_is_told_by_the_first(shared_worker: StartedWorker, tmp_path: Path) -> None:
    """As in a network: with stride 2, then with stride 1, after a convolution whose groups keep their number."""
    source, small = passed_small(shared_worker, tmp_path / "windows.py", WINDOW_AFTER_WINDOW)
    assert small == {"small": Status.PASSED, "odd": Status.PASSED}
    assert "captured sizes only" not in source


def test_numbers_that_are_not_the_constructors_are_not_tried_twice(tmp_path: Path) -> None:
    from kernelwright.worker.generate.symbols import numbers_to_try
    from kernelwright.worker.reference.load import load_problem

    (tmp_path / "plain.py").write_text(ELSEWHERE)
    problem = load_problem(str(tmp_path / "plain.py"))
    assert numbers_to_try(problem, problem.cases[0]) == [{"rows": 2048, "columns": 512}]
    (tmp_path / "grouped.py").write_text(GROUPED)
    problem = load_problem(str(tmp_path / "grouped.py"))
    attempts = numbers_to_try(problem, problem.cases[0])
    expected = [["groups", "hidden", "rows", "side"], ["hidden", "rows", "side"], ["rows", "side"]]
    assert [sorted(one) for one in attempts] == expected, "no case changes the groups"
