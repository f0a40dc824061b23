import math

import torch
import torch.nn as nn

D_MODEL = 2560
D_FF = 3584


class Model(nn.Module):
    """AdamW with global-norm clipping over a (weight, bias) pair plus an EMA of the weights.

    Everything is returned rather than updated in place. Biases get no decay.
    """

    def __init__(self, lr=3e-4, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1, max_norm=1.0, ema=0.999, step=1000):
        super().__init__()
        self.lr, self.eps, self.weight_decay = lr, eps, weight_decay
        self.b1, self.b2 = betas
        self.max_norm = max_norm
        self.ema = ema
        self.step = step

    def _adam(self, p, g, m, v, decay):
        m = self.b1 * m + (1 - self.b1) * g
        v = self.b2 * v + (1 - self.b2) * g * g
        bc1 = 1 - self.b1 ** self.step
        bc2 = 1 - self.b2 ** self.step
        denom = v.sqrt() / math.sqrt(bc2) + self.eps
        p = p * (1 - self.lr * decay) - (self.lr / bc1) * m / denom
        return p, m, v

    def forward(self, w, b, gw, gb, mw, mb, vw, vb, ema_w):
        total = torch.linalg.vector_norm(
            torch.stack([torch.linalg.vector_norm(gw.float()), torch.linalg.vector_norm(gb.float())])
        )
        coef = (self.max_norm / (total + 1e-6)).clamp(max=1.0)
        w, mw, vw = self._adam(w, gw.float() * coef, mw, vw, self.weight_decay)
        b, mb, vb = self._adam(b, gb.float() * coef, mb, vb, 0.0)
        ema_w = self.ema * ema_w + (1 - self.ema) * w
        return w, b, mw, mb, vw, vb, ema_w, total


def get_inputs():
    w = torch.randn(D_FF, D_MODEL) * 0.02
    b = torch.randn(D_FF) * 0.02
    return [
        w,
        b,
        (torch.randn(D_FF, D_MODEL) * 1e-3).bfloat16(),
        (torch.randn(D_FF) * 1e-3).bfloat16(),
        torch.randn(D_FF, D_MODEL) * 1e-4,
        torch.randn(D_FF) * 1e-4,
        torch.rand(D_FF, D_MODEL) * 1e-6,
        torch.rand(D_FF) * 1e-6,
        w + torch.randn(D_FF, D_MODEL) * 1e-3,
    ]


def get_init_inputs():
    return []
