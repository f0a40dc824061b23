import torch
import torch.nn as nn
import torch.nn.functional as F

batch_size = 16
width = 64
modes1 = 16
modes2 = 16
nx = 256
ny = 256


class Model(nn.Module):
    """Fourier neural operator layer: product in the lowest modes plus a pointwise convolution."""

    def __init__(self, width, modes1, modes2):
        super().__init__()
        self.modes1 = modes1
        self.modes2 = modes2
        scale = 1 / width
        self.w1 = nn.Parameter(scale * torch.randn(width, width, modes1, modes2, 2))
        self.w2 = nn.Parameter(scale * torch.randn(width, width, modes1, modes2, 2))
        self.w = nn.Conv2d(width, width, 1)

    def forward(self, x):
        B, C, H, W = x.shape
        x_ft = torch.fft.rfft2(x)
        out = torch.zeros(B, C, H, W // 2 + 1, dtype=x_ft.dtype, device=x.device)
        m1, m2 = self.modes1, self.modes2
        out[:, :, :m1, :m2] = torch.einsum("bixy,ioxy->boxy", x_ft[:, :, :m1, :m2], torch.view_as_complex(self.w1))
        out[:, :, -m1:, :m2] = torch.einsum("bixy,ioxy->boxy", x_ft[:, :, -m1:, :m2], torch.view_as_complex(self.w2))
        y = torch.fft.irfft2(out, s=(H, W))
        return F.gelu(y + self.w(x))


def get_inputs():
    return [torch.randn(batch_size, width, nx, ny)]


def get_init_inputs():
    return [width, modes1, modes2]
