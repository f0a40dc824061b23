"""Cross-entropy of each token, not their mean, with its backward. Tokens of padding have the label -100."""

import torch
import torch.nn as nn
import torch.nn.functional as F

GRADIENTS = True


class Model(nn.Module):
    """logits: (tokens, vocabulary); labels: (tokens,) int64."""

    def forward(self, logits, labels):
        return F.cross_entropy(logits, labels, ignore_index=-100, reduction="none")


CASES = [
    dict(name="4096x32000_bf16", dtype="bfloat16", tokens=4096, vocabulary=32000),
    dict(name="2047x50257_fp32", dtype="float32", held_out=True, tokens=2047, vocabulary=50257),
    dict(name="small_fp32", dtype="float32", small=True, tokens=9, vocabulary=301),
]


def get_inputs(tokens=4096, vocabulary=32000):
    labels = torch.randint(0, vocabulary, (tokens,))
    return [torch.randn(tokens, vocabulary), labels.masked_fill(torch.rand(tokens) < 0.2, -100)]


def get_init_inputs():
    return []
