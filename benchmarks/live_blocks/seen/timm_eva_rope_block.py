"""EVA-02 block (base layout: separate q/k/v, SwiGLU with inner norm) with axial rope on all but the class token."""
import torch
from timm.layers import RotaryEmbeddingCat
from timm.models.eva import EvaBlock


def build():
    torch.manual_seed(0)
    dim, heads, grid = 96, 3, (7, 7)
    module = EvaBlock(
        dim=dim,
        num_heads=heads,
        qkv_bias=True,
        qkv_fused=False,
        mlp_ratio=4 * 2 / 3,
        swiglu_mlp=True,
        scale_mlp=True,
        num_prefix_tokens=1,
    ).eval()
    # norms and biases start at one and zero: move them as training would
    with torch.no_grad():
        for p in module.parameters():
            if p.ndim == 1:
                p.add_(0.05 * torch.randn_like(p))
    rope = RotaryEmbeddingCat(
        dim // heads,
        in_pixels=False,
        feat_shape=list(grid),
        ref_feat_shape=[16, 16],
    )
    x = torch.randn(2, 1 + grid[0] * grid[1], dim)
    return module, (x,), {"rope": rope.get_embed(), "attn_mask": None}
