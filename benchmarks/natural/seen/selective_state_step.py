"""One decoding step of a selective state-space layer: a short causal convolution over kept inputs, input-dependent step
sizes, and an update of a diagonal state."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 128
d_model = 2048
d_state = 16
d_conv = 4


class Model(nn.Module):
    def __init__(self, d_model, d_state=16, d_conv=4, expand=2):
        super().__init__()
        d_inner = expand * d_model
        dt_rank = d_model // 16
        self.split = [dt_rank, d_state, d_state]
        self.in_proj = nn.Linear(d_model, 2 * d_inner, bias=False)
        self.conv_weight = nn.Parameter(torch.randn(d_inner, d_conv) * d_conv**-0.5)
        self.conv_bias = nn.Parameter(torch.zeros(d_inner))
        self.x_proj = nn.Linear(d_inner, dt_rank + 2 * d_state, bias=False)
        self.dt_proj = nn.Linear(dt_rank, d_inner)
        self.a_log = nn.Parameter(torch.log(torch.arange(1, d_state + 1).float()).repeat(d_inner, 1))
        self.skip = nn.Parameter(torch.ones(d_inner))
        self.out_proj = nn.Linear(d_inner, d_model, bias=False)

    def forward(self, x, conv_state, ssm_state):
        """x: (batch, d_model); conv_state: (batch, d_inner, d_conv); ssm_state: (batch, d_inner, d_state)."""
        u, gate = self.in_proj(x).chunk(2, dim=-1)
        conv_state = torch.cat((conv_state[:, :, 1:], u.unsqueeze(-1)), dim=-1)
        u = F.silu((conv_state * self.conv_weight).sum(-1) + self.conv_bias)

        dt, b, c = self.x_proj(u).split(self.split, dim=-1)
        dt = F.softplus(self.dt_proj(dt))
        a = -torch.exp(self.a_log)
        decay = torch.exp(dt.unsqueeze(-1) * a)
        ssm_state = ssm_state * decay + (dt * u).unsqueeze(-1) * b.unsqueeze(1)
        y = torch.einsum("bds,bs->bd", ssm_state, c) + self.skip * u
        return self.out_proj(y * F.silu(gate)), conv_state, ssm_state


def get_inputs():
    return [
        torch.randn(batch, d_model),
        torch.randn(batch, 2 * d_model, d_conv),
        torch.randn(batch, 2 * d_model, d_state),
    ]


def get_init_inputs():
    return [d_model, d_state, d_conv]
