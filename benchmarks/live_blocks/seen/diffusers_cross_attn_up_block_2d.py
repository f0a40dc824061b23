"""SD 1.5 style UNet up block: three resnets with skip concatenation, each with a text-conditioned transformer, upsample."""
import torch
from diffusers.models.unets.unet_2d_blocks import CrossAttnUpBlock2D


def build():
    torch.manual_seed(0)
    module = CrossAttnUpBlock2D(
        in_channels=16,
        out_channels=32,
        prev_output_channel=32,
        temb_channels=128,
        num_layers=3,
        transformer_layers_per_block=1,
        num_attention_heads=4,
        cross_attention_dim=48,
        resnet_groups=8,
        resnet_eps=1e-5,
        resnet_act_fn="silu",
        add_upsample=True,
    ).eval()
    # norms and biases start at one and zero: move them as training would
    with torch.no_grad():
        for p in module.parameters():
            if p.ndim == 1:
                p.add_(0.05 * torch.randn_like(p))
    hidden_states = torch.randn(2, 32, 8, 8)
    # skips are popped from the right: out_channels twice, then in_channels
    skips = (torch.randn(2, 16, 8, 8), torch.randn(2, 32, 8, 8), torch.randn(2, 32, 8, 8))
    return (
        module,
        (),
        {
            "hidden_states": hidden_states,
            "temb": torch.randn(2, 128),
            "res_hidden_states_tuple": skips,
            "encoder_hidden_states": torch.randn(2, 77, 48),
            "cross_attention_kwargs": None,
            "upsample_size": None,
            "attention_mask": None,
            "encoder_attention_mask": None,
        },
    )
