"""The forward of double, which chooses: the kernel or PyTorch. Generated.

A call that goes to PyTorch pays for one comparison where it is small, else for one lookup. The rule: whatever is not
what was measured, goes to PyTorch.
"""

from __future__ import annotations

from torch import Tensor
from torch.compiler import is_compiling, is_dynamo_compiling

from . import op
from .arguments import run
from .dispatch import calm, static, usable, wins_compiled

ABSENT = object()
SCALARS = (bool, int, float, str, type(None))


def key_of(x):
    """What the answer for a call is kept under."""
    return (x.shape, x.dtype, x.get_device())


def in_graph(fallback, self, x):
    """While a graph is made: the operator, or PyTorch's own operations."""
    if isinstance(x, Tensor) and static(x):
        parameters = ()
        key = (x.device.index, x.shape, x.dtype)
        if wins_compiled(self.fast_state, (x,), parameters, key):
            return op.call(x)
    return fallback(self, x)


def dispatching(fallback):
    """A forward that calls the kernel where it wins, and otherwise `fallback`, which takes the same arguments."""

    def forward(self, x=ABSENT, *rest, **named):
        if rest or named or x is ABSENT:
            given = [value for value in (x,) if value is not ABSENT]
            return fallback(self, *given, *rest, **named)
        if is_dynamo_compiling():
            return in_graph(fallback, self, x)
        state = self.fast_state
        try:
            elements = x.numel()
            if type(elements) is int and elements < state.least:  # no symbol, on which a comparison would be a guard
                return fallback(self, x)
            wins = state.known.get((x.shape, x.dtype, x.get_device()))
        except (AttributeError, TypeError):  # no tensor where one was expected, or sizes that are not known yet
            return fallback(self, x)
        if wins is None:
            wins = state.decide((x,), key_of(x))
        if wins and usable(x) and calm():
            return run(state.kernel, (x,), ())
        if wins and is_compiling():
            return in_graph(fallback, self, x)
        return fallback(self, x)

    return forward
