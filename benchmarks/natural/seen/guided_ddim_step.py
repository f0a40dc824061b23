"""One deterministic sampling step of a diffusion model: classifier-free guidance with rescaled variance, the predicted
clean image with a dynamic threshold, and the move to the next noise level."""

import torch
import torch.nn as nn

batch_size = 16
channels = 4
resolution = 128
train_steps = 1000


class Model(nn.Module):
    def __init__(self, train_steps, guidance=7.5, rescale=0.7, percentile=0.995):
        super().__init__()
        betas = torch.linspace(0.00085**0.5, 0.012**0.5, train_steps) ** 2
        self.register_buffer("alphas_cumprod", torch.cumprod(1.0 - betas, dim=0))
        self.guidance = guidance
        self.rescale = rescale
        self.percentile = percentile

    def guide(self, conditional, unconditional):
        guided = unconditional + self.guidance * (conditional - unconditional)
        dims = tuple(range(1, guided.ndim))
        ratio = conditional.std(dim=dims, keepdim=True) / guided.std(dim=dims, keepdim=True)
        return self.rescale * guided * ratio + (1 - self.rescale) * guided

    def threshold(self, x):
        limit = torch.quantile(x.flatten(1).abs(), self.percentile, dim=1).clamp(min=1.0)
        limit = limit.view(-1, 1, 1, 1)
        return torch.minimum(torch.maximum(x, -limit), limit)

    def forward(self, sample, conditional, unconditional, t, t_next):
        eps = self.guide(conditional, unconditional)
        alpha = self.alphas_cumprod[t].view(-1, 1, 1, 1)
        alpha_next = self.alphas_cumprod[t_next].view(-1, 1, 1, 1)
        clean = (sample - (1 - alpha).sqrt() * eps) / alpha.sqrt()
        clean = self.threshold(clean)
        eps = (sample - alpha.sqrt() * clean) / (1 - alpha).sqrt()
        return alpha_next.sqrt() * clean + (1 - alpha_next).sqrt() * eps


def get_inputs():
    shape = (batch_size, channels, resolution, resolution)
    t = torch.randint(20, train_steps, (batch_size,))
    return [torch.randn(shape), torch.randn(shape), torch.randn(shape), t, t - 20]


def get_init_inputs():
    return [train_steps]
