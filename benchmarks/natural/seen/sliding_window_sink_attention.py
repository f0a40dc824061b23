import torch
import torch.nn as nn

B = 2
SEQ = 2048
N_HEADS = 32
N_KV = 4
HEAD_DIM = 64
WINDOW = 128


def repeat_kv(x: torch.Tensor, n: int) -> torch.Tensor:
    if n == 1:
        return x
    b, h, s, d = x.shape
    return x[:, :, None].expand(b, h, n, s, d).reshape(b, h * n, s, d)


class Model(nn.Module):
    """Causal attention in a sliding window with one learned sink logit per head."""

    def __init__(self, n_heads, n_kv, head_dim, window):
        super().__init__()
        self.n_rep = n_heads // n_kv
        self.window = window
        self.sm_scale = head_dim ** -0.5
        self.sinks = nn.Parameter(torch.randn(n_heads))

    def forward(self, q, k, v):
        b, h, s, d = q.shape
        k = repeat_kv(k, self.n_rep)
        v = repeat_kv(v, self.n_rep)

        logits = torch.matmul(q, k.transpose(-1, -2)) * self.sm_scale
        i = torch.arange(s, device=q.device)
        dist = i[:, None] - i[None, :]
        keep = dist >= 0
        if self.window > 0:
            keep = keep & (dist < self.window)
        logits = logits.masked_fill(~keep, torch.finfo(logits.dtype).min)

        sink = self.sinks.to(logits.dtype).reshape(1, -1, 1, 1).expand(b, -1, s, 1)
        combined = torch.cat([logits, sink], dim=-1)
        combined = combined - combined.max(dim=-1, keepdim=True).values
        probs = torch.softmax(combined.float(), dim=-1)[..., :-1].to(v.dtype)
        out = torch.matmul(probs, v)
        return out.transpose(1, 2).reshape(b, s, h * d)


def get_inputs():
    return [
        torch.randn(B, N_HEADS, SEQ, HEAD_DIM),
        torch.randn(B, N_KV, SEQ, HEAD_DIM),
        torch.randn(B, N_KV, SEQ, HEAD_DIM),
    ]


def get_init_inputs():
    return [N_HEADS, N_KV, HEAD_DIM, WINDOW]
