"""Qwen2.5-VL vision block: packed patches of two images, window attention through cu_seqlens, 2D rope."""
import torch
from transformers.models.qwen2_5_vl.configuration_qwen2_5_vl import Qwen2_5_VLVisionConfig
from transformers.models.qwen2_5_vl.modeling_qwen2_5_vl import (
    Qwen2_5_VLVisionBlock,
    Qwen2_5_VLVisionRotaryEmbedding,
)


def build():
    torch.manual_seed(0)
    config = Qwen2_5_VLVisionConfig(
        depth=2,
        hidden_size=64,
        intermediate_size=176,
        num_heads=4,
        out_hidden_size=64,
        patch_size=14,
        spatial_merge_size=2,
        window_size=56,
        attn_implementation="sdpa",
    )
    module = Qwen2_5_VLVisionBlock(config).eval()
    # norms and biases start at one and zero: move them as training would
    with torch.no_grad():
        for p in module.parameters():
            if p.ndim == 1:
                p.add_(0.05 * torch.randn_like(p))
    rotary = Qwen2_5_VLVisionRotaryEmbedding(config)

    # an 8x8 and a 4x8 grid of patches, laid out window by window (4x4 patches each)
    position_ids = []
    for h, w in ((8, 8), (4, 8)):
        for wh in range(0, h, 4):
            for ww in range(0, w, 4):
                position_ids += [(wh + i, ww + j) for i in range(4) for j in range(4)]
    position_ids = torch.tensor(position_ids)
    seq = position_ids.shape[0]
    cu_seqlens = torch.arange(0, seq + 1, 16, dtype=torch.int32)
    hidden_states = torch.randn(seq, config.hidden_size)
    return (
        module,
        (hidden_states,),
        {
            "cu_seqlens": cu_seqlens,
            "max_seqlen": 16,
            "position_embeddings": rotary(hidden_states, position_ids),
        },
    )
