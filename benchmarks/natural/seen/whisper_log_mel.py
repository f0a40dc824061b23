"""Whisper's features: STFT power, mel filter bank, log with a floor 8 below the maximum."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, n_fft, hop, n_mels):
        super().__init__()
        self.n_fft = n_fft
        self.hop = hop
        self.register_buffer("window", torch.hann_window(n_fft))
        freqs = torch.linspace(0, 8000, n_fft // 2 + 1)
        mel_max = 2595 * torch.log10(torch.tensor(1 + 8000 / 700))
        mels = torch.linspace(0, float(mel_max), n_mels + 2)
        hz = 700 * (10 ** (mels / 2595) - 1)
        up = (freqs[None] - hz[:-2, None]) / (hz[1:-1] - hz[:-2])[:, None]
        down = (hz[2:, None] - freqs[None]) / (hz[2:] - hz[1:-1])[:, None]
        fb = torch.minimum(up, down).clamp(min=0) * (2.0 / (hz[2:] - hz[:-2]))[:, None]
        self.register_buffer("filters", fb)

    def forward(self, audio):
        stft = torch.stft(audio, self.n_fft, self.hop, window=self.window, return_complex=True)
        magnitudes = stft[..., :-1].abs() ** 2
        mel = self.filters @ magnitudes
        log_spec = torch.clamp(mel, min=1e-10).log10()
        top = log_spec.amax(dim=(1, 2), keepdim=True)
        log_spec = torch.maximum(log_spec, top - 8.0)
        return (log_spec + 4.0) / 4.0


CASES = [
    dict(name="30s_x16", batch=16, samples=480_000),
    dict(name="chunks", batch=128, samples=32_000),
]


def get_inputs(batch=16, samples=480_000):
    return [torch.randn(batch, samples) * 0.1]


def get_init_inputs():
    return [400, 160, 80]
