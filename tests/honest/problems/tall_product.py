"""a product with a long inner dimension: split-K, whose parts a library step adds up"""

import torch
import torch.nn as nn

K = 320

LIBRARY = "finish"


class Model(nn.Module):
    def forward(self, a, b):
        return a @ b


CASES = [
    dict(name="ragged", dtype="float32", small=True),
    dict(name="half", dtype="float16", small=True),
    dict(name="timed", dtype="float32", K=4096),
]


def get_inputs():
    return [torch.randn(16, K), torch.randn(K, 16)]


def get_init_inputs():
    return []
