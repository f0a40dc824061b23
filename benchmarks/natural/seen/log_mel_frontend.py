"""Log-mel features of raw audio, as speech recognisers compute them: windowed spectra, a bank of triangular filters,
and a logarithm that is limited to eight decades below the loudest value."""

import math

import torch
import torch.nn as nn

batch_size = 16
samples = 160000
sample_rate = 16000
n_fft = 400
hop = 160
n_mels = 80


def hz_to_mel(hz):
    return 2595.0 * math.log10(1.0 + hz / 700.0)


def mel_filters(sample_rate, n_fft, n_mels):
    mels = torch.linspace(0.0, hz_to_mel(sample_rate / 2), n_mels + 2)
    corners = 700.0 * (10.0 ** (mels / 2595.0) - 1.0)
    bins = torch.linspace(0.0, sample_rate / 2, n_fft // 2 + 1)
    rising = (bins[None, :] - corners[:-2, None]) / (corners[1:-1] - corners[:-2])[:, None]
    falling = (corners[2:, None] - bins[None, :]) / (corners[2:] - corners[1:-1])[:, None]
    area = 2.0 / (corners[2:] - corners[:-2])
    return torch.minimum(rising, falling).clamp(min=0.0) * area[:, None]


class Model(nn.Module):
    def __init__(self, sample_rate, n_fft, hop, n_mels):
        super().__init__()
        self.n_fft, self.hop = n_fft, hop
        self.register_buffer("window", torch.hann_window(n_fft))
        self.register_buffer("filters", mel_filters(sample_rate, n_fft, n_mels))

    def forward(self, audio):
        spectrum = torch.stft(audio, self.n_fft, self.hop, window=self.window, center=True, return_complex=True)
        power = spectrum[..., :-1].abs() ** 2
        mel = self.filters @ power
        log_mel = torch.log10(mel.clamp(min=1e-10))
        loudest = log_mel.amax(dim=(1, 2), keepdim=True)
        log_mel = torch.maximum(log_mel, loudest - 8.0)
        return (log_mel + 4.0) / 4.0


def get_inputs():
    return [0.1 * torch.randn(batch_size, samples)]


def get_init_inputs():
    return [sample_rate, n_fft, hop, n_mels]
