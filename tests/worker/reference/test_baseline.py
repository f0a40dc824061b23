"""The framework's own implementations, made ready to be sampled."""

from __future__ import annotations

import weakref

import torch

from kernelwright.worker.reference.baseline import Baselines, _piece


def test_what_a_forgotten_baseline_held_is_freed_at_once() -> None:
    """A compiled module refers to itself."""
    output = torch.ones(4)
    output.itself = output  # type: ignore[attr-defined]
    held, baselines = weakref.ref(output), Baselines()
    baselines.timed["large", "compile"] = output  # type: ignore[assignment]
    del output
    baselines.forget()
    assert held() is None


def test_an_output_is_kept_until_the_piece_is_called_again() -> None:
    made: list[weakref.ref[torch.Tensor]] = []

    def module(x: torch.Tensor) -> torch.Tensor:
        output = x + 1
        made.append(weakref.ref(output))
        return output

    piece = _piece(module, (torch.zeros(4),), {})
    piece()
    assert made[0]() is not None
    piece()
    assert made[0]() is None
    assert made[1]() is not None
