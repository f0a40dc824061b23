# fault: averages the variances of blocks of 128 and so misses the spread between blocks
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, var_ptr, mean_ptr, cols, correction, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    base = row.to(tl.int64) * cols
    lanes = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, cols, BLOCK):
        inside = start + lanes < cols
        x = tl.load(x_ptr + base + start + lanes, mask=inside, other=0.0).to(tl.float32)
        acc += x
    mean = tl.sum(acc, axis=0) / cols
    acc = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, cols, BLOCK):
        inside = start + lanes < cols
        x = tl.load(x_ptr + base + start + lanes, mask=inside, other=0.0).to(tl.float32)
        own = tl.sum(x, axis=0) / tl.minimum(BLOCK, cols - start)
        d = tl.where(inside, x - own, 0.0)
        acc += d * d
    tl.store(var_ptr + row, tl.sum(acc, axis=0) / (cols - correction))
    tl.store(mean_ptr + row, mean)


def kernel_function(x, correction):
    x = x.contiguous()
    rows, cols = x.shape
    var = torch.empty(rows, dtype=x.dtype, device=x.device)
    mean = torch.empty(rows, dtype=x.dtype, device=x.device)
    kernel[(rows,)](x, var, mean, cols, correction, BLOCK=128)
    return var, mean
