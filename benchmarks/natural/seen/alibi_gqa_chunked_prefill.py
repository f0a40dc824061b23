import math
import torch
import torch.nn as nn


def alibi_slopes(n_heads):
    def pow2(n):
        start = 2.0 ** (-(2.0 ** -(math.log2(n) - 3)))
        return [start ** (i + 1) for i in range(n)]

    if math.log2(n_heads).is_integer():
        return pow2(n_heads)
    closest = 2 ** math.floor(math.log2(n_heads))
    return pow2(closest) + alibi_slopes(2 * closest)[0::2][: n_heads - closest]


class Model(nn.Module):
    """One chunk of a prefill against cached keys: ALiBi bias, grouped KV heads, ragged key lengths."""

    def __init__(self, n_heads, n_kv_heads, head_dim):
        super().__init__()
        self.n_heads = n_heads
        self.n_kv_heads = n_kv_heads
        self.scale = head_dim ** -0.5
        self.register_buffer("slopes", torch.tensor(alibi_slopes(n_heads)))

    def forward(self, q, k, v, kv_len):
        B, T, H, D = q.shape
        S = k.shape[1]
        rep = self.n_heads // self.n_kv_heads
        q = q.transpose(1, 2)
        k = k.transpose(1, 2).repeat_interleave(rep, dim=1)
        v = v.transpose(1, 2).repeat_interleave(rep, dim=1)

        # the chunk's queries are the last T positions of the padded key axis
        qpos = torch.arange(S - T, S, device=q.device)
        kpos = torch.arange(S, device=q.device)
        dist = (kpos[None, :] - qpos[:, None]).float()
        bias = self.slopes.view(1, H, 1, 1) * dist

        scores = torch.matmul(q, k.transpose(-1, -2)).float() * self.scale + bias
        causal = dist <= 0
        valid = kpos[None, :] < kv_len[:, None]
        keep = causal[None, None] & valid[:, None, None, :]
        scores = scores.masked_fill(~keep, torch.finfo(torch.float32).min)
        probs = torch.softmax(scores, dim=-1).to(v.dtype)
        out = torch.matmul(probs, v)
        return out.transpose(1, 2).reshape(B, T, H * D)


batch = 2
chunk = 768
kv_max = 1808
n_heads = 40
n_kv_heads = 8
head_dim = 128


def get_inputs():
    q = torch.randn(batch, chunk, n_heads, head_dim).to(torch.bfloat16)
    k = torch.randn(batch, kv_max, n_kv_heads, head_dim).to(torch.bfloat16)
    v = torch.randn(batch, kv_max, n_kv_heads, head_dim).to(torch.bfloat16)
    kv_len = torch.randint(kv_max - chunk // 2, kv_max + 1, (batch,))
    return [q, k, v, kv_len]


def get_init_inputs():
    return [n_heads, n_kv_heads, head_dim]
