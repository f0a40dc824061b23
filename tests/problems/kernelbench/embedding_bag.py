import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Sums the rows of a table that integer inputs pick."""

    def __init__(self, vocabulary, width):
        super().__init__()
        self.table = nn.Embedding(vocabulary, width)

    def forward(self, tokens, weights):
        return (self.table(tokens) * weights.unsqueeze(-1)).sum(dim=1)


vocabulary, width, batch, length = 100, 16, 4, 7


def get_inputs():
    tokens = torch.randint(0, vocabulary, (batch, length))
    return [tokens, F.softmax(torch.randn(batch, length), dim=-1)]


def get_init_inputs():
    return [vocabulary, width]
