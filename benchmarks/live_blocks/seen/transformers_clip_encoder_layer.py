"""CLIP vision tower encoder layer (ViT-B/32 shape at small width: 49 patches + class token), quick_gelu, sdpa."""
import torch
from transformers import CLIPVisionConfig
from transformers.models.clip.modeling_clip import CLIPEncoderLayer


def build():
    torch.manual_seed(0)
    config = CLIPVisionConfig(
        hidden_size=96,
        intermediate_size=384,
        num_hidden_layers=2,
        num_attention_heads=6,
        image_size=224,
        patch_size=32,
        hidden_act="quick_gelu",
        attn_implementation="sdpa",
    )
    module = CLIPEncoderLayer(config).eval()
    # norms and biases start at one and zero: move them as training would
    with torch.no_grad():
        for p in module.parameters():
            if p.ndim == 1:
                p.add_(0.05 * torch.randn_like(p))
    hidden_states = torch.randn(3, 50, config.hidden_size)
    return module, (hidden_states,), {"attention_mask": None}
