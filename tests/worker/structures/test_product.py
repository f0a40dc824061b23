"""Products with many rows as a structure: what it matches, and that its kernels are right, on Triton's interpreter."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F
from torch.fx.experimental.proxy_tensor import make_fx

from evaluated import StartedWorker, gives_the_same
from forked import Programs
from kernelwright.inductor import candidate_texts
from kernelwright.model import Candidate, Status
from kernelwright.worker.structures.product import find_product

PROBLEM = """
import torch
import torch.nn as nn
import torch.nn.functional as F

M, N, K, G = {sizes}

class Model(nn.Module):
    def forward(self, x, {names}):
{forward}

def get_inputs():
    return [one.half() for one in ({inputs})]

def get_init_inputs():
    return []

CASES = [dict(name="large"), dict(name="even", small=True, held_out=True, {even}),
         dict(name="odd", small=True, held_out=True, {odd})]
"""

FORWARDS = {
    "a_layer_of_rows_in_batches": (
        "1056, 1024, 512, 3", "w, bias", "torch.randn(G, M, K), torch.randn(N, K), torch.randn(N)",
        "return F.gelu(F.linear(x, w, bias))", "M=70, N=40, K=72, G=2", "M=33, N=45, K=29, G=3"),
    "a_residual": (
        "1056, 1024, 512, 1", "w", "torch.randn(M, K), torch.randn(K, N), torch.randn(M, N)",
        "return y + 0.5 * F.relu(x @ w)", "M=70, N=40, K=72", "M=33, N=45, K=29"),
    "a_transposed_first_factor": (
        "1056, 1024, 512, 1", "w", "torch.randn(K, M), torch.randn(K, N)",
        "return (x.t() @ w).relu()", "M=72, N=40, K=50", "M=33, N=45, K=29"),
    "a_batch_of_scores_in_float32": (
        "264, 520, 64, 32", "y", "torch.randn(G, M, K), torch.randn(G, N, K)",
        "return (x @ y.transpose(1, 2)).float() * 0.125", "M=70, N=40, K=24, G=3", "M=33, N=45, K=29, G=2"),
    "a_gate_of_two": (
        "1056, 1024, 512, 1", "gate, up", "torch.randn(M, K), torch.randn(N, K), torch.randn(N, K)",
        "return F.silu(F.linear(x, gate)) * F.linear(x, up)", "M=70, N=40, K=72", "M=33, N=45, K=29"),
    "a_gate_in_one": (
        "1056, 1024, 512, 1", "w", "torch.randn(M, K), torch.randn(2 * N, K)",
        "gate, up = F.linear(x, w).chunk(2, -1)\nreturn F.silu(gate) * up", "M=70, N=40, K=72", "M=33, N=45, K=29"),
    "two_layers": (
        "1056, 1024, 512, 1", "w, v", "torch.randn(M, K), torch.randn(N, K), torch.randn(K, N)",
        "return F.linear(F.relu(F.linear(x, w)), v) + x", "M=70, N=40, K=72", "M=33, N=45, K=29"),
}  # fmt: skip
"""Sizes, names, inputs, forward, and two small cases, by name: descriptors serve the even one as it is. In
bfloat16 Triton's interpreter computes products wrongly."""

JUDGED = "a_layer_of_rows_in_batches"


@pytest.mark.parametrize("name", FORWARDS)
def test_a_product_with_many_rows_is_right_by_descriptors_and_by_pointers(
    shared_worker: StartedWorker, programs: Programs, tmp_path: Path, name: str
) -> None:
    """One is judged, for what a few draws of outputs do not show."""
    sizes, names, inputs, forward, even, odd = FORWARDS[name]
    names = f"{names}, y" if "torch.randn(M, N)" in inputs else names
    body = "\n".join(f"        {line}" for line in forward.splitlines())
    (tmp_path / "problem.py").write_text(PROBLEM.format(
        sizes=sizes, names=names, inputs=inputs, forward=body, even=even, odd=odd))  # fmt: skip
    shared_worker().load(str(tmp_path / "problem.py"))
    found = shared_worker().generate()
    assert set(found.captures[0].matched) == {"product"}, found.reason
    source = candidate_texts(found, "none")[0]
    assert source.count("@triton.jit") == 5 * len(found.captures[0].matched), "a kernel beside those of the structure"
    small = {"BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_K": 16, "GROUP_M": 2}
    if name == JUDGED:
        result = shared_worker().evaluate(Candidate(source=with_config(source, small)), "verify")
        judged = {case.case: case.status for case in result.results if case.case in ("even", "odd")}
        assert judged == dict.fromkeys(("even", "odd"), Status.PASSED), result.reason
        return
    for config in ({"FLATTEN": 0}, small):
        gives_the_same(shared_worker(), programs, tmp_path, with_config(source, config), adversarial=True)


