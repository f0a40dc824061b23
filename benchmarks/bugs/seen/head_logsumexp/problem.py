"""The logarithm of the sum of exponentials over a vocabulary, from hidden states and the output layer's weight."""

import torch
import torch.nn as nn


class Model(nn.Module):
    """hidden: (tokens, features); weight: (vocabulary, features). Returns (tokens,)."""

    def forward(self, hidden, weight):
        return torch.logsumexp(hidden @ weight.T, dim=-1)


CASES = [
    dict(name="1024x129920_bf16", dtype="bfloat16", tokens=1024, features=1536, vocabulary=129920),
    dict(name="1000x32000_fp32", dtype="float32", held_out=True, tokens=1000, features=512, vocabulary=32000),
    dict(name="small_fp32", dtype="float32", small=True, tokens=19, features=48, vocabulary=600),
]


def get_inputs(tokens=1024, features=1536, vocabulary=129920):
    return [torch.randn(tokens, features), torch.randn(vocabulary, features) * features**-0.5]


def get_init_inputs():
    return []
