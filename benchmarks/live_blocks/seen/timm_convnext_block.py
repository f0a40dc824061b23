"""ConvNeXt block, 7x7 depthwise, channels-last LayerNorm + Linear MLP, layer scale at trained-like magnitude."""
import torch
from timm.models.convnext import ConvNeXtBlock


def build():
    torch.manual_seed(0)
    module = ConvNeXtBlock(in_chs=64, kernel_size=7, mlp_ratio=4, ls_init_value=1e-6).eval()
    with torch.no_grad():
        module.gamma.normal_(0.0, 0.3)
        module.norm.weight.normal_(1.0, 0.1)
        module.norm.bias.normal_(0.0, 0.1)
    return module, (torch.randn(2, 64, 14, 14),), {}
