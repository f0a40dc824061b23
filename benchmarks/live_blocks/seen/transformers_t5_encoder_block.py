"""First T5 v1.1 encoder block: self-attention that computes the relative position bias, gated-gelu FF, padding mask."""
import torch
from transformers import T5Config
from transformers.masking_utils import create_bidirectional_mask
from transformers.models.t5.modeling_t5 import T5Block


def build():
    torch.manual_seed(0)
    config = T5Config(
        d_model=96,
        d_kv=24,
        d_ff=192,
        num_heads=4,
        num_layers=2,
        relative_attention_num_buckets=16,
        relative_attention_max_distance=32,
        feed_forward_proj="gated-gelu",
        is_decoder=False,
        use_cache=False,
        attn_implementation="eager",
    )
    module = T5Block(config, has_relative_attention_bias=True, layer_idx=0).eval()
    # norms and biases start at one and zero: move them as training would
    with torch.no_grad():
        for p in module.parameters():
            if p.ndim == 1:
                p.add_(0.05 * torch.randn_like(p))
    hidden_states = torch.randn(2, 28, config.d_model)
    padding = torch.ones(2, 28, dtype=torch.long)
    padding[0, 19:] = 0
    mask = create_bidirectional_mask(config=config, inputs_embeds=hidden_states, attention_mask=padding)
    # as T5Stack calls it: (hidden_states, mask, position_bias, enc states, enc mask, cross bias)
    return module, (hidden_states, mask, None, None, None, None), {"cache": None}
