"""BEiT self-attention with learned relative position bias (7x7 window plus class token) and q/v-only bias."""
import torch
from timm.models.beit import Attention


def build():
    torch.manual_seed(0)
    module = Attention(dim=96, num_heads=6, qkv_bias=True, window_size=(7, 7)).eval()
    with torch.no_grad():
        module.relative_position_bias_table.normal_(0.0, 0.5)
        module.q_bias.normal_(0.0, 0.1)
        module.v_bias.normal_(0.0, 0.1)
    return module, (torch.randn(2, 50, 96),), {"shared_rel_pos_bias": None}
