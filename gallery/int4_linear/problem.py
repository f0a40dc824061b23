"""A linear layer whose weights are 4-bit numbers, two in a byte, with a scale for every 128 of a row.

Decoding with a quantised language model is mostly this: few tokens, and the weights are all that has to be read.
"""

import torch
import torch.nn as nn

GROUP = 128


class Model(nn.Module):
    """x: (tokens, in_features); packed: (out_features, in_features / 2) uint8, the even column in the low half;
    scales: (out_features, in_features / GROUP). A weight is (4-bit number - 8) * scale."""

    def forward(self, x, packed, scales):
        numbers = torch.stack((packed & 15, packed >> 4), dim=-1).reshape(packed.shape[0], -1)
        weight = (numbers.to(x.dtype) - 8) * scales.repeat_interleave(GROUP, dim=1)
        return x @ weight.t()


def _case(tokens, in_features, out_features, dtype, short, **marks):
    name = f"{tokens}x{in_features}to{out_features}_{short}"
    return dict(name=name, dtype=dtype, tokens=tokens, in_features=in_features, out_features=out_features, **marks)


LIBRARY = "none"  # own kernels only

CASES = [
    _case(1, 4096, 14336, "float16", "fp16"),
    _case(16, 4096, 14336, "float16", "fp16"),
    _case(16, 14336, 4096, "bfloat16", "bf16", held_out=True),
    _case(64, 4096, 4096, "float16", "fp16", held_out=True),
    _case(5, 1280, 777, "float16", "fp16", held_out=True),
    _case(3, 256, 40, "float16", "fp16", small=True),
    _case(2, 128, 33, "float32", "fp32", small=True),
]


def get_inputs(tokens=16, in_features=4096, out_features=14336):
    packed = torch.randint(0, 256, (out_features, in_features // 2), dtype=torch.uint8)
    scales = 0.02 * (1 + 0.2 * torch.randn(out_features, in_features // GROUP))
    return [torch.randn(tokens, in_features), packed, scales]


def get_init_inputs():
    return []
