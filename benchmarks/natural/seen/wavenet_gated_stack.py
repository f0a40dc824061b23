import torch
import torch.nn as nn

batch_size = 16
hidden_channels = 192
gin_channels = 256
n_layers = 8
kernel_size = 5
dilation_rate = 1
n_frames = 400


class Model(nn.Module):
    """WN of VITS: non-causal gated convolutions conditioned on a speaker vector, with skip connections."""

    def __init__(self, hidden_channels, kernel_size, dilation_rate, n_layers, gin_channels):
        super().__init__()
        self.hidden_channels = hidden_channels
        self.n_layers = n_layers
        self.cond_layer = nn.Conv1d(gin_channels, 2 * hidden_channels * n_layers, 1)
        self.in_layers = nn.ModuleList()
        self.res_skip_layers = nn.ModuleList()
        for i in range(n_layers):
            d = dilation_rate**i
            pad = (kernel_size * d - d) // 2
            self.in_layers.append(nn.Conv1d(hidden_channels, 2 * hidden_channels, kernel_size, dilation=d, padding=pad))
            out = 2 * hidden_channels if i < n_layers - 1 else hidden_channels
            self.res_skip_layers.append(nn.Conv1d(hidden_channels, out, 1))

    def forward(self, x, x_mask, g):
        output = torch.zeros_like(x)
        g = self.cond_layer(g)
        H = self.hidden_channels
        for i in range(self.n_layers):
            x_in = self.in_layers[i](x)
            g_l = g[:, i * 2 * H : (i + 1) * 2 * H, :]
            in_act = x_in + g_l
            acts = torch.tanh(in_act[:, :H]) * torch.sigmoid(in_act[:, H:])
            rs = self.res_skip_layers[i](acts)
            if i < self.n_layers - 1:
                x = (x + rs[:, :H]) * x_mask
                output = output + rs[:, H:]
            else:
                output = output + rs
        return output * x_mask


def get_inputs():
    lengths = torch.randint(n_frames // 2, n_frames + 1, (batch_size, 1, 1))
    x_mask = (torch.arange(n_frames).view(1, 1, -1) < lengths).float()
    return [torch.randn(batch_size, hidden_channels, n_frames), x_mask, torch.randn(batch_size, gin_channels, 1)]


def get_init_inputs():
    return [hidden_channels, kernel_size, dilation_rate, n_layers, gin_channels]
