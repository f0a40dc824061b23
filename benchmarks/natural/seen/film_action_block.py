import torch
import torch.nn as nn

batch_size = 256
in_channels = 256
out_channels = 512
cond_dim = 274
horizon = 16
kernel_size = 5
n_groups = 8


class Conv1dBlock(nn.Module):
    def __init__(self, inp, out, kernel_size, n_groups):
        super().__init__()
        self.block = nn.Sequential(
            nn.Conv1d(inp, out, kernel_size, padding=kernel_size // 2),
            nn.GroupNorm(n_groups, out),
            nn.Mish(),
        )

    def forward(self, x):
        return self.block(x)


class Model(nn.Module):
    """Conditional residual block of Diffusion Policy's 1-D U-Net over an action horizon, then downsampling."""

    def __init__(self, in_channels, out_channels, cond_dim, kernel_size, n_groups):
        super().__init__()
        self.out_channels = out_channels
        self.block1 = Conv1dBlock(in_channels, out_channels, kernel_size, n_groups)
        self.block2 = Conv1dBlock(out_channels, out_channels, kernel_size, n_groups)
        self.cond_encoder = nn.Sequential(nn.Mish(), nn.Linear(cond_dim, 2 * out_channels))
        self.residual_conv = nn.Conv1d(in_channels, out_channels, 1)
        self.down = nn.Conv1d(out_channels, out_channels, 3, 2, 1)

    def forward(self, x, cond):
        out = self.block1(x)
        embed = self.cond_encoder(cond).view(x.shape[0], 2, self.out_channels, 1)
        out = embed[:, 0] * out + embed[:, 1]
        out = self.block2(out)
        out = out + self.residual_conv(x)
        return out, self.down(out)


def get_inputs():
    return [torch.randn(batch_size, in_channels, horizon), torch.randn(batch_size, cond_dim)]


def get_init_inputs():
    return [in_channels, out_channels, cond_dim, kernel_size, n_groups]
