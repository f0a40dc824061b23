"""Stack of dilated, gated convolutions with residual and skip paths and local conditioning.

Normalising flows for speech and denoisers of waveforms are built from it.
"""

import torch
import torch.nn as nn

batch_size = 16
channels = 192
condition = 80
length = 1500
layers = 4


class Model(nn.Module):
    def __init__(self, channels, condition, layers, kernel_size=5, dilation_rate=2):
        super().__init__()
        self.channels = channels
        self.cond_layer = nn.Conv1d(condition, 2 * channels * layers, 1)
        self.in_layers = nn.ModuleList()
        self.res_skip = nn.ModuleList()
        for i in range(layers):
            dilation = dilation_rate**i
            padding = dilation * (kernel_size - 1) // 2
            self.in_layers.append(nn.Conv1d(channels, 2 * channels, kernel_size, dilation=dilation, padding=padding))
            last = i == layers - 1
            self.res_skip.append(nn.Conv1d(channels, channels if last else 2 * channels, 1))

    def forward(self, x, mask, cond):
        """x: (batch, channels, length); mask: (batch, 1, length), zeros and ones; cond: (batch, condition, length)."""
        skip = torch.zeros_like(x)
        conditions = self.cond_layer(cond).chunk(len(self.in_layers), dim=1)
        for i, (conv, mix) in enumerate(zip(self.in_layers, self.res_skip, strict=True)):
            a, b = (conv(x) + conditions[i]).chunk(2, dim=1)
            acts = torch.tanh(a) * torch.sigmoid(b)
            out = mix(acts)
            if i < len(self.in_layers) - 1:
                residual, out = out.chunk(2, dim=1)
                x = (x + residual) * mask
            skip = skip + out
        return skip * mask


def get_inputs():
    lengths = torch.randint(length // 2, length + 1, (batch_size, 1, 1))
    mask = (torch.arange(length) < lengths).float()
    return [torch.randn(batch_size, channels, length), mask, torch.randn(batch_size, condition, length)]


def get_init_inputs():
    return [channels, condition, layers]
