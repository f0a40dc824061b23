"""The least work of small models: bytes that a perfect kernel has to read and write, and FLOP by dtype.

Each expectation is counted by hand from what the outputs depend on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode

from kernelwright.worker.bounds.demand import NOT_FOLLOWED
from kernelwright.worker.bounds.work import Taped, Work, least_work, taped
from kernelwright.worker.reference.instance import Instance

BF16, FP16, FP32 = torch.bfloat16, torch.float16, torch.float32


class Calls(nn.Module):
    """A module of one function of itself and its inputs; tensors become parameters or buffers."""

    def __init__(self, function: Callable[..., Any], **tensors: Tensor) -> None:
        super().__init__()
        self.function = function
        for name, tensor in tensors.items():
            if tensor.is_floating_point():
                self.register_parameter(name, nn.Parameter(tensor, requires_grad=False))
            else:
                self.register_buffer(name, tensor)

    def forward(self, *inputs: Any) -> Any:
        return self.function(self, *inputs)


def called(module: nn.Module, *inputs: Any) -> Taped:
    names = tuple(f"i{position}" for position in range(len(inputs)))
    with torch.no_grad():
        return taped(Instance(module.eval(), inputs, (), names, (), Path("problem.py")))


def work_of(module: nn.Module, *inputs: Any) -> Work:
    return least_work(called(module, *inputs))


def ids(*numbers: int) -> Tensor:
    return torch.tensor(numbers)


@dataclass(frozen=True)
class Model:
    """name; what makes the module and its inputs; bytes read of each tensor, written, FLOP, and, where nothing has
    values, bytes read of tensors that then differ."""

    name: str
    make: Callable[[], tuple[nn.Module, tuple[Any, ...]]]
    reads: dict[str, int]
    written: int
    flop: dict[str, int] = field(default_factory=dict)
    fake: dict[str, int] = field(default_factory=dict)


def model(function: Callable[..., Any], *inputs: Any, **tensors: Tensor) -> tuple[nn.Module, tuple[Any, ...]]:
    return Calls(function, **tensors), inputs


def r(*shape: int, dtype: torch.dtype = FP32) -> Tensor:
    return torch.rand(*shape).to(dtype)


def tied(m: Any, i: Tensor) -> Tensor:
    return F.embedding(i, m.w) @ m.w.T


def written_cache(m: Any, new: Tensor, at: Tensor) -> Tensor:
    cache = m.cache.clone()
    cache[at] = new
    return cache


def overwritten(_: Any, x: Tensor) -> Tensor:
    made = x.clone()
    made.zero_()
    return made + 1


def filled(_: Any, x: Tensor) -> Tensor:
    made = torch.empty(4, 8)
    made[:, :6] = x[:, :6]
    made[:, 6:] = 0
    return made


MODELS = [
    Model("embedding", lambda: model(lambda m, i: F.embedding(i, m.w), ids(7, 3, 90), w=r(100, 16)),
          {"input i0": 24, "parameter w": 3 * 64}, 3 * 64, fake={"parameter w": 64}),
    Model("embedding, ids repeated", lambda: model(lambda m, i: F.embedding(i, m.w), ids(7, 3, 7, 7), w=r(100, 16)),
          {"input i0": 32, "parameter w": 2 * 64}, 4 * 64, fake={"parameter w": 64}),
    Model("embedding, half of each row", lambda: model(lambda m, i: F.embedding(i, m.w)[:, :8], ids(7, 3), w=r(100,
          16)),
          {"input i0": 16, "parameter w": 2 * 32}, 64, fake={"parameter w": 32}),
    Model("embedding of one position", lambda: model(lambda m, i: F.embedding(i, m.w)[1], ids(7, 3, 4), w=r(100, 16)),
          {"input i0": 8, "parameter w": 64}, 64),
    Model("position embedding", lambda: model(lambda m, i: F.embedding(i, m.w) + m.p[: i.shape[-1]], ids(5, 5),
                                              w=r(100, 16), p=r(50, 16)),
          {"input i0": 16, "parameter w": 64, "parameter p": 128}, 128),
    Model("positions by arange", lambda: model(lambda m, x: x + F.embedding(torch.arange(3), m.p), r(3, 16), p=r(50,
          16)),
          {"input i0": 192, "parameter p": 192}, 192, fake={"parameter p": 64}),
    Model("pooled embedding", lambda: model(lambda m, i: F.embedding_bag(i, m.w, mode="sum"), torch.tensor([[1, 2],
          [2, 9]]),
                                            w=r(100, 16)),
          {"input i0": 32, "parameter w": 3 * 64}, 128, fake={"parameter w": 64}),
    Model("table cast first", lambda: model(lambda m, i: F.embedding(i, m.w.float()), ids(4, 4, 5), w=r(100, 16,
          dtype=BF16)),
          {"input i0": 24, "parameter w": 64}, 192, fake={"parameter w": 32}),
    Model("gather", lambda: model(lambda m, x, i: x.gather(1, i), r(4, 100), torch.tensor([[1, 1], [0, 5], [9, 9],
          [2, 3]])),
          {"input i0": 6 * 4, "input i1": 64}, 32, fake={"input i0": 16}),
    Model("take_along_dim", lambda: model(lambda m, x, i: torch.take_along_dim(x, i, 1), r(4, 100), torch.zeros(4,
          1).long()),
          {"input i0": 16, "input i1": 32}, 16),
    Model("index_select", lambda: model(lambda m, x, i: x.index_select(1, i), r(4, 100), ids(3, 3, 8)),
          {"input i0": 4 * 2 * 4, "input i1": 24}, 48, fake={"input i0": 16}),
    Model("rows by index", lambda: model(lambda m, x, i: x[i] * 2, r(100, 8), ids(3, 3, 8)),
          {"input i0": 64, "input i1": 24}, 96, fake={"input i0": 32}),
    Model("pairs by index", lambda: model(lambda m, x, i, j: x[i, j], r(10, 10, 8), ids(3, 3, 8), ids(1, 1, 1)),
          {"input i0": 64, "input i1": 24, "input i2": 24}, 96, fake={"input i0": 32}),
    Model("paged cache", lambda: model(lambda m, table, q: torch.einsum("d,bsd->bs", q, m.cache[table]), ids(6, 2),
          r(8),
                                       cache=r(64, 16, 8)),
          {"input i0": 16, "input i1": 32, "parameter cache": 2 * 16 * 8 * 4}, 128, {"float32": 2 * 32 * 8},
          fake={"parameter cache": 512}),
    Model("cache written to", lambda: model(written_cache, r(2, 8), ids(6, 2), cache=r(64, 8)),
          {"input i0": 64, "input i1": 16, "parameter cache": 62 * 32}, 64 * 32),
    Model("cross entropy", lambda: model(lambda m, x, t: F.cross_entropy(x, t, reduction="none"), r(4, 100), ids(1,
          2, 3, 4)),
          {"input i0": 1600, "input i1": 32}, 16),
    Model("negative log likelihood", lambda: model(lambda m, x, t: F.nll_loss(x, t), r(4, 100), ids(1, 2, 3, -100)),
          {"input i0": 12, "input i1": 32}, 4, fake={"input i0": 16}),
    Model("slice", lambda: model(lambda m, x: x[:, :10] * 2, r(4, 100)), {"input i0": 160}, 160),
    Model("slice after a cast", lambda: model(lambda m, x: x.float()[:, ::2], r(4, 100, dtype=BF16)),
          {"input i0": 400}, 800),
    Model("slice of a softmax", lambda: model(lambda m, x: x.softmax(-1)[0], r(4, 100)), {"input i0": 400}, 400),
    Model("halves", lambda: model(lambda m, x: F.silu(x.chunk(2, -1)[0]) * x.chunk(2, -1)[1], r(4, 100)),
          {"input i0": 1600}, 800),
    Model("overlapping windows", lambda: model(lambda m, x: x.unfold(0, 4, 2).sum(-1), r(11)), {"input i0": 40}, 16),
    Model("select and narrow", lambda: model(lambda m, x: x.select(0, 1).narrow(0, 2, 3) + 1, r(4, 10)),
          {"input i0": 12}, 12),
    Model("tied weights", lambda: model(tied, ids(1, 2), w=r(100, 8)),
          {"input i0": 16, "parameter w": 3200}, 800, {"float32": 2 * 2 * 8 * 100}),
    Model("unused parameter and input", lambda: model(lambda m, x, y: x + 1, r(4), r(400), w=r(1000)),
          {"input i0": 16, "input i1": 0, "parameter w": 0}, 16),
    Model("only the shape of an input", lambda: model(lambda m, x, y: x + torch.zeros_like(y), r(4), r(4)),
          {"input i0": 16, "input i1": 0}, 16),
    Model("int8 weights with a scale", lambda: model(lambda m, x: x @ (m.w.half() * m.s), r(4, 8, dtype=FP16),
                                                     w=torch.ones(8, 6, dtype=torch.int8), s=r(6, dtype=FP16)),
          {"input i0": 64, "parameter s": 12, "buffer w": 48}, 48, {"float16": 2 * 4 * 8 * 6}),
    Model("ids before a bfloat16 product", lambda: model(lambda m, i, s, x: (x @ m.w) * s, ids(1), r(1), r(4, 8,
          dtype=BF16),
                                                         w=r(8, 6, dtype=BF16)),
          {"input i0": 0, "input i1": 4, "input i2": 64, "parameter w": 96}, 96, {"bfloat16": 2 * 4 * 8 * 6}),
    Model("products of two dtypes", lambda: model(lambda m, x, y: (x @ x, y @ y), r(4, 4, dtype=BF16), r(4, 4,
          dtype=FP16)),
          {"input i0": 32, "input i1": 32}, 64, {"bfloat16": 128, "float16": 128}),
    Model("product of widened values", lambda: model(lambda m, x: x.float() @ m.w.float().T, r(4, 8, dtype=BF16),
          w=r(6, 8, dtype=BF16)),
          {"input i0": 64, "parameter w": 96}, 96, {"bfloat16": 2 * 4 * 8 * 6}),
    Model("one row of a product", lambda: model(lambda m, x: F.linear(x, m.w, m.b)[:1], r(4, 8), w=r(6, 8), b=r(6)),
          {"input i0": 32, "parameter w": 192, "parameter b": 24}, 24, {"float32": 2 * 8 * 6}),
    Model("a product for nothing", lambda: model(lambda m, x: (x @ x, x + 1)[1], r(4, 4)), {"input i0": 64}, 64),
    Model("convolution", lambda: model(lambda m, x: F.conv2d(x, m.w), r(2, 3, 8, 8), w=r(5, 3, 3, 3)),
          {"input i0": 1536, "parameter w": 540}, 2 * 5 * 36 * 4, {"float32": 2 * 2 * 5 * 3 * 9 * 36}),
    Model("convolution with padding", lambda: model(lambda m, x: F.conv1d(x, m.w, padding=1), r(1, 1, 8), w=r(1, 1,
          3)),
          {"input i0": 32, "parameter w": 12}, 32, {"float32": 2 * (8 * 3 - 2)}),
    Model("transposed convolution", lambda: model(lambda m, x: F.conv_transpose1d(x, m.w, stride=2, padding=1), r(1,
          2, 5), w=r(2, 3, 3)),
          {"input i0": 40, "parameter w": 72}, 3 * 9 * 4, {"float32": 2 * 2 * 3 * (5 * 3 - 2)}),
    Model("batched product", lambda: model(lambda m, x, y: x @ y, r(3, 4, 5), r(3, 5, 6)),
          {"input i0": 240, "input i1": 360}, 288, {"float32": 2 * 3 * 4 * 5 * 6}),
    Model("attention", lambda: model(lambda m, q, k, v: F.scaled_dot_product_attention(q, k, v), r(1, 2, 8, 16), r(1,
          2, 8, 16), r(1, 2, 8, 16)),
          {"input i0": 1024, "input i1": 1024, "input i2": 1024}, 1024, {"float32": 4 * 2 * 8 * 8 * 16}),
    Model("causal attention", lambda: model(lambda m, q: F.scaled_dot_product_attention(q, q, q, is_causal=True),
          r(1, 2, 8, 16)),
          {"input i0": 1024}, 1024, {"float32": 4 * 2 * 36 * 16}),
    Model("einsum", lambda: model(lambda m, x, y: torch.einsum("bij,bkj->bik", x, y), r(3, 4, 5), r(3, 6, 5)),
          {"input i0": 240, "input i1": 360}, 288, {"float32": 2 * 3 * 4 * 5 * 6}),
    Model("cumulative sum", lambda: model(lambda m, x: x.cumsum(1), r(4, 10)), {"input i0": 160}, 160),
    Model("argmax", lambda: model(lambda m, x: x.argmax(-1), r(4, 10)), {"input i0": 160}, 32),
    Model("topk", lambda: model(lambda m, x: x.topk(2, -1), r(4, 10)), {"input i0": 160}, 4 * 2 * 12),
    Model("indices of a topk", lambda: model(lambda m, x: x.topk(2, -1)[1], r(4, 10)), {"input i0": 160}, 64),
    Model("where", lambda: model(lambda m, c, x, y: torch.where(c, x, y), torch.ones(4, dtype=torch.bool), r(4), r(4)),
          {"input i0": 4, "input i1": 16, "input i2": 16}, 16),
    Model("expanded input", lambda: model(lambda m, x: x * 2, r(1, 8).expand(4, 8)), {"input i0": 32}, 128),
    Model("expanded in forward", lambda: model(lambda m, x: x.expand(4, 8) + 1, r(1, 8)), {"input i0": 32}, 128),
    Model("transposed copy", lambda: model(lambda m, x: x.T.contiguous(), r(4, 8)), {"input i0": 128}, 128),
    Model("identity", lambda: model(lambda m, x: x, r(4, 8)), {"input i0": 0}, 0),
    Model("reshape", lambda: model(lambda m, x: x.view(8, 4), r(4, 8)), {"input i0": 0}, 0),
    Model("an output twice", lambda: model(lambda m, x: (y := x + 1, y), r(4, 8)), {"input i0": 128}, 128),
    Model("a part of a concatenation", lambda: model(lambda m, x, y: torch.cat([x, y], 1)[:, :8], r(4, 8), r(4, 8)),
          {"input i0": 128, "input i1": 0}, 128),
    Model("a stack", lambda: model(lambda m, x, y: torch.stack([x, y])[1], r(4), r(4)),
          {"input i0": 0, "input i1": 16}, 16),
    Model("overwritten", lambda: model(overwritten, r(4)), {"input i0": 0}, 16),
    Model("filled part by part", lambda: model(filled, r(4, 8)), {"input i0": 96}, 128),
    Model("untouched buffer", lambda: model(lambda m, x: x + 1, r(4), steps=ids(5)),
          {"input i0": 16, "buffer steps": 0}, 16),
    Model("layer norm of one row", lambda: model(lambda m, x: F.layer_norm(x, (8,), m.w)[:, 0], r(2, 3, 8), w=r(8)),
          {"input i0": 64, "parameter w": 32}, 64),
    Model("bytes seen as other numbers", lambda: model(lambda m, x: x.view(torch.int8)[:, :8] + 1, r(4, 8)),
          {"input i0": 32}, 32),
    Model("nothing", lambda: model(lambda m, x: x + 1, r(0, 8)), {"input i0": 0}, 0),
]  # fmt: skip

every_model = pytest.mark.parametrize("case", MODELS, ids=lambda case: case.name)


@every_model
def test_the_bytes_and_flop_are_what_a_perfect_kernel_must_move_and_multiply(case: Model) -> None:
    found = work_of(*unpacked(case))
    assert {read.name: read.bytes for read in found.reads} == case.reads
    assert found.written_bytes == case.written
    assert found.flop == case.flop
    assert not found.assumed


@every_model
def test_without_values_no_more_is_counted_and_what_was_assumed_is_said(case: Model) -> None:
    with FakeTensorMode(allow_non_fake_inputs=True):
        call = called(*unpacked(case))
    found = least_work(call)
    expected = case.reads | case.fake
    assert {read.name: read.bytes for read in found.reads} == expected
    assert all(
        expected[name] <= size for name, size in case.reads.items() if name not in ("input i0",) or not case.fake
    )
    assert (found.written_bytes, found.flop) == (case.written, case.flop)
    if case.fake:
        assert found.depends_on_values


def unpacked(case: Model) -> tuple[Any, ...]:
    module, inputs = case.make()
    return (module, *inputs)


def test_what_is_read_of_a_large_intermediate_is_followed_and_said_where_it_is_too_large() -> None:
    with FakeTensorMode():
        pooled = [
            called(nn.Sequential(nn.Conv2d(1, 4, 1, bias=False), nn.MaxPool2d(2)), torch.empty(samples, 1, 4097, 4097))
            for samples in (3, 4)
        ]
    followed, lost = map(least_work, pooled)
    assert followed.flop == {"float32": 3 * 4 * 4096 * 4096 * 2}
    assert (followed.reads[0].bytes, followed.assumed) == (3 * 4096 * 4096 * 4, ())
    assert (lost.flop, lost.reads[0].bytes, lost.assumed) == ({}, 0, (NOT_FOLLOWED,))


def test_what_is_left_of_a_large_tensor_is_counted_without_a_mask() -> None:
    with FakeTensorMode():
        parts = called(Calls(lambda m, x: x.chunk(2, -1)[0] * x.chunk(2, -1)[1]), torch.empty(1 << 16, 1 << 13))
        half = called(Calls(lambda m, x: x[:, : 1 << 12] + 1), torch.empty(1 << 16, 1 << 13))
        rows = called(Calls(lambda m, i: F.embedding(i, m.w), w=torch.empty(1 << 18, 1 << 12)), torch.zeros(9).long())
    assert least_work(parts).reads[0].bytes == 4 << 29
    assert least_work(half).reads[0].bytes == 4 << 28
    assert least_work(rows).reads[1].bytes == 4 << 12


def test_the_rows_that_are_read_are_counted() -> None:
    found = work_of(Calls(lambda m, i: F.embedding(i, m.w), w=r(100, 16)), ids(7, 3, 7))
    assert [(read.name, read.rows, read.of_bytes) for read in found.reads] == [
        ("input i0", None, 24),
        ("parameter w", 2, 6400),
    ]


def test_inputs_that_share_memory_are_read_once() -> None:
    x = r(4, 8)
    found = work_of(Calls(lambda m, x, y: x + y), x, x)
    assert [read.bytes for read in found.reads] == [128, 0]


def test_a_value_that_the_host_looks_at_is_read() -> None:
    found = work_of(Calls(lambda m, x, n: x[: int(n)] * 2), r(8), torch.tensor(3))
    assert [read.bytes for read in found.reads] == [12, 8]


def test_an_index_that_was_changed_after_its_use_is_not_known() -> None:
    def changed(m: Any, x: Tensor) -> Tensor:
        index = torch.arange(4)
        made = x[index]
        index.zero_()
        return made + index.sum()

    found = work_of(Calls(changed), r(8))
    assert found.reads[0].bytes == 4
    assert found.depends_on_values


def test_what_goes_through_a_sparse_tensor_is_not_followed() -> None:
    found = work_of(Calls(lambda m, x, y: torch.sparse.mm(x.to_sparse(), y) + 1), r(4, 4), r(4, 8))
    assert [read.bytes for read in found.reads] == [0, 128]
    assert found.written_bytes == 128
