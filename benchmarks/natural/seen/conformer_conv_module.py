import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 16
FRAMES = 1500
D_MODEL = 512
KERNEL = 31


class FrozenBatchNorm1d(nn.Module):
    def __init__(self, c, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(1 + 0.1 * torch.randn(c))
        self.bias = nn.Parameter(0.1 * torch.randn(c))
        self.register_buffer("running_mean", 0.1 * torch.randn(c))
        self.register_buffer("running_var", 0.5 + torch.rand(c))

    def forward(self, x):
        return F.batch_norm(
            x, self.running_mean, self.running_var, self.weight, self.bias, training=False, eps=self.eps
        )


class Model(nn.Module):
    """Convolution module of a Conformer encoder layer, at inference."""

    def __init__(self, d_model, kernel_size, causal=False):
        super().__init__()
        self.kernel_size = kernel_size
        self.causal = causal
        self.norm = nn.LayerNorm(d_model)
        self.pointwise_conv1 = nn.Conv1d(d_model, 2 * d_model, 1)
        self.depthwise_conv = nn.Conv1d(d_model, d_model, kernel_size, groups=d_model, bias=False)
        self.batch_norm = FrozenBatchNorm1d(d_model)
        self.pointwise_conv2 = nn.Conv1d(d_model, d_model, 1)

    def forward(self, x, lengths):
        pad_mask = torch.arange(x.size(1), device=x.device)[None, :] >= lengths[:, None]
        y = self.norm(x).transpose(1, 2)
        y = F.glu(self.pointwise_conv1(y), dim=1)
        y = y.masked_fill(pad_mask.unsqueeze(1), 0.0)

        if self.causal:
            y = F.pad(y, (self.kernel_size - 1, 0))
        else:
            half = (self.kernel_size - 1) // 2
            y = F.pad(y, (half, self.kernel_size - 1 - half))
        y = F.silu(self.batch_norm(self.depthwise_conv(y)))
        y = self.pointwise_conv2(y).transpose(1, 2)
        return x + y.masked_fill(pad_mask.unsqueeze(-1), 0.0)


def get_inputs():
    return [
        torch.randn(BATCH, FRAMES, D_MODEL),
        torch.randint(FRAMES // 2, FRAMES + 1, (BATCH,)),
    ]


def get_init_inputs():
    return [D_MODEL, KERNEL]
