"""Stable Diffusion UNet cross-attention (attn2): image tokens attend to 77 text tokens of another width."""
import torch
from diffusers.models.attention_processor import Attention, AttnProcessor2_0


def build():
    torch.manual_seed(0)
    module = Attention(
        query_dim=80,
        cross_attention_dim=64,
        heads=5,
        dim_head=16,
        bias=False,
        out_bias=True,
        processor=AttnProcessor2_0(),
    ).eval()
    hidden_states = torch.randn(2, 256, 80)
    text = torch.randn(2, 77, 64)
    return module, (hidden_states,), {"encoder_hidden_states": text, "attention_mask": None}
