"""Flux double-stream block, compiled in place as regional compilation (compile_repeated_blocks) does it."""
import torch
from diffusers.models.transformers.transformer_flux import FluxPosEmbed, FluxTransformerBlock


def build():
    torch.manual_seed(0)
    heads, head_dim = 4, 24
    dim = heads * head_dim
    module = FluxTransformerBlock(dim=dim, num_attention_heads=heads, attention_head_dim=head_dim).eval()
    # norms and biases start at one and zero: move them as training would
    with torch.no_grad():
        for p in module.parameters():
            if p.ndim == 1:
                p.add_(0.05 * torch.randn_like(p))
    module.compile(backend="eager", fullgraph=True)

    grid, text_len = 8, 16
    img_ids = torch.zeros(grid, grid, 3)
    img_ids[..., 1] += torch.arange(grid)[:, None]
    img_ids[..., 2] += torch.arange(grid)[None, :]
    ids = torch.cat([torch.zeros(text_len, 3), img_ids.reshape(-1, 3)])
    image_rotary_emb = FluxPosEmbed(theta=10000, axes_dim=[4, 10, 10])(ids)
    kwargs = {
        "hidden_states": torch.randn(1, grid * grid, dim),
        "encoder_hidden_states": torch.randn(1, text_len, dim),
        "temb": torch.randn(1, dim),
        "image_rotary_emb": image_rotary_emb,
        "joint_attention_kwargs": None,
    }
    # warm up with and without autograd, so that later calls do not pay for the compilation
    module(**kwargs)
    with torch.no_grad():
        module(**kwargs)
    return module, (), kwargs
