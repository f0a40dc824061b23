"""Eight layers of Llama-3.2-1B with weights of four bits, dequantised in PyTorch: one token of one sequence."""

import torch
from decoder import Decoder, Int4Linear, one_token


def build():
    return Decoder(layers=8, make=Int4Linear).to(torch.bfloat16)


def inputs():
    return one_token(batch=1, layers=8)
