"""Cross-entropy of each row over a large vocabulary, with its backward."""

import torch
import torch.nn as nn
import torch.nn.functional as F

GRADIENTS = True


class Model(nn.Module):
    """logits: (rows, vocabulary); labels: (rows,) int64, each a column, or -100 for a row without a loss. One loss for
    each row, not their mean."""

    def forward(self, logits, labels):
        return F.cross_entropy(logits, labels, reduction="none")


LIBRARY = "none"  # own kernels only

CASES = [
    dict(name="4096x128256_bf16", dtype="bfloat16", rows=4096, vocabulary=128256),
    dict(name="4096x32000_fp32", dtype="float32", held_out=True, rows=4096, vocabulary=32000),
    dict(name="1000x50257_fp16", dtype="float16", held_out=True, rows=1000, vocabulary=50257),
    dict(name="5x1003_fp32", dtype="float32", small=True, rows=5, vocabulary=1003),
    dict(name="7x300_fp16", dtype="float16", small=True, rows=7, vocabulary=300),
]


def get_inputs(rows=4096, vocabulary=128256):
    return [2 * torch.randn(rows, vocabulary), torch.randint(0, vocabulary, (rows,))]


def get_init_inputs():
    return []
