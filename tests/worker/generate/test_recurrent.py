"""What a call of a recurrent layer in a graph returns."""

from __future__ import annotations

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from kernelwright.worker.generate.recurrent import OPERATORS

ROWS, STEPS, WIDTH, HIDDEN = 3, 4, 5, 6


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize(("kind", "more"), [
    ("GRU", {}), ("LSTM", {}), ("LSTM", {"proj_size": 2}), ("RNN", {}), ("RNN", {"nonlinearity": "relu"}),
])  # fmt: skip
def test_a_call_returns_tensors_as_the_operator_does(
    kind: str, more: dict[str, object], bidirectional: bool, batch_first: bool
) -> None:
    """In shape and in strides: kernels read its results where they are in memory."""
    layer = getattr(torch.nn, kind)(WIDTH, HIDDEN, 2, bidirectional=bidirectional, batch_first=batch_first, **more)
    name = getattr(layer, "mode", kind).lower()
    call, operator = next((call, one) for call, one in OPERATORS.items() if call.overloadpacket.__name__ == name)
    shape = (ROWS, STEPS) if batch_first else (STEPS, ROWS)
    sides = [layer.proj_size or HIDDEN, HIDDEN] if kind == "LSTM" else [HIDDEN]
    states = [torch.randn(2 * (2 if bidirectional else 1), ROWS, side) for side in sides]
    given = (torch.randn(*shape, WIDTH), states if kind == "LSTM" else states[0], layer._flat_weights)
    args = (*given, True, 2, 0.0, False, bidirectional, batch_first)
    with torch.no_grad(), FakeTensorMode(allow_non_fake_inputs=True):
        made = call(*args)
    with torch.no_grad():
        expected = operator(*args)
    assert [(one.shape, one.stride()) for one in made] == [(one.shape, one.stride()) for one in expected]
