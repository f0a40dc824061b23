"""Mid block of the AutoencoderKL decoder (resnet, single-head spatial attention, resnet), taken out of a built VAE."""
import torch
from diffusers import AutoencoderKL


def build():
    torch.manual_seed(0)
    vae = AutoencoderKL(
        in_channels=3,
        out_channels=3,
        down_block_types=("DownEncoderBlock2D", "DownEncoderBlock2D"),
        up_block_types=("UpDecoderBlock2D", "UpDecoderBlock2D"),
        block_out_channels=(32, 64),
        layers_per_block=1,
        latent_channels=4,
        norm_num_groups=16,
        sample_size=32,
    ).eval()
    module = vae.decoder.mid_block
    # norms and biases start at one and zero: move them as training would
    with torch.no_grad():
        for p in module.parameters():
            if p.ndim == 1:
                p.add_(0.05 * torch.randn_like(p))
    return module, (torch.randn(1, 64, 16, 16), None), {}
