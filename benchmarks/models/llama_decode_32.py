"""Llama-3.2-1B: one token of each of 32 sequences, with 4096 positions in the cache."""

import torch
from decoder import Decoder, one_token


def build():
    return Decoder(layers=16).to(torch.bfloat16)


def inputs():
    return one_token(batch=32, layers=16)
