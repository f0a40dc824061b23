"""Bidirectional GRU over spectral frames with strided convolutions in front, and a masked mean at the end.

Keyword spotting and speaker models of moderate size look like this.
"""

import torch
import torch.nn as nn

batch = 64
frames = 400
mels = 40
hidden = 256


class Model(nn.Module):
    def __init__(self, mels: int, hidden: int, num_classes: int = 35):
        super().__init__()
        self.frontend = nn.Sequential(
            nn.Conv1d(mels, hidden, kernel_size=5, stride=2, padding=2),
            nn.BatchNorm1d(hidden),
            nn.ReLU(),
        )
        self.gru = nn.GRU(hidden, hidden, num_layers=1, batch_first=True, bidirectional=True)
        self.classifier = nn.Linear(2 * hidden, num_classes)

    def forward(self, features: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        x = self.frontend(features.transpose(1, 2)).transpose(1, 2)
        encoded, _ = self.gru(x)
        valid = torch.arange(encoded.shape[1], device=x.device)[None, :] < (lengths[:, None] + 1) // 2
        valid = valid.unsqueeze(-1).to(encoded.dtype)
        pooled = (encoded * valid).sum(dim=1) / valid.sum(dim=1).clamp(min=1)
        return torch.log_softmax(self.classifier(pooled), dim=-1)


def get_inputs():
    return [torch.randn(batch, frames, mels), torch.randint(frames // 3, frames + 1, (batch,))]


def get_init_inputs():
    return [mels, hidden]
