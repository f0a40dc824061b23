"""MLP-Mixer block: token mixing over 49 patches, then channel mixing."""
import torch
from timm.models.mlp_mixer import MixerBlock


def build():
    torch.manual_seed(0)
    module = MixerBlock(dim=128, seq_len=49, mlp_ratio=(0.5, 4.0)).eval()
    # norms and biases start at one and zero: move them as training would
    with torch.no_grad():
        for p in module.parameters():
            if p.ndim == 1:
                p.add_(0.05 * torch.randn_like(p))
    return module, (torch.randn(4, 49, 128),), {}
