"""Two layers of Qwen3-30B-A3B of Hugging Face, a mixture of 128 experts, without its head: a prompt of 4096 tokens."""

import torch
from decoder import TINY
from transformers import Qwen3MoeConfig, Qwen3MoeModel

SHAPE = (
    {"hidden_size": 128, "moe_intermediate_size": 64, "intermediate_size": 256, "num_hidden_layers": 2,
     "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32, "num_experts": 8, "num_experts_per_tok": 2,
     "vocab_size": 1000}
    if TINY
    else {"hidden_size": 2048, "moe_intermediate_size": 768, "intermediate_size": 6144, "num_hidden_layers": 2,
          "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128, "num_experts": 128,
          "num_experts_per_tok": 8, "vocab_size": 151936}
)  # fmt: skip


def build():
    return Qwen3MoeModel(Qwen3MoeConfig(**SHAPE, max_position_embeddings=8192, use_cache=False)).to(torch.bfloat16)


def inputs():
    return {"prefill": {"input_ids": torch.randint(0, SHAPE["vocab_size"], (1, 64 if TINY else 4096))}}
