"""PoolFormer block as in poolformer_s12: pooling token mixer, GroupNorm(1), 1x1 conv MLP, layer scale."""
import torch
from timm.models.metaformer import GroupNorm1, MetaFormerBlock, Pooling
from torch import nn


def build():
    torch.manual_seed(0)
    module = MetaFormerBlock(
        dim=64,
        token_mixer=Pooling,
        mlp_act=nn.GELU,
        mlp_bias=True,
        norm_layer=GroupNorm1,
        use_nchw=True,
        layer_scale_init_value=1e-5,
        res_scale_init_value=None,
    ).eval()
    with torch.no_grad():
        module.layer_scale1.scale.normal_(0.0, 0.3)
        module.layer_scale2.scale.normal_(0.0, 0.3)
        for norm in (module.norm1, module.norm2):
            norm.weight.normal_(1.0, 0.1)
            norm.bias.normal_(0.0, 0.1)
    return module, (torch.randn(2, 64, 14, 14),), {}
