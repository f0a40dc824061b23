"""A linear layer with many low-rank adapters, one chosen for each request of a batch.

Servers do this when several customers' fine-tuned versions share one base model.
"""

import torch
import torch.nn as nn

requests = 64
tokens = 16
in_features = 4096
out_features = 4096
num_adapters = 24
rank = 16


class Model(nn.Module):
    def __init__(self, in_features, out_features, num_adapters, rank, alpha=32.0):
        super().__init__()
        self.base = nn.Linear(in_features, out_features, bias=False)
        self.lora_a = nn.Parameter(torch.randn(num_adapters, rank, in_features) * in_features**-0.5)
        self.lora_b = nn.Parameter(torch.randn(num_adapters, out_features, rank) * 0.02)
        self.scaling = alpha / rank
        self.half()

    def forward(self, x, adapter_ids):
        """x: (requests, tokens, in_features); adapter_ids: (requests,), -1 for a request without an adapter."""
        has_adapter = adapter_ids >= 0
        ids = adapter_ids.clamp(min=0)
        a = self.lora_a[ids]
        b = self.lora_b[ids]
        delta = torch.bmm(torch.bmm(x, a.transpose(1, 2)), b.transpose(1, 2))
        delta = delta * has_adapter.to(x.dtype)[:, None, None]
        return self.base(x) + self.scaling * delta


def get_inputs():
    return [
        torch.randn(requests, tokens, in_features, dtype=torch.float16),
        torch.randint(-1, num_adapters, (requests,)),
    ]


def get_init_inputs():
    return [in_features, out_features, num_adapters, rank]
