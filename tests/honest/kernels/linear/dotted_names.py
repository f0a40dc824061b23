"""A function whose arguments name parameters with dots as underscores; tile sizes live in a frozen dataclass."""

from dataclasses import dataclass

import torch
import triton
import triton.language as tl


@dataclass(frozen=True)
class Tile:
    """Rows and columns of a program's tile."""

    rows: int = 16
    columns: int = 16
    depth: int = 16

    def grid(self, m: int, n: int):
        return triton.cdiv(m, self.rows), triton.cdiv(n, self.columns)


TILE = Tile(columns=32)


@triton.jit
def activated(acc, KIND: tl.constexpr):
    if KIND == "relu":
        return tl.where(acc > 0, acc, 0.0)
    else:
        return acc


@triton.jit
def dense(
    x_ptr, w_ptr, b_ptr, y_ptr, M, N, K, KIND: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr, DEPTH: tl.constexpr
):
    m = (tl.program_id(0) * ROWS + tl.arange(0, ROWS))[:, None]
    n = (tl.program_id(1) * COLS + tl.arange(0, COLS))[None, :]
    acc = tl.zeros((ROWS, COLS), dtype=tl.float32)
    if b_ptr is not None:
        acc += tl.load(b_ptr + n, mask=n < N, other=0.0)
    for start in range(0, K, DEPTH):
        k = start + tl.arange(0, DEPTH)
        x = tl.load(x_ptr + m * K + k[None, :], mask=(m < M) & (k[None, :] < K), other=0.0)
        w = tl.load(w_ptr + n * K + k[:, None], mask=(n < N) & (k[:, None] < K), other=0.0)
        acc += tl.dot(x, w, input_precision="ieee")
    tl.store(y_ptr + m * N + n, activated(acc, KIND), mask=(m < M) & (n < N))


def _dense(x: torch.Tensor, weight: torch.Tensor, bias, kind: str, tile: Tile = TILE) -> torch.Tensor:
    m, k = x.shape
    n = weight.shape[0]
    y = torch.empty(m, n, dtype=x.dtype, device=x.device)
    dense[tile.grid(m, n)](x, weight, bias, y, m, n, k, KIND=kind, ROWS=tile.rows, COLS=tile.columns, DEPTH=tile.depth)
    return y


def kernel_function(x, layers_0_weight, layers_0_bias, layers_2_weight, layers_2_bias):
    hidden = _dense(x.contiguous(), layers_0_weight, layers_0_bias, "relu")
    return _dense(hidden, layers_2_weight, layers_2_bias, "none")
