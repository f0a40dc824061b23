"""A complex state times a complex gate plus a complex input, in real parts."""

import torch
import torch.nn as nn

batch = 8
steps = 512
channels = 512

CASES = [
    dict(name="full", batch=8, steps=512, channels=512, dtype="float32"),
    dict(name="odd", held_out=True, batch=1, steps=77, channels=256, dtype="float32"),
    dict(name="small", small=True, batch=2, steps=9, channels=256, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, v_real, v_imag, f_real, f_imag):
        real, imag = torch.zeros_like(v_real[:, 0]), torch.zeros_like(v_real[:, 0])
        reals, imags = [], []
        for t in range(v_real.shape[1]):
            real, imag = (
                real * f_real[:, t] - imag * f_imag[:, t] + v_real[:, t],
                real * f_imag[:, t] + imag * f_real[:, t] + v_imag[:, t],
            )
            reals.append(real)
            imags.append(imag)
        return torch.stack(reals, 1), torch.stack(imags, 1)


def get_inputs():
    return [
        *(torch.randn(batch, steps, channels) for _ in range(2)),
        *(torch.rand(batch, steps, channels) * 0.7 for _ in range(2)),
    ]


def get_init_inputs():
    return []
