import torch
import torch.nn as nn

batch_size = 32
n_vars = 21
seq_len = 336
pred_len = 96
patch_len = 16
stride = 8
d_model = 128
n_heads = 16
d_ff = 256


class Model(nn.Module):
    """PatchTST with RevIN and one encoder layer, channel-independent, for multivariate forecasting."""

    def __init__(self, seq_len, pred_len, patch_len, stride, d_model, n_heads, d_ff):
        super().__init__()
        self.patch_len = patch_len
        self.stride = stride
        n_patches = (seq_len - patch_len) // stride + 2
        self.pad = nn.ReplicationPad1d((0, stride))
        self.embed = nn.Linear(patch_len, d_model)
        self.pos = nn.Parameter(torch.randn(1, n_patches, d_model) * 0.02)
        self.layer = nn.TransformerEncoderLayer(d_model, n_heads, d_ff, dropout=0.2, activation="gelu", batch_first=True)
        self.head = nn.Linear(n_patches * d_model, pred_len)

    def forward(self, x):
        mean = x.mean(1, keepdim=True)
        std = torch.sqrt(x.var(1, keepdim=True, unbiased=False) + 1e-5)
        x = (x - mean) / std
        B, L, C = x.shape
        z = self.pad(x.transpose(1, 2))
        z = z.unfold(-1, self.patch_len, self.stride)
        z = self.embed(z).reshape(B * C, -1, self.pos.shape[-1]) + self.pos
        z = self.layer(z)
        y = self.head(z.flatten(1)).view(B, C, -1).transpose(1, 2)
        return y * std + mean


def get_inputs():
    return [torch.randn(batch_size, seq_len, n_vars).cumsum(1) * 0.3]


def get_init_inputs():
    return [seq_len, pred_len, patch_len, stride, d_model, n_heads, d_ff]
