"""Block size and evenness from triton.heuristics; parameters by the last part of their names."""

import torch
import triton
import triton.language as tl


@triton.heuristics(
    {
        "BLOCK": lambda args: triton.next_power_of_2(args["features"]),
        "EVEN": lambda args: args["features"] % 16 == 0,
    }
)
@triton.jit
def layer_norm(x_ptr, w_ptr, b_ptr, out_ptr, features, eps, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    """One row; no masks on weights where the row fills whole vectors."""
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    inside = column < features
    x = tl.load(x_ptr + row * features + column, mask=inside, other=0.0)
    mean = tl.sum(x, axis=0) / features
    centred = tl.where(inside, x - mean, 0.0)
    scale = 1.0 / tl.sqrt(tl.sum(centred * centred, axis=0) / features + eps)
    if EVEN:
        tl.multiple_of(features, 16)
    w = tl.load(w_ptr + column, mask=inside, other=0.0)
    b = tl.load(b_ptr + column, mask=inside, other=0.0)
    tl.store(out_ptr + row * features + column, centred * scale * w + b, mask=inside)


def kernel_function(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float = 1e-5) -> torch.Tensor:
    x = x.contiguous()
    out = torch.empty_like(x)
    layer_norm[(x.size(0),)](x, weight, bias, out, x.size(1), eps)
    return out
