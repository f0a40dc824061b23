"""Values of four bits taken out of whole numbers along dimension 1, in half precision."""

import torch
import torch.nn as nn

rows = 512
cols = 4096

CASES = [
    dict(name="full", rows=512, cols=4096),
    dict(name="odd", held_out=True, rows=33, cols=200),
    dict(name="small", small=True, rows=6, cols=20),
]


class Model(nn.Module):
    def forward(self, packed):
        shifts = torch.arange(0, 32, 4, device=packed.device, dtype=torch.int32)
        fields = (packed.unsqueeze(2) >> shifts) & 15
        return fields.flatten(1, 2).half()


def get_inputs():
    return [torch.randint(-(2**31), 2**31 - 1, (rows, cols), dtype=torch.int32)]


def get_init_inputs():
    return []
