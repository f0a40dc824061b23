"""Router of a mixture of experts: the two best experts of every token, their weights, the place of each token in its
expert's queue, and the two auxiliary losses that keep the load even and the logits small."""

import torch
import torch.nn as nn
import torch.nn.functional as F

num_tokens = 16384
d_model = 1024
num_experts = 64


class Model(nn.Module):
    def __init__(self, d_model: int, num_experts: int, capacity_factor: float = 1.25):
        super().__init__()
        self.gate = nn.Linear(d_model, num_experts, bias=False)
        self.num_experts = num_experts
        self.capacity_factor = capacity_factor

    def forward(self, x: torch.Tensor):
        tokens = x.shape[0]
        capacity = int(self.capacity_factor * 2 * tokens / self.num_experts)
        logits = self.gate(x)
        probs = F.softmax(logits, dim=-1)
        weights, experts = torch.topk(probs, k=2, dim=-1)
        weights = weights / weights.sum(dim=-1, keepdim=True)

        # first choices queue before second choices
        chosen = F.one_hot(experts.t().reshape(-1), self.num_experts)
        place = (chosen.cumsum(dim=0) - 1).mul(chosen).sum(dim=-1)
        place = place.view(2, tokens).t()
        kept = place < capacity
        weights = torch.where(kept, weights, torch.zeros_like(weights))

        share = F.one_hot(experts[:, 0], self.num_experts).to(probs.dtype).mean(dim=0)
        balance_loss = self.num_experts * (share * probs.mean(dim=0)).sum()
        z_loss = torch.logsumexp(logits, dim=-1).square().mean()
        return weights, experts, place, balance_loss, z_loss


def get_inputs():
    return [torch.randn(num_tokens, d_model)]


def get_init_inputs():
    return [d_model, num_experts]
