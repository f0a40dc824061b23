"""Preference optimisation: log-probabilities of chosen and rejected answers under a policy, compared with those of a
frozen reference, with the backward to the policy's logits."""

import torch
import torch.nn as nn
import torch.nn.functional as F

GRADIENTS = True

pairs = 4
answer_len = 256
vocab = 32000


def sequence_logp(logits, labels, mask):
    logp = torch.log_softmax(logits.float(), dim=-1)
    token_logp = logp.gather(-1, labels.unsqueeze(-1)).squeeze(-1)
    return (token_logp * mask).sum(dim=-1)


class Model(nn.Module):
    def __init__(self, beta=0.1, label_smoothing=0.05):
        super().__init__()
        self.beta = beta
        self.label_smoothing = label_smoothing

    def forward(self, logits, labels, mask, reference_logp):
        """logits: (2 * pairs, length, vocab), the chosen answers first; reference_logp: (2 * pairs,)."""
        logp = sequence_logp(logits[:, :-1], labels[:, 1:], mask[:, 1:])
        chosen, rejected = (logp - reference_logp).chunk(2)
        margin = self.beta * (chosen - rejected)
        loss = -(1 - self.label_smoothing) * F.logsigmoid(margin) - self.label_smoothing * F.logsigmoid(-margin)
        return loss.mean(), self.beta * chosen, self.beta * rejected


def get_inputs():
    lengths = torch.randint(answer_len // 4, answer_len + 1, (2 * pairs, 1))
    mask = (torch.arange(answer_len) < lengths).float()
    return [
        torch.randn(2 * pairs, answer_len, vocab),
        torch.randint(0, vocab, (2 * pairs, answer_len)),
        mask,
        -10.0 * lengths.squeeze(1).float() + torch.randn(2 * pairs),
    ]


def get_init_inputs():
    return [0.1]
