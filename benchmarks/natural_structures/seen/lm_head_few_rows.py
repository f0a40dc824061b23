"""Output head of Qwen2.5-1.5B for 8 decoding requests: 1536 -> 151936, weight tied to the embedding."""
import torch

ROWS = 8
HIDDEN = 1536
VOCAB = 151936


class Model(torch.nn.Module):
    def __init__(self, vocab, hidden):
        super().__init__()
        self.embedding = torch.nn.Parameter(torch.randn(vocab, hidden, dtype=torch.bfloat16) * hidden**-0.5)

    def forward(self, hidden_states):
        last = hidden_states[:, -1, :]  # only the newest token of each request
        return torch.matmul(last, self.embedding.t()).float()


def get_inputs():
    return [torch.randn(ROWS, 1, HIDDEN, dtype=torch.bfloat16)]


def get_init_inputs():
    return [VOCAB, HIDDEN]
