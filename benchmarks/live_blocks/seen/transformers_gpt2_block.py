"""GPT-2 block in a decode step: one new token per sequence against a filled key/value cache."""
import torch
from transformers import DynamicCache, GPT2Config
from transformers.models.gpt2.modeling_gpt2 import GPT2Block


def build():
    torch.manual_seed(0)
    config = GPT2Config(
        n_embd=96,
        n_head=6,
        n_layer=1,
        n_positions=128,
        vocab_size=256,
        bos_token_id=0,
        eos_token_id=0,
        attn_implementation="sdpa",
    )
    module = GPT2Block(config, layer_idx=0).eval()
    # norms and biases start at one and zero: move them as training would
    with torch.no_grad():
        for p in module.parameters():
            if p.ndim == 1:
                p.add_(0.05 * torch.randn_like(p))
    cache = DynamicCache()
    past = 31
    cache.update(
        torch.randn(2, config.n_head, past, config.n_embd // config.n_head),
        torch.randn(2, config.n_head, past, config.n_embd // config.n_head),
        0,
    )
    hidden_states = torch.randn(2, 1, config.n_embd)
    return module, (hidden_states,), {"cache": cache, "attention_mask": None, "use_cache": True}
