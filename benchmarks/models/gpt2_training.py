"""GPT-2 of Hugging Face with 124 million parameters: forward and backward of 16 sequences of 1024 tokens."""

import torch
from decoder import TINY
from transformers import GPT2Config, GPT2LMHeadModel

SHAPE = {"n_embd": 128, "n_layer": 2, "n_head": 4, "vocab_size": 1000} if TINY else {"vocab_size": 50304}

train = True
autocast = torch.bfloat16


def build():
    config = GPT2Config(
        **SHAPE, n_positions=1024, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, use_cache=False
    )
    return GPT2LMHeadModel(config)


def inputs():
    words = torch.randint(0, SHAPE["vocab_size"], (1, 32) if TINY else (16, 1024))
    return {"batch": {"input_ids": words, "labels": words}}
