import torch
import torch.nn as nn

LAYERS = 8
ROWS = 2048
COLS = 1024


def zeropower_via_newtonschulz5(g: torch.Tensor, steps: int) -> torch.Tensor:
    a, b, c = 3.4445, -4.7750, 2.0315
    x = g.bfloat16()
    transposed = g.size(-2) > g.size(-1)
    if transposed:
        x = x.mT
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(steps):
        A = x @ x.mT
        Bm = b * A + c * A @ A
        x = a * x + Bm @ x
    if transposed:
        x = x.mT
    return x


class Model(nn.Module):
    """One Muon update for a stack of equally shaped weight matrices (functional)."""

    def __init__(self, lr=0.02, momentum=0.95, weight_decay=0.01, ns_steps=5, nesterov=True):
        super().__init__()
        self.lr = lr
        self.momentum = momentum
        self.weight_decay = weight_decay
        self.ns_steps = ns_steps
        self.nesterov = nesterov

    def forward(self, p, g, buf):
        new_buf = torch.lerp(buf, g, 1 - self.momentum)
        update = torch.lerp(g, new_buf, self.momentum) if self.nesterov else new_buf
        update = zeropower_via_newtonschulz5(update, self.ns_steps).to(p.dtype)
        update = update * max(1.0, p.size(-2) / p.size(-1)) ** 0.5
        new_p = p * (1 - self.lr * self.weight_decay) - self.lr * update
        return new_p, new_buf


def get_inputs():
    shape = (LAYERS, ROWS, COLS)
    return [torch.randn(shape) * 0.02, torch.randn(shape) * 1e-3, torch.randn(shape) * 1e-3]


def get_init_inputs():
    return []