def with_config(source: str, config: dict[str, int]) -> str:
    lines = source.splitlines()
    for key, value in config.items():
        lines = [f"{line.split(' = ')[0]} = {value}" if line.startswith("PRODUCT_") and f"{key} = " in line else line
                 for line in lines]  # fmt: skip
    return "\n".join(lines) + "\n"


OTHERS = {
    "few rows": (lambda x, w: x[:64].half() @ w.half(), 0),
    "float32": (lambda x, w: x @ w, 0),
    "bfloat16": (lambda x, w: (x.bfloat16() @ w.bfloat16()).relu(), 1),
    "a batch": (lambda x, w: torch.bmm(x.half().expand(2, -1, -1), w.half().expand(2, -1, -1)), 1),
    "a small product": (lambda x, w: x[:, :8].half() @ w[:8].half(), 0),
    "a softmax of the result is none of its steps": (lambda x, w: torch.softmax(x.half() @ w.half(), 1), 1),
    "a mean over columns is none either": (
        lambda x, w: F.avg_pool1d((x.half() @ w.half()).relu()[None], 16)[0] * 2, 1),
    "products of two inputs are two kernels": (lambda x, w: ((y := x.half()) @ w.half()) * ((y + 1) @ w.half()), 2),
}  # fmt: skip


@pytest.fixture
def h200(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = SimpleNamespace(major=9, multi_processor_count=132, shared_memory_per_block_optin=227 << 10)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: gpu)


@pytest.mark.usefixtures("h200")
@pytest.mark.parametrize("name", OTHERS)
def test_only_large_products_in_half_precision_are_found(name: str) -> None:
    function, count = OTHERS[name]
    graph = make_fx(function, tracing_mode="fake")(torch.zeros(1024, 512), torch.zeros(512, 1024))
    assert len([*find_product(graph)]) == count


FOLLOWING = {
    "leaky_relu": lambda y, z: F.leaky_relu(y, 0.1), "clamp": lambda y, z: y.clamp(-1, 1) * 2,
    "hardswish": lambda y, z: F.hardswish(y + z), "softplus": lambda y, z: F.softplus(y),
    "mish": lambda y, z: F.mish(y), "square": lambda y, z: F.relu(y).square(),
    "hidden": lambda y, z: y.masked_fill(z > 0, -1e4), "in eighths": lambda y, z: torch.round(y * 8) / 8,
}  # fmt: skip


@pytest.mark.usefixtures("h200")
@pytest.mark.parametrize("name", FOLLOWING)
def test_whatever_is_done_to_each_element_is_computed_with_the_sums(name: str) -> None:
    x = torch.zeros(1024, 1024, dtype=torch.float16)
    graph = make_fx(lambda x, z: FOLLOWING[name](x @ x, z), tracing_mode="fake")(x, x)
    (found,) = find_product(graph)
    assert found.node is graph.graph.output_node().args[0]


@pytest.mark.usefixtures("h200")
def test_a_product_of_a_matrix_with_itself_is_one_factor_twice() -> None:
    graph = make_fx(lambda x: x @ x + x, tracing_mode="fake")(torch.zeros(1024, 1024, dtype=torch.float16))
    (found,) = find_product(graph)
    assert len(found.tensors) == 3
    assert len({*found.tensors}) == 1


@pytest.mark.usefixtures("h200")
def test_a_residual_leaves_room_for_one_stage_less() -> None:
    """Its tile changes its layout in shared memory: with four stages Triton 3.7 needs 262,176 bytes of 232,448."""
    for function, stages in ((lambda x, bias: x @ x + bias[0], 4), (lambda x, y: x @ x + y, 3)):
        x = torch.zeros(4096, 4096, dtype=torch.float16)
        (found,) = find_product(make_fx(function, tracing_mode="fake")(x, x))
        assert found.structure.config["NUM_STAGES"] == stages
