"""Mean over the first lengths[b] steps of each sequence; a length of 0 gives zeros. Also the maximum over the same steps.

Lengths are 0 to steps; the maximum of none is zero. What lies past the length may hold anything, NaN and infinities too."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, lengths):
        real = (torch.arange(x.shape[1], device=x.device)[None] < lengths[:, None])[..., None]
        mean = torch.where(real, x, 0.0).sum(1) / lengths.clamp(min=1)[:, None].to(x.dtype)
        top = torch.where(real, x, float("-inf")).amax(1)
        return mean, torch.where((lengths > 0)[:, None], top, 0.0)


CASES = [
    dict(name="large", dtype="float32", batch=256, steps=512, features=768),
    dict(name="odd", dtype="float32", held_out=True, batch=7, steps=77, features=99),
    dict(name="small", dtype="float32", small=True, batch=6, steps=20, features=40),
    dict(name="long", dtype="float32", small=True, batch=4, steps=90, features=17),
]


def get_inputs(batch=256, steps=512, features=768):
    lengths = torch.randint(0, steps + 1, (batch,))
    lengths[0] = 0
    lengths[1] = steps
    x = torch.randn(batch, steps, features)
    return [x, lengths]


def get_init_inputs():
    return []
