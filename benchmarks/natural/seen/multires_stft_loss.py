import torch
import torch.nn as nn


class Model(nn.Module):
    """Parallel WaveGAN multi-resolution STFT loss (spectral convergence + log magnitude)."""

    def __init__(self, fft_sizes, hops, wins):
        super().__init__()
        self.resolutions = list(zip(fft_sizes, hops, wins))
        for i, w in enumerate(wins):
            self.register_buffer(f"window_{i}", torch.hann_window(w))

    def magnitude(self, x, n_fft, hop, win, window):
        spec = torch.stft(x, n_fft, hop, win, window, center=True, pad_mode="reflect", return_complex=True)
        power = spec.real ** 2 + spec.imag ** 2
        return torch.sqrt(torch.clamp(power, min=1e-7)).transpose(2, 1)

    def forward(self, fake, real):
        sc_total = 0.0
        mag_total = 0.0
        for i, (n_fft, hop, win) in enumerate(self.resolutions):
            window = getattr(self, f"window_{i}")
            fm = self.magnitude(fake, n_fft, hop, win, window)
            rm = self.magnitude(real, n_fft, hop, win, window)
            sc = torch.norm(rm - fm, p="fro", dim=(1, 2)) / torch.norm(rm, p="fro", dim=(1, 2))
            mag = (torch.log(rm) - torch.log(fm)).abs().mean(dim=(1, 2))
            sc_total = sc_total + sc
            mag_total = mag_total + mag
        n = len(self.resolutions)
        return sc_total / n, mag_total / n


batch = 16
samples = 65536


def get_inputs():
    real = 0.3 * torch.randn(batch, samples)
    fake = real + 0.1 * torch.randn(batch, samples)
    return [fake, real]


def get_init_inputs():
    return [[1024, 2048, 512], [120, 240, 50], [600, 1200, 240]]
