"""Mamba-2 mixer, prefill over a sequence that is not a multiple of the chunk size, left padded batch."""
import torch
from transformers import Mamba2Config
from transformers.models.mamba2.modeling_mamba2 import Mamba2Mixer


def build():
    torch.manual_seed(0)
    config = Mamba2Config(
        hidden_size=64,
        expand=2,
        num_heads=8,
        head_dim=16,
        state_size=16,
        n_groups=2,
        conv_kernel=4,
        chunk_size=16,
        num_hidden_layers=2,
        vocab_size=128,
        bos_token_id=0,
        eos_token_id=0,
        pad_token_id=1,
    )
    module = Mamba2Mixer(config, layer_idx=0).eval()
    # norms and biases start at one and zero: move them as training would
    with torch.no_grad():
        for p in module.parameters():
            if p.ndim == 1:
                p.add_(0.05 * torch.randn_like(p))
    hidden_states = torch.randn(2, 40, config.hidden_size)
    attention_mask = torch.ones(2, 40, dtype=torch.long)
    attention_mask[1, :5] = 0
    return module, (hidden_states,), {"cache": None, "attention_mask": attention_mask}
