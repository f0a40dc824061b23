"""Records and plain data."""

from __future__ import annotations

import threading
import time
from typing import Any

import msgspec
import pytest

from kernelwright import codec


class Point(msgspec.Struct):
    x: int


def test_one_thread_at_a_time_reads_what_a_record_is_made_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where two do so at once, msgspec crashes the process now and then."""
    reading: list[int] = []
    most: list[int] = []

    def read(type: Any) -> None:
        reading.append(1)
        most.append(len(reading))
        time.sleep(0.01)
        reading.pop()

    monkeypatch.setattr(msgspec.json, "Decoder", read)
    codec._read_once.cache_clear()
    found: list[Point] = []
    threads = [threading.Thread(target=lambda: found.append(codec.record({"x": 1}, Point))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [Point(1)] * 8
    assert most == [1]
