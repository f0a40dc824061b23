"""The forward pass of Kimi Delta Attention, in chunks: a linear attention whose state decays by channel."""

import torch
import torch.nn as nn

B = 1
T = 2048
H = 4
K = 128
V = 128
CHUNK_SIZE = 64

CASES = [
    dict(name="thin", B=1, T=2048, H=4),
    dict(name="short", held_out=True, B=2, T=1024, H=8),
]


class Model(nn.Module):
    def __init__(self, B, T, H, K, V, chunk_size=64):
        super().__init__()
        self.K, self.V, self.chunk_size = K, V, chunk_size
        self.scale = float(K) ** -0.5
        self.register_buffer("_dummy", torch.zeros(1), persistent=False)

    def chunks(self, x):
        """x: (B, T, H, …) as (B, H, chunks, chunk size, …) in float32."""
        b, t, h = x.shape[:3]
        x = x.float().reshape(b, t // self.chunk_size, self.chunk_size, h, *x.shape[3:])
        return x.movedim(3, 1)

    def forward(self, q, k, v, g, beta):
        b, t, h, _ = q.shape
        q, k, values, decay, beta = (self.chunks(x) for x in (q, k, v, g, beta))
        q = q * self.scale
        decay = decay.cumsum(-2)
        size = self.chunk_size
        below = torch.ones(size, size, dtype=torch.bool, device=q.device).tril()
        # between[i, j]: how much of step j is left at step i, of each channel; zero where j is later than i
        between = decay.unsqueeze(-2) - decay.unsqueeze(-3)
        between = between.masked_fill(~below[..., None], float("-inf")).exp()
        keys = torch.einsum("...ic,...jc,...ijc->...ij", k, k, between) * beta[..., None]
        queries = torch.einsum("...ic,...jc,...ijc->...ij", q, k, between)
        system = keys.tril(-1) + torch.eye(size, dtype=keys.dtype, device=keys.device)
        written = torch.linalg.solve_triangular(system, beta[..., None] * values, upper=False, unitriangular=True)
        read = torch.linalg.solve_triangular(system, beta[..., None] * decay.exp() * k, upper=False, unitriangular=True)
        state = torch.zeros(b, h, self.K, self.V, dtype=q.dtype, device=q.device)
        outputs = []
        for i in range(t // size):
            new = written[:, :, i] - read[:, :, i] @ state
            outputs.append((q[:, :, i] * decay[:, :, i].exp()) @ state + queries[:, :, i] @ new)
            last = decay[:, :, i, -1:]
            kept = k[:, :, i] * (last - decay[:, :, i]).exp()
            state = state * last.exp().transpose(-1, -2) + kept.transpose(-1, -2) @ new
        output = torch.stack(outputs, dim=2).movedim(1, 3)
        return output.reshape(b, t, h, self.V).to(v.dtype)


def get_inputs():
    q = torch.randn(B, T, H, K, dtype=torch.bfloat16) * 0.1
    k = torch.randn(B, T, H, K, dtype=torch.bfloat16) * 0.1
    v = torch.randn(B, T, H, V, dtype=torch.bfloat16) * 0.1
    g = torch.randn(B, T, H, K) * 0.1 - 0.05
    beta = torch.sigmoid(torch.randn(B, T, H, dtype=torch.bfloat16))
    return [q, k, v, g, beta]


def get_init_inputs():
    return [B, T, H, K, V, CHUNK_SIZE]
