# fault: squares the mean in padding lanes (no mask on the deviations); shows where a group's size is no multiple of 128
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, w_ptr, b_ptr, out_ptr, groups, per_group, length, eps, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    group = pid % groups
    size = per_group * length
    base = pid.to(tl.int64) * size
    lanes = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, size, BLOCK):
        acc += tl.load(x_ptr + base + start + lanes, mask=start + lanes < size, other=0.0).to(tl.float32)
    mean = tl.sum(acc, axis=0) / size
    acc = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, size, BLOCK):
        inside = start + lanes < size
        d = tl.load(x_ptr + base + start + lanes, mask=inside, other=0.0).to(tl.float32) - mean
        acc += d * d
    rstd = 1.0 / tl.sqrt(tl.sum(acc, axis=0) / size + eps)
    for start in range(0, size, BLOCK):
        at = start + lanes
        inside = at < size
        channel = group * per_group + at // length
        w = tl.load(w_ptr + channel, mask=inside, other=0.0).to(tl.float32)
        b = tl.load(b_ptr + channel, mask=inside, other=0.0).to(tl.float32)
        x = tl.load(x_ptr + base + at, mask=inside, other=0.0).to(tl.float32)
        y = (x - mean) * rstd * w + b
        e = tl.exp(-tl.abs(y))
        tl.store(out_ptr + base + at, y * tl.where(y >= 0.0, 1.0, e) / (1.0 + e), mask=inside)


class ModelNew(torch.nn.Module):
    def __init__(self, groups, channels):
        super().__init__()
        self.norm = torch.nn.GroupNorm(groups, channels, eps=1e-6)
        self.groups = groups

    def forward(self, x):
        x = x.contiguous()
        batch, channels, length = x.shape
        out = torch.empty_like(x)
        kernel[(batch * self.groups,)](
            x, self.norm.weight, self.norm.bias, out, self.groups, channels // self.groups, length, 1e-6, BLOCK=128
        )
        return out
