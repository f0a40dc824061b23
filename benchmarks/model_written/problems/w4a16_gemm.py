"""A product with weights of four bits, two in a byte, that have a scale and a zero point for each group of rows."""

import torch
import torch.nn as nn

M = 1
N = 12288
K = 4096
GROUP_SIZE = 128

CASES = [
    dict(name="decode", M=1, N=12288, K=4096),
    dict(name="prefill", held_out=True, M=32, N=12288, K=4096),
]


class Model(nn.Module):
    def __init__(self, M, N, K, group_size=GROUP_SIZE):
        super().__init__()
        self.group_size = group_size
        weight = (torch.randn(K, N) * 0.02).view(K // group_size, group_size, N)
        low, high = weight.amin(dim=1, keepdim=True), weight.amax(dim=1, keepdim=True)
        scales = (high - low).clamp_min(1e-8) / 15.0
        zeros = (-low / scales).round().clamp(0, 15)
        whole = (weight / scales + zeros).round().clamp(0, 15).to(torch.uint8).view(K, N)
        self.register_buffer("w_q", whole[0::2] | (whole[1::2] << 4))  # even rows in the low half
        self.register_buffer("scales", scales.squeeze(1).to(torch.bfloat16))
        self.register_buffer("zeros", zeros.squeeze(1).to(torch.bfloat16))

    def forward(self, x):
        whole = torch.stack((self.w_q & 0xF, self.w_q >> 4), dim=1).flatten(0, 1).to(torch.bfloat16)
        scales = self.scales.repeat_interleave(self.group_size, dim=0)
        zeros = self.zeros.repeat_interleave(self.group_size, dim=0)
        return x.to(torch.bfloat16) @ ((whole - zeros) * scales)


def get_inputs():
    return [torch.randn(M, K, dtype=torch.bfloat16)]


def get_init_inputs():
    return [M, N, K]
