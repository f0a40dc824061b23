"""Linear attention with a decay per head, computed chunk by chunk: a masked product inside each chunk and a state that
is carried between chunks. Retentive and lightning-attention models train this way."""

import torch
import torch.nn as nn

batch = 4
heads = 16
length = 4096
head_dim = 128
chunk = 256


class Model(nn.Module):
    def __init__(self, heads: int, chunk: int):
        super().__init__()
        self.chunk = chunk
        gamma = 1.0 - 2.0 ** (-5.0 - torch.arange(heads).float() * 3.0 / heads)
        i = torch.arange(chunk).float()
        log_gamma = gamma.log()
        decay = torch.exp((i[:, None] - i[None, :]).clamp(min=0) * log_gamma[:, None, None])
        self.register_buffer("inside", torch.tril(decay))
        self.register_buffer("to_start", torch.exp((i + 1) * log_gamma[:, None]).unsqueeze(-1))
        self.register_buffer("to_end", torch.exp((chunk - 1 - i) * log_gamma[:, None]).unsqueeze(-1))
        self.register_buffer("over_chunk", torch.exp(chunk * log_gamma)[:, None, None])

    def forward(self, q, k, v):
        b, h, t, d = q.shape
        q = q * d**-0.5
        state = q.new_zeros(b, h, d, v.shape[-1])
        outputs = []
        for start in range(0, t, self.chunk):
            part = slice(start, start + self.chunk)
            qc, kc, vc = q[:, :, part], k[:, :, part], v[:, :, part]
            local = (qc @ kc.transpose(-1, -2) * self.inside) @ vc
            carried = (qc * self.to_start) @ state
            outputs.append(local + carried)
            state = state * self.over_chunk + (kc * self.to_end).transpose(-1, -2) @ vc
        return torch.cat(outputs, dim=2), state


def get_inputs():
    return [torch.randn(batch, heads, length, head_dim) for _ in range(3)]


def get_init_inputs():
    return [heads, chunk]
