"""One step of AdamW: parameter and both moments in place."""

import torch
import torch.nn as nn

MUTATES = ("p", "m", "v")

CASES = [
    dict(name="64M", size=1 << 26, dtype="float32"),
    dict(name="7M", size=7_340_039, dtype="float32", held_out=True),
    dict(name="ragged", size=777, dtype="float32", small=True),
]


class Model(nn.Module):
    def __init__(self, lr, beta1, beta2, eps, decay):
        super().__init__()
        self.lr, self.beta1, self.beta2, self.eps, self.decay = lr, beta1, beta2, eps, decay

    def forward(self, p, g, m, v, step):
        m.lerp_(g, 1 - self.beta1)
        v.mul_(self.beta2).addcmul_(g, g, value=1 - self.beta2)
        root = (v / (1 - self.beta2**step)).sqrt().add_(self.eps)
        p.mul_(1 - self.lr * self.decay).addcdiv_(m, root, value=-self.lr / (1 - self.beta1**step))


def get_inputs(size=1 << 26):
    return [torch.randn(size), torch.randn(size), torch.randn(size), torch.rand(size) + 0.1, 10]


def get_init_inputs():
    return [0.01, 0.9, 0.99, 1e-8, 0.1]
