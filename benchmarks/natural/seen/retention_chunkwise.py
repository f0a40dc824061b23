import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """RetNet multi-scale retention, chunkwise form, with group norm and a swish gate."""

    def __init__(self, n_heads, key_dim, value_dim, chunk):
        super().__init__()
        self.n_heads = n_heads
        self.chunk = chunk
        self.scale = key_dim ** -0.5
        decay = torch.log(1 - 2.0 ** (-5 - torch.arange(n_heads, dtype=torch.float32)))
        self.register_buffer("decay", decay)
        self.norm_weight = nn.Parameter(torch.ones(n_heads * value_dim))

    def forward(self, q, k, v, gate):
        B, H, T, Dk = q.shape
        Dv = v.shape[-1]
        C = self.chunk
        idx = torch.arange(C, device=q.device, dtype=q.dtype)
        rel = idx[:, None] - idx[None, :]
        intra = torch.exp(self.decay[:, None, None] * rel.clamp(min=0))
        intra = intra * (rel >= 0)
        q_decay = torch.exp(self.decay[:, None] * (idx + 1)).unsqueeze(-1)
        k_decay = torch.exp(self.decay[:, None] * (C - 1 - idx)).unsqueeze(-1)
        chunk_decay = torch.exp(self.decay * C).view(1, H, 1, 1)

        state = torch.zeros(B, H, Dk, Dv, device=q.device, dtype=q.dtype)
        outs = []
        for s in range(0, T, C):
            qc = q[:, :, s:s + C] * self.scale
            kc = k[:, :, s:s + C]
            vc = v[:, :, s:s + C]
            inner = (qc @ kc.transpose(-1, -2) * intra) @ vc
            cross = (qc * q_decay) @ state
            outs.append(inner + cross)
            state = state * chunk_decay + (kc * k_decay).transpose(-1, -2) @ vc
        o = torch.cat(outs, dim=2)
        # per-head RMS group norm, then the gate
        o = o * torch.rsqrt(o.pow(2).mean(-1, keepdim=True) + 1e-5)
        o = o.transpose(1, 2).reshape(B, T, H * Dv) * self.norm_weight
        return F.silu(gate) * o, state


batch = 4
n_heads = 8
seq_len = 2048
key_dim = 128
value_dim = 256
chunk = 128


def get_inputs():
    q = torch.randn(batch, n_heads, seq_len, key_dim)
    k = torch.randn(batch, n_heads, seq_len, key_dim)
    v = torch.randn(batch, n_heads, seq_len, value_dim)
    gate = torch.randn(batch, seq_len, n_heads * value_dim)
    return [q, k, v, gate]


def get_init_inputs():
    return [n_heads, key_dim, value_dim, chunk]
