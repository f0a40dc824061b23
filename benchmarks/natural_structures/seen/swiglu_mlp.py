"""SwiGLU MLP of Llama-3.2-1B: 2048 -> 8192 -> 2048 with gate and up in one matrix, 32 tokens."""
import torch
from torch import nn
import torch.nn.functional as F

TOKENS = 32
DIM = 2048
INTER = 8192


class SiluAndMul(nn.Module):
    def forward(self, x):
        d = x.shape[-1] // 2
        return F.silu(x[..., :d]) * x[..., d:]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate_up_proj = nn.Linear(DIM, 2 * INTER, bias=False, dtype=torch.bfloat16)
        self.down_proj = nn.Linear(INTER, DIM, bias=False, dtype=torch.bfloat16)
        self.act_fn = SiluAndMul()
        with torch.no_grad():
            self.gate_up_proj.weight.normal_(0, DIM**-0.5)
            self.down_proj.weight.normal_(0, 1.7 * INTER**-0.5)

    def forward(self, x):
        gate_up = self.gate_up_proj(x)
        x = self.act_fn(gate_up)
        return self.down_proj(x)


def get_inputs():
    return [torch.randn(TOKENS, DIM, dtype=torch.bfloat16)]


def get_init_inputs():
    return []
