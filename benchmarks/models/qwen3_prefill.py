"""Four layers of Qwen3-8B of Hugging Face, without its head: a prompt of 4096 tokens."""

import torch
from decoder import TINY
from transformers import Qwen3Config, Qwen3Model

SHAPE = (
    {"hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4,
     "num_key_value_heads": 2, "head_dim": 32, "vocab_size": 1000}
    if TINY
    else {"hidden_size": 4096, "intermediate_size": 12288, "num_hidden_layers": 4, "num_attention_heads": 32,
          "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936}
)  # fmt: skip


def build():
    return Qwen3Model(Qwen3Config(**SHAPE, max_position_embeddings=8192, use_cache=False)).to(torch.bfloat16)


def inputs():
    return {"prefill": {"input_ids": torch.randint(0, SHAPE["vocab_size"], (1, 64 if TINY else 4096))}}
