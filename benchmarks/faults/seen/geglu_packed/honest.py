import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, cols, limit, LIMITED: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    col = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = col < cols
    value = tl.load(x_ptr + row * 2 * cols + col, mask=inside, other=0.0).to(tl.float32)
    gate = tl.load(x_ptr + row * 2 * cols + cols + col, mask=inside, other=0.0).to(tl.float32)
    if LIMITED:
        gate = tl.minimum(gate, limit)
        value = tl.minimum(tl.maximum(value, -limit), limit)
    gelu = 0.5 * gate * (1.0 + tl.erf(gate * 0.7071067811865476))
    tl.store(out_ptr + row * cols + col, value * gelu, mask=inside)


def kernel_function(x, limit):
    x = x.contiguous()
    rows, cols = x.shape[0], x.shape[1] // 2
    out = torch.empty(rows, cols, dtype=x.dtype, device=x.device)
    kernel[(rows, triton.cdiv(cols, 128))](
        x, out, cols, 0.0 if limit is None else limit, LIMITED=limit is not None, BLOCK=128
    )
    return out
