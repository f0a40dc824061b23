import torch
import torch.nn as nn

batch_size = 8192
input_dim = 499
expert_dim = 256
num_experts = 8
num_tasks = 3
tower_dim = 64


class Model(nn.Module):
    """Multi-gate mixture of experts for click, like and follow predictions."""

    def __init__(self, input_dim, expert_dim, num_experts, num_tasks, tower_dim):
        super().__init__()
        self.experts = nn.ModuleList(
            [nn.Sequential(nn.Linear(input_dim, expert_dim), nn.ReLU()) for _ in range(num_experts)]
        )
        self.gates = nn.ModuleList([nn.Linear(input_dim, num_experts) for _ in range(num_tasks)])
        self.towers = nn.ModuleList(
            [
                nn.Sequential(
                    nn.Linear(expert_dim, tower_dim), nn.BatchNorm1d(tower_dim), nn.ReLU(), nn.Linear(tower_dim, 1)
                )
                for _ in range(num_tasks)
            ]
        )

    def forward(self, x):
        experts = torch.stack([e(x) for e in self.experts], dim=1)
        outs = []
        for gate, tower in zip(self.gates, self.towers):
            w = torch.softmax(gate(x), dim=-1).unsqueeze(-1)
            outs.append(torch.sigmoid(tower((w * experts).sum(dim=1))))
        return torch.cat(outs, dim=1)


def get_inputs():
    return [torch.randn(batch_size, input_dim)]


def get_init_inputs():
    return [input_dim, expert_dim, num_experts, num_tasks, tower_dim]
