"""Wan 2.1 video transformer block: 3D rope self-attention, text cross-attention, modulated FFN."""
import torch
from diffusers.models.transformers.transformer_wan import WanRotaryPosEmbed, WanTransformerBlock


def build():
    torch.manual_seed(0)
    heads, head_dim = 4, 24
    dim = heads * head_dim
    module = WanTransformerBlock(
        dim=dim,
        ffn_dim=256,
        num_heads=heads,
        qk_norm="rms_norm_across_heads",
        cross_attn_norm=True,
        eps=1e-6,
    ).eval()
    # norms and biases start at one and zero: move them as training would
    with torch.no_grad():
        for p in module.parameters():
            if p.ndim == 1:
                p.add_(0.05 * torch.randn_like(p))
    latents = torch.randn(1, 16, 3, 8, 8)  # frames x height x width, patch (1, 2, 2)
    rotary_emb = WanRotaryPosEmbed(head_dim, (1, 2, 2), max_seq_len=64)(latents)
    hidden_states = torch.randn(1, 3 * 4 * 4, dim)
    encoder_hidden_states = torch.randn(1, 20, dim)
    temb = torch.randn(1, 6, dim)
    return module, (hidden_states, encoder_hidden_states, temb, rotary_emb), {}
