"""Llama-3.2-1B of Hugging Face, without its head: a prompt of 4096 tokens."""

import torch
from decoder import TINY
from transformers import LlamaConfig, LlamaModel

SHAPE = (
    {"hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4,
     "num_key_value_heads": 2, "vocab_size": 1000}
    if TINY
    else {"hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16, "num_attention_heads": 32,
          "num_key_value_heads": 8, "vocab_size": 128256}
)  # fmt: skip


def build():
    return LlamaModel(LlamaConfig(**SHAPE, max_position_embeddings=8192, use_cache=False)).to(torch.bfloat16)


def inputs():
    return {"prefill": {"input_ids": torch.randint(0, SHAPE["vocab_size"], (1, 64 if TINY else 4096))}}
