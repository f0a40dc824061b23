"""Floor division and remainder of int32 tensors, as Python and PyTorch define them (the remainder has the divisor's sign).

The divisor is never zero. Numbers are anywhere in (-2^31, 2^31)."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a, b):
        return torch.floor_divide(a, b), torch.remainder(a, b)


CASES = [
    dict(name="large", size=1 << 24),
    dict(name="odd", held_out=True, size=100003),
    dict(name="small", small=True, size=1500),
    dict(name="tiny", small=True, size=77),
]


def get_inputs(size=1 << 24):
    b = torch.randint(-50, 50, (size,), dtype=torch.int32)
    b[::5] = torch.randint(-(2**31) + 1, 2**31 - 1, (b[::5].numel(),), dtype=torch.int64).to(torch.int32)
    return [torch.randint(-(2**31) + 1, 2**31 - 1, (size,), dtype=torch.int64).to(torch.int32), torch.where(b == 0, 7, b)]


def get_init_inputs():
    return []
