"""Mixtral sparse MoE feed-forward (top-2 of 8 experts), experts dispatched the way a loaded model does it."""
import torch
from transformers import MixtralConfig
from transformers.models.mixtral.modeling_mixtral import MixtralSparseMoeBlock


def build():
    torch.manual_seed(0)
    config = MixtralConfig(
        hidden_size=64,
        intermediate_size=128,
        num_local_experts=8,
        num_experts_per_tok=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        # what PreTrainedModel.__init__ picks when nothing is asked for
        experts_implementation="grouped_mm",
    )
    module = MixtralSparseMoeBlock(config).eval()
    # router and experts are allocated with torch.empty; a model would fill them in _init_weights
    with torch.no_grad():
        for p in module.parameters():
            p.normal_(0.0, 0.1)
    hidden_states = torch.randn(2, 24, config.hidden_size)
    return module, (hidden_states,), {}
