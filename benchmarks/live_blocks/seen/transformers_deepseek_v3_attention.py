"""DeepSeek-V3 multi-head latent attention (low-rank q and kv, decoupled interleaved rope, yarn), causal prefill."""
import torch
from transformers import DeepseekV3Config
from transformers.masking_utils import create_causal_mask
from transformers.models.deepseek_v3.modeling_deepseek_v3 import (
    DeepseekV3Attention,
    DeepseekV3RotaryEmbedding,
)


def build():
    torch.manual_seed(0)
    config = DeepseekV3Config(
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=4,
        q_lora_rank=48,
        kv_lora_rank=32,
        qk_nope_head_dim=32,
        qk_rope_head_dim=16,
        v_head_dim=24,
        max_position_embeddings=256,
        rope_parameters={
            "rope_type": "yarn",
            "rope_theta": 10000.0,
            "factor": 4.0,
            "original_max_position_embeddings": 64,
            "beta_fast": 32,
            "beta_slow": 1,
            "mscale": 1.0,
            "mscale_all_dim": 1.0,
        },
        attn_implementation="sdpa",
    )
    module = DeepseekV3Attention(config, layer_idx=0).eval()
    # norms and biases start at one and zero: move them as training would
    with torch.no_grad():
        for p in module.parameters():
            if p.ndim == 1:
                p.add_(0.05 * torch.randn_like(p))
    rotary = DeepseekV3RotaryEmbedding(config)

    batch, seq = 2, 20
    hidden_states = torch.randn(batch, seq, config.hidden_size)
    position_ids = torch.arange(seq).unsqueeze(0)
    padding = torch.ones(batch, seq, dtype=torch.long)
    padding[1, :6] = 0  # left padded prompt
    mask = create_causal_mask(
        config=config, inputs_embeds=hidden_states, attention_mask=padding, cache=None, position_ids=position_ids
    )
    return (
        module,
        (),
        {
            "hidden_states": hidden_states,
            "attention_mask": mask,
            "position_embeddings": rotary(hidden_states, position_ids),
            "cache": None,
        },
    )
