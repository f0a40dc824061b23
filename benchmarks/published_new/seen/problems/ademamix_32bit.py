"""One step of AdEMAMix with decoupled weight decay, in place; both averages in one tensor."""

import torch
import torch.nn as nn

n = 4194304

CASES = [
    dict(name="full", n=4194304, dtype="float32"),
    dict(name="odd", n=100003, dtype="float32", held_out=True),
    dict(name="small", small=True, n=700, dtype="float32"),
]

MUTATES = ("p", "state1", "state2")

LR = 0.01
DECAY = 0.1


class Model(nn.Module):
    def forward(self, p, g, state1, state2):
        m, slow = state1[0], state1[1]
        m.mul_(0.9).add_(g, alpha=0.1)
        slow.mul_(0.9999).add_(g, alpha=0.0001)
        state2.mul_(0.999).add_(g * g * 0.001)
        p.mul_(1 - LR * DECAY)
        p.sub_(LR * (m / (1 - 0.9**5) + 5 * slow) / (state2.sqrt() / (1 - 0.999**5) ** 0.5 + 1e-8))


def get_inputs():
    return [torch.randn(n), torch.randn(n), torch.randn(2, n), torch.randint(0, 9, (n,)).float()]


def get_init_inputs():
    return []
