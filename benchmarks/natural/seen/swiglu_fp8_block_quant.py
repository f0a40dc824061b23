import torch
import torch.nn as nn
import torch.nn.functional as F

NUM_TOKENS = 16384
INTERMEDIATE = 2048
BLOCK = 128


class Model(nn.Module):
    """silu(gate) * up * routing weight, then per-token 1x128 block quantisation to e4m3."""

    def __init__(self, block: int = 128, pow2_scales: bool = True, eps: float = 1e-4):
        super().__init__()
        self.block = block
        self.pow2_scales = pow2_scales
        self.eps = eps

    def forward(self, gate_up: torch.Tensor, topk_weight: torch.Tensor):
        gate, up = gate_up.chunk(2, dim=-1)
        act = F.silu(gate.float()) * up.float() * topk_weight[:, None]
        act = act.to(gate_up.dtype)

        t, d = act.shape
        blocks = act.view(t, d // self.block, self.block).float()
        amax = blocks.abs().amax(dim=-1, keepdim=True).clamp(min=self.eps)
        scale = amax / torch.finfo(torch.float8_e4m3fn).max
        if self.pow2_scales:
            scale = torch.exp2(torch.ceil(torch.log2(scale)))
        q = (blocks / scale).to(torch.float8_e4m3fn)
        return q.view(t, d), scale.squeeze(-1)


def get_inputs():
    return [
        torch.randn(NUM_TOKENS, 2 * INTERMEDIATE).to(torch.bfloat16),
        torch.rand(NUM_TOKENS),
    ]


def get_init_inputs():
    return [BLOCK]
