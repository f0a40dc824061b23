"""Large tensors piece by piece, so that computing on them takes little memory."""

from __future__ import annotations

import math

from torch import Tensor

CHUNK = 1 << 26
"""Elements of a piece: a 4 GB output needs 1 GB of scratch and not 30."""


def pieces(value: Tensor) -> list[Tensor]:
    """Views of about CHUNK elements that together cover the tensor."""
    if value.numel() <= CHUNK:
        return [value]
    longest = max(range(value.dim()), key=lambda dim: value.shape[dim])
    return list(value.split(math.ceil(value.shape[longest] * CHUNK / value.numel()), longest))
