"""SIGTERM as Ctrl-C."""

from __future__ import annotations

import os
import signal

import pytest

from kernelwright.interruption import stoppable


def test_a_signal_to_end_is_an_interrupt_and_afterwards_what_it_was_before() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt), stoppable():
        os.kill(os.getpid(), signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) == before
