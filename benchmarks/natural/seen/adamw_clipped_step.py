"""One AdamW step over a list of tensors, with the gradients' norm clipped over all of them.

The parameters and both moments are changed in place, as an optimiser does.
"""

import torch
import torch.nn as nn

MUTATES = ("params", "exp_avg", "exp_avg_sq")

hidden = 2048
ffn = 8192


class Model(nn.Module):
    def __init__(self, lr=3e-4, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1, max_norm=1.0, step=100):
        super().__init__()
        self.lr, self.betas, self.eps = lr, betas, eps
        self.weight_decay, self.max_norm, self.step = weight_decay, max_norm, step

    def forward(self, params, grads, exp_avg, exp_avg_sq):
        beta1, beta2 = self.betas
        norms = torch.stack([torch.linalg.vector_norm(g) for g in grads])
        total_norm = torch.linalg.vector_norm(norms)
        clip = (self.max_norm / (total_norm + 1e-6)).clamp(max=1.0)
        correction1 = 1 - beta1**self.step
        correction2 = 1 - beta2**self.step
        for p, g, m, v in zip(params, grads, exp_avg, exp_avg_sq, strict=True):
            g = g * clip
            p.mul_(1 - self.lr * self.weight_decay)
            m.lerp_(g, 1 - beta1)
            v.mul_(beta2).addcmul_(g, g, value=1 - beta2)
            denom = (v / correction2).sqrt().add_(self.eps)
            p.addcdiv_(m, denom, value=-self.lr / correction1)
        return total_norm


def get_inputs():
    shapes = [(hidden, hidden), (ffn, hidden), (hidden, ffn), (hidden,)]
    params = [0.02 * torch.randn(s) for s in shapes]
    grads = [0.01 * torch.randn(s) for s in shapes]
    exp_avg = [0.001 * torch.randn(s) for s in shapes]
    exp_avg_sq = [1e-5 * torch.randn(s).square() for s in shapes]
    return [params, grads, exp_avg, exp_avg_sq]


def get_init_inputs():
    return []
