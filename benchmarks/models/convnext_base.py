"""ConvNeXt-B of timm: a batch of 64 images."""

import timm
import torch
from decoder import TINY


def build():
    return timm.create_model("convnext_atto" if TINY else "convnext_base").to(torch.bfloat16)


def inputs():
    return {"images": [torch.randn(2 if TINY else 64, 3, 224, 224, dtype=torch.bfloat16)]}
