"""SIGTERM as Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from kernelwright.interruption import stoppable


def test_a_signal_to_end_is_an_interrupt_and_afterwards_what_it_was_before() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt), stoppable():
        os.kill(os.getpid(), signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) == before


HANGS = """
import os, signal, time
from kernelwright import interruption

interruption.GRACE_S, interruption.LAST_S = 0.2, 0.1
with interruption.stoppable():
    try:
        os.kill(os.getpid(), signal.{name})
    finally:
        while True:
            time.sleep(1)
"""


@pytest.mark.process
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_what_hangs_after_a_signal_that_leaves_little_time_is_ended_from_within(name: str) -> None:
    ended = subprocess.run([sys.executable, "-c", HANGS.format(name=name)], timeout=600)
    assert ended.returncode == 128 + getattr(signal, name)


@pytest.mark.process
def test_an_interrupt_may_take_its_time() -> None:
    code = HANGS.format(name="SIGUSR1").replace("while True:", "for _ in range(2):")
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert ended.stderr.splitlines()[-1] == "KeyboardInterrupt"
