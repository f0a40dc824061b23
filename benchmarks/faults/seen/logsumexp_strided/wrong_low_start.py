# fault: the running peak starts at -1000 instead of minus infinity: values far below give minus infinity
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, classes, positions, CLASSES: tl.constexpr, BLOCK: tl.constexpr):
    position = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    batch = tl.program_id(1).to(tl.int64)
    base = batch * classes * positions
    peak = tl.full((BLOCK,), -1000.0, tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, classes, CLASSES):
        c = start + tl.arange(0, CLASSES)[:, None]
        inside = (c < classes) & (position < positions)[None, :]
        x = tl.load(x_ptr + base + c * positions + position[None, :], mask=inside, other=float("-inf")).to(tl.float32)
        new = tl.maximum(peak, tl.max(x, axis=0))
        safe = tl.where(new == float("-inf"), 0.0, new)
        total = total * tl.exp(peak - safe) + tl.sum(tl.exp(x - safe[None, :]), axis=0)
        peak = new
    out = tl.where(peak == float("-inf"), peak, peak + tl.log(tl.where(total > 0.0, total, 1.0)))
    tl.store(out_ptr + batch * positions + position, out, mask=position < positions)


def kernel_function(x):
    x = x.contiguous()
    batch, classes, positions = x.shape
    out = torch.empty(batch, positions, dtype=x.dtype, device=x.device)
    kernel[(triton.cdiv(positions, 32), batch)](x, out, classes, positions, CLASSES=32, BLOCK=32)
    return out
