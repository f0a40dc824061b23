"""Symmetric contrastive loss of images and texts with a learned temperature, forward and backward.

It is the head of dual-encoder pretraining.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

GRADIENTS = True

batch_size = 4096
image_dim = 1024
text_dim = 768
embed_dim = 512


class Model(nn.Module):
    def __init__(self, image_dim, text_dim, embed_dim, temperature=0.07):
        super().__init__()
        self.image_proj = nn.Linear(image_dim, embed_dim, bias=False)
        self.text_proj = nn.Linear(text_dim, embed_dim, bias=False)
        self.logit_scale = nn.Parameter(torch.tensor(1.0 / temperature).log())

    def forward(self, image_features, text_features):
        image = F.normalize(self.image_proj(image_features), dim=-1)
        text = F.normalize(self.text_proj(text_features), dim=-1)
        logits = self.logit_scale.exp().clamp(max=100.0) * image @ text.t()
        labels = torch.arange(logits.shape[0], device=logits.device)
        return (F.cross_entropy(logits, labels) + F.cross_entropy(logits.t(), labels)) / 2


def get_inputs():
    return [torch.randn(batch_size, image_dim), torch.randn(batch_size, text_dim)]


def get_init_inputs():
    return [image_dim, text_dim, embed_dim]
