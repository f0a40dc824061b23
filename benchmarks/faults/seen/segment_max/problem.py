"""Maximum of each segment of rows: segment s has the rows offsets[s] to offsets[s + 1] of x; empty segments give zero.

Offsets ascend from 0 to the number of rows; segments may be empty, also the first and the last, and may have all rows.
Any finite values."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, offsets):
        return torch.segment_reduce(x, "max", offsets=offsets, axis=0, initial=None).where(
            (offsets[1:] > offsets[:-1])[:, None], torch.zeros((), dtype=x.dtype, device=x.device))


CASES = [
    dict(name="large", dtype="float32", segments=2048, rows=65536, cols=256),
    dict(name="odd", dtype="float32", held_out=True, segments=31, rows=1001, cols=77),
    dict(name="small", dtype="float32", small=True, segments=8, rows=60, cols=33),
    dict(name="few", dtype="float32", small=True, segments=3, rows=120, cols=10),
]


def get_inputs(segments=2048, rows=65536, cols=256):
    cuts = torch.sort(torch.randint(0, rows + 1, (segments - 1,))).values
    if segments > 4:
        cuts[3] = cuts[2]
    offsets = torch.cat([torch.zeros(1, dtype=torch.int64), cuts, torch.full((1,), rows)])
    return [torch.randn(rows, cols), offsets]


def get_init_inputs():
    return []
