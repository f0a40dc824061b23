"""One step of RMSprop with weight decay in the gradient, in place, with states of eight bits in blocks of 256."""

import torch
import torch.nn as nn

blocks = 8192

CASES = [
    dict(name="full", blocks=8192, dtype="float32"),
    dict(name="odd", blocks=77, dtype="float32", held_out=True),
    dict(name="small", small=True, blocks=3, dtype="float32"),
]

MUTATES = ("p", "codes1", "absmax1")

LR = 0.01
DECAY = 0.1


def quantize(x, code):
    """Index of the nearest entry of an ascending code for each value of blocks of 256, and the sizes of the blocks."""
    blocks = x.reshape(-1, 256)
    absmax = blocks.abs().amax(1, keepdim=True)
    normal = torch.where(absmax > 0, blocks / absmax, -1).clamp(-1, 1)
    above = torch.searchsorted(code, normal.contiguous()).clamp(max=255)
    below = (above - 1).clamp(min=0)
    nearest = torch.where((normal - code[below]).abs() <= (code[above] - normal).abs(), below, above)
    return nearest.to(torch.uint8).view(x.shape), absmax.flatten()


class Model(nn.Module):
    def forward(self, p, g, codes1, absmax1, code1):
        s1 = code1[codes1.long()] * absmax1[:, None]
        g = g + DECAY * p
        s1 = 0.9 * s1 + 0.1 * g * g
        p.sub_(LR * g / (s1.sqrt() + 1e-8))
        for codes, absmax, code, state in [(codes1, absmax1, code1, s1)]:
            new_codes, new_absmax = quantize(state, code)
            codes.copy_(new_codes)
            absmax.copy_(new_absmax)


def get_inputs():
    return [
        torch.randn(blocks, 256),
        torch.randn(blocks, 256),
        torch.randint(0, 256, (blocks, 256), dtype=torch.uint8),
        torch.randint(1, 5, (blocks,)).float(),
        torch.linspace(0, 1, 256),
    ]


def get_init_inputs():
    return []
