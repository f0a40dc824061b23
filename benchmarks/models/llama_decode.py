"""Llama-3.2-1B: one token of one sequence, with 4096 positions in the cache."""

import torch
from decoder import Decoder, one_token


def build():
    return Decoder(layers=16).to(torch.bfloat16)


def inputs():
    return one_token(batch=1, layers=16)
