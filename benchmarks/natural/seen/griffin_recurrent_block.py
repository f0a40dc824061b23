import torch
import torch.nn as nn
import torch.nn.functional as F

batch_size = 8
seq_len = 256
width = 1024
lru_width = 1280
num_heads = 10
conv_width = 4


class Model(nn.Module):
    """Recurrent block of Griffin / RecurrentGemma: causal conv, then the real-gated linear recurrent unit."""

    def __init__(self, width, lru_width, num_heads, conv_width):
        super().__init__()
        self.num_heads = num_heads
        self.conv_width = conv_width
        self.linear_x = nn.Linear(width, lru_width)
        self.linear_y = nn.Linear(width, lru_width)
        self.linear_out = nn.Linear(lru_width, width)
        self.conv = nn.Conv1d(lru_width, lru_width, conv_width, groups=lru_width)
        hd = lru_width // num_heads
        self.in_gate_w = nn.Parameter(torch.randn(num_heads, hd, hd) / hd**0.5)
        self.in_gate_b = nn.Parameter(torch.zeros(num_heads, hd))
        self.a_gate_w = nn.Parameter(torch.randn(num_heads, hd, hd) / hd**0.5)
        self.a_gate_b = nn.Parameter(torch.zeros(num_heads, hd))
        self.a_param = nn.Parameter(torch.empty(lru_width).uniform_(0.3, 0.8))

    def block_diag(self, x, w, b):
        B, T, C = x.shape
        y = torch.einsum("bthi,hij->bthj", x.view(B, T, self.num_heads, -1), w) + b
        return torch.sigmoid(y).reshape(B, T, C)

    def forward(self, x):
        y = F.gelu(self.linear_y(x), approximate="tanh")
        h = self.linear_x(x).transpose(1, 2)
        h = self.conv(F.pad(h, (self.conv_width - 1, 0))).transpose(1, 2)
        gate_x = self.block_diag(h, self.in_gate_w, self.in_gate_b)
        gate_a = self.block_diag(h, self.a_gate_w, self.a_gate_b)
        log_a = -8.0 * gate_a * F.softplus(self.a_param)
        a = torch.exp(log_a)
        b = torch.sqrt(1 - torch.exp(2 * log_a)) * gate_x * h
        state = torch.zeros_like(b[:, 0])
        out = []
        for t in range(b.shape[1]):
            state = a[:, t] * state + b[:, t]
            out.append(state)
        h = torch.stack(out, dim=1)
        return self.linear_out(h * y)


def get_inputs():
    return [torch.randn(batch_size, seq_len, width)]


def get_init_inputs():
    return [width, lru_width, num_heads, conv_width]
