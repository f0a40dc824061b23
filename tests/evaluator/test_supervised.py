"""A process that is owned where the GPU is: its lines, its end, and its end when nobody asks for its answers."""

from __future__ import annotations

import sys
import time

import pytest

from kernelwright.evaluator.relay import Line, Supervised

pytestmark = pytest.mark.process

ECHO = "import sys\nfor line in sys.stdin:\n    print(line.upper(), end='', flush=True)\nsys.exit(3)"


def started(code: str, forsaken_s: float = 600.0) -> Supervised:
    return Supervised([sys.executable, "-c", code], forsaken_s)


def lines_of(worker: Supervised, until: str) -> list[Line]:
    """Those up to the first of a stream."""
    found: list[Line] = []
    deadline_s = time.monotonic() + 600
    while not any(stream == until for stream, _ in found):
        assert time.monotonic() < deadline_s
        found += worker.receive(0.1)
    return found


def test_lines_go_there_and_back_until_the_input_ends() -> None:
    worker = started(ECHO)
    worker.send("one\n")
    assert lines_of(worker, "out") == [("out", "ONE\n")]
    worker.send("two\n")
    worker.end()
    assert lines_of(worker, "end") == [("out", "TWO\n"), ("end", "3")]
    worker.send("after its end\n")


def test_the_last_messages_come_before_the_status() -> None:
    assert lines_of(started("import os\nos.write(2, b'why\\n')\nos.kill(os.getpid(), 9)"), "end") == [
        ("err", "why\n"), ("end", "-9"),
    ]  # fmt: skip


def test_a_worker_that_nobody_asks_for_answers_is_ended() -> None:
    worker = started(ECHO, forsaken_s=0.4)
    assert worker._process.wait(600) == -15
