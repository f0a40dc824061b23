"""LeViT attention downsample between stages: 14x14 -> 7x7 tokens, BatchNorm in the linears, cached bias table."""
import torch
from timm.models.levit import AttentionDownsample
from torch import nn


def build():
    torch.manual_seed(0)
    module = AttentionDownsample(
        in_dim=64,
        out_dim=96,
        key_dim=16,
        num_heads=4,
        attn_ratio=4.0,
        stride=2,
        resolution=14,
        act_layer=nn.Hardswish,
    )
    with torch.no_grad():
        module.attention_biases.normal_(0.0, 0.5)
        for m in module.modules():
            if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d)):
                m.weight.uniform_(0.5, 1.5)
                m.bias.normal_(0.0, 0.1)
                m.running_mean.normal_(0.0, 0.1)
                m.running_var.uniform_(0.5, 1.5)
    module.eval()
    return module, (torch.randn(2, 196, 64),), {}
