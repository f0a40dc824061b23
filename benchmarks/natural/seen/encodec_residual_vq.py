import torch
import torch.nn as nn

batch_size = 32
dim = 128
frames = 750
codebook_size = 1024
num_quantizers = 8


class Model(nn.Module):
    """Residual vector quantisation of EnCodec: codes and the quantised sum of the nearest entries."""

    def __init__(self, num_quantizers, codebook_size, dim):
        super().__init__()
        self.codebooks = nn.Parameter(torch.randn(num_quantizers, codebook_size, dim))

    def forward(self, z):
        x = z.transpose(1, 2).reshape(-1, z.shape[1])
        residual = x
        quantized = torch.zeros_like(x)
        codes = []
        for embed in self.codebooks:
            dist = -(residual.pow(2).sum(1, keepdim=True) - 2 * residual @ embed.t() + embed.pow(2).sum(1)[None])
            idx = dist.max(dim=-1).indices
            q = embed[idx]
            residual = residual - q
            quantized = quantized + q
            codes.append(idx)
        B, _, T = z.shape
        return quantized.view(B, T, -1).transpose(1, 2), torch.stack(codes).view(-1, B, T)


def get_inputs():
    return [torch.randn(batch_size, dim, frames)]


def get_init_inputs():
    return [num_quantizers, codebook_size, dim]
