import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def pick_kernel(x_ptr, label_ptr, out_ptr, columns):
    row = tl.program_id(0)
    label = tl.load(label_ptr + row).to(tl.int64)
    tl.store(out_ptr + row, tl.load(x_ptr + row * columns + label))


class ModelNew(nn.Module):
    def forward(self, x, labels):
        x, labels = x.contiguous(), labels.contiguous()
        rows, columns = x.shape
        out = torch.empty((rows,), dtype=x.dtype, device=x.device)
        pick_kernel[(rows,)](x, labels, out, columns)
        return out
