"""Large tensors piece by piece."""

from __future__ import annotations

import pytest
import torch

from kernelwright.worker.reference import pieces as module
from kernelwright.worker.reference.pieces import pieces


@pytest.mark.parametrize("shape", [(0, 3), (1, 5000), (3000, 2), ()])
def test_pieces_are_views_that_make_up_the_tensor(shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHUNK", 1 << 10)
    whole = torch.zeros(shape)
    found = pieces(whole)
    for piece in found:
        piece += 1
    assert bool((whole == 1).all())
    assert all(piece.numel() <= 1 << 11 for piece in found)
