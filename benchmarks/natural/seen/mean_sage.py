"""Two-hop neighbourhood sampling as in large graph training: each layer takes the mean over a fixed number of sampled
neighbours, joins it with the node itself and normalises."""

import torch
import torch.nn as nn
import torch.nn.functional as F

num_nodes = 200000
seeds = 4096
fanout1 = 10
fanout2 = 15
in_features = 100
hidden = 256
classes = 47


class SageLayer(nn.Module):
    def __init__(self, fan_in, fan_out):
        super().__init__()
        self.own = nn.Linear(fan_in, fan_out)
        self.neighbour = nn.Linear(fan_in, fan_out, bias=False)

    def forward(self, own, neighbours):
        return self.own(own) + self.neighbour(neighbours.mean(dim=-2))


class Model(nn.Module):
    def __init__(self, in_features, hidden, classes):
        super().__init__()
        self.layer1 = SageLayer(in_features, hidden)
        self.layer2 = SageLayer(hidden, classes)

    def forward(self, features, nodes, hop1, hop2):
        """nodes: (seeds,); hop1: (seeds, fanout1); hop2: (seeds, fanout1, fanout2); all are rows of features."""
        x0, x1, x2 = features[nodes], features[hop1], features[hop2]
        h0 = F.normalize(F.relu(self.layer1(x0, x1)), dim=-1)
        h1 = F.normalize(F.relu(self.layer1(x1, x2)), dim=-1)
        return F.log_softmax(self.layer2(h0, h1), dim=-1)


def get_inputs():
    return [
        torch.randn(num_nodes, in_features),
        torch.randint(0, num_nodes, (seeds,)),
        torch.randint(0, num_nodes, (seeds, fanout1)),
        torch.randint(0, num_nodes, (seeds, fanout1, fanout2)),
    ]


def get_init_inputs():
    return [in_features, hidden, classes]
