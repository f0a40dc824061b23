"""MobileNetV4 universal inverted residual, ExtraDW form (3x3 depthwise, expand, 5x5 depthwise, project), with skip."""
import torch
from timm.models._efficientnet_blocks import UniversalInvertedResidual
from torch import nn


def build():
    torch.manual_seed(0)
    module = UniversalInvertedResidual(
        in_chs=48,
        out_chs=48,
        dw_kernel_size_start=3,
        dw_kernel_size_mid=5,
        dw_kernel_size_end=0,
        stride=1,
        exp_ratio=4.0,
        act_layer=nn.ReLU,
        norm_layer=nn.BatchNorm2d,
        layer_scale_init_value=None,
    )
    with torch.no_grad():
        for m in module.modules():
            if isinstance(m, nn.BatchNorm2d):
                m.weight.uniform_(0.5, 1.5)
                m.bias.normal_(0.0, 0.1)
                m.running_mean.normal_(0.0, 0.1)
                m.running_var.uniform_(0.5, 1.5)
    module.eval()
    return module, (torch.randn(2, 48, 14, 14),), {}
