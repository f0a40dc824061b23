"""Linear layer with weights packed two 4-bit values to a byte, a scale and a zero point for each group of inputs (AWQ-like)."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, group_size):
        super().__init__()
        self.group_size = group_size

    def forward(self, x, qweight, scales, zeros):
        low = qweight & 0xF
        high = qweight >> 4
        w = torch.stack((low, high), dim=-1).flatten(1)
        out_features, in_features = w.shape
        w = w.view(out_features, in_features // self.group_size, self.group_size).to(scales.dtype)
        w = (w - zeros.unsqueeze(-1)) * scales.unsqueeze(-1)
        w = w.view(out_features, in_features)
        return x @ w.t()


CASES = [
    dict(name="decode_1", dtype="float16", tokens=1, in_features=4096, out_features=14336),
    dict(name="decode_16", dtype="float16", tokens=16, in_features=4096, out_features=14336),
    dict(name="prefill", dtype="bfloat16", tokens=2048, in_features=4096, out_features=4096),
    dict(name="odd", dtype="float16", held_out=True, tokens=7, in_features=1536, out_features=1001),
]


def get_inputs(tokens=16, in_features=4096, out_features=14336, group_size=128):
    groups = in_features // group_size
    return [
        torch.randn(tokens, in_features),
        torch.randint(0, 256, (out_features, in_features // 2), dtype=torch.uint8),
        torch.rand(out_features, groups) * 0.01 + 0.002,
        torch.randint(4, 12, (out_features, groups)).float(),
    ]


def get_init_inputs(group_size=128):
    return [group_size]
