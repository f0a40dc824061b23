import torch
import torch.nn as nn


class Model(nn.Module):
    """Mask-based MVDR beamformer (Souden) from multichannel waveform to enhanced waveform."""

    def __init__(self, n_fft, hop, diag_load, ref_mic):
        super().__init__()
        self.n_fft, self.hop = n_fft, hop
        self.diag_load = diag_load
        self.ref_mic = ref_mic
        self.register_buffer("window", torch.hann_window(n_fft))

    def psd(self, spec, mask):
        mask = mask / (mask.sum(-1, keepdim=True) + 1e-8)
        s = spec.permute(0, 2, 1, 3)
        return torch.einsum("bfct,bfet->bfce", s * mask[:, :, None, :], s.conj())

    def forward(self, wave, mask_logits):
        B, M, L = wave.shape
        spec = torch.stft(wave.reshape(B * M, L), self.n_fft, self.hop, self.n_fft, self.window, return_complex=True)
        spec = spec.view(B, M, spec.shape[-2], spec.shape[-1])
        speech = torch.sigmoid(mask_logits)
        phi_s = self.psd(spec, speech)
        phi_n = self.psd(spec, 1 - speech)

        trace_n = torch.diagonal(phi_n, dim1=-2, dim2=-1).real.sum(-1)
        load = (self.diag_load * trace_n + 1e-8)[..., None, None]
        eye = torch.eye(M, device=wave.device, dtype=phi_n.dtype)
        num = torch.linalg.solve(phi_n + load * eye, phi_s)
        trace = torch.diagonal(num, dim1=-2, dim2=-1).sum(-1)
        w = num[..., self.ref_mic] / (trace[..., None] + 1e-8)

        out = torch.einsum("bfc,bcft->bft", w.conj(), spec)
        # post-filter: keep a floor of the masked reference so the speech is not over-suppressed
        out = out * speech.clamp(min=0.1)
        return torch.istft(out, self.n_fft, self.hop, self.n_fft, self.window, length=L)


batch = 8
mics = 6
samples = 102400
n_fft = 512
hop = 128


def get_inputs():
    wave = 0.1 * torch.randn(batch, mics, samples)
    mask_logits = 2.0 * torch.randn(batch, n_fft // 2 + 1, samples // hop + 1)
    return [wave, mask_logits]


def get_init_inputs():
    return [n_fft, hop, 1e-3, 0]
