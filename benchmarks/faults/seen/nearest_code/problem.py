"""Vector quantisation: for each row of x the number of the nearest code (squared Euclidean distance), and that code's row.

Finite values; among codes at the same distance the smallest number counts."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, codes):
        d = (x[:, None, :] - codes[None]).square().sum(-1)
        index = d.argmin(-1)
        return codes[index], index


CASES = [
    dict(name="large", dtype="float32", rows=4096, codes=512, features=64),
    dict(name="odd", dtype="float32", held_out=True, rows=133, codes=77, features=19),
    dict(name="small", dtype="float32", small=True, rows=40, codes=50, features=12),
    dict(name="wide", dtype="float32", small=True, rows=9, codes=20, features=70),
]


def get_inputs(rows=4096, codes=512, features=64):
    return [torch.randn(rows, features), torch.randn(codes, features)]


def get_init_inputs():
    return []
