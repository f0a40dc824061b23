"""A search on two real workers without a GPU, one of them killed in the middle: the same run as on one worker."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kernelwright.evaluator.client import start_worker
from kernelwright.evaluator.fleet import Fleet
from kernelwright.evaluator.places import Lane, start_lanes
from kernelwright.jobs.optimize import optimize
from kernelwright.jobs.worker import Desk, StartWorker
from kernelwright.journal import Event, EventKind, Journal
from on_device import left_in

pytest.importorskip("torch", reason="the worker needs torch: pip install -e '.[worker]'")
pytest.importorskip("triton", reason="the worker needs Triton: pip install -e '.[worker]'")

PROBLEM = """
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x):
        return x * 2.0 + 1.0

CASES = [dict(name="tiny", small=True, rows=3, columns=70), dict(name="timed", rows=2048, columns=2048)]

def get_inputs(rows=3, columns=70):
    return [torch.randn(rows, columns)]

def get_init_inputs():
    return []
"""

STARTER = """import torch
import triton
import triton.language as tl


@triton.jit
def double(x_ptr, y_ptr, count, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < count
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets, mask=inside) * 2.0 + 1.0, mask=inside)


def kernel_function(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    double[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), BLOCK=64)
    return y
"""


def searched(folder: Path, start: StartWorker, on_event: Callable[[Event], None] = lambda event: None) -> list[Any]:
    """The run, event by event, without what differs between any two of the same: seconds and reasons of the end."""
    (folder / "double").mkdir(parents=True)
    (folder / "double/problem.py").write_text(PROBLEM)
    (folder / "double/starter.py").write_text(STARTER)
    result = optimize(
        folder / "double",
        out=str(folder / "run"),
        trials=4,
        in_flight=1,
        seed=3,
        no_known=True,
        no_cache=True,
        desk=Desk(lambda text: None, start, display=lambda info, events: Shown(on_event)),
    )
    with Journal.open(result.folder) as journal:
        return [what_counts(event) for event in journal.events() if event.number is not None]


class Shown:
    def __init__(self, on_event: Callable[[Event], None]) -> None:
        self.on_event = on_event

    def __enter__(self) -> Callable[[Event], None]:
        return self.on_event

    def __exit__(self, *_: object) -> None:
        return None


def what_counts(event: Event) -> tuple[Any, ...]:
    payload: Any = event.payload
    if event.kind in (EventKind.EVALUATED, EventKind.CONFIRMED):
        return event.kind, event.number, payload.status, payload.reason, payload.score_us, payload.compiled
    if event.kind is EventKind.PROPOSED:
        return event.kind, event.number, payload.candidate
    return event.kind, event.number


def test_a_worker_that_is_killed_in_the_middle_changes_nothing_in_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    killed: list[int] = []
    fleets: list[Fleet] = []

    def lanes(target: str | None) -> Fleet:
        fleets.append(start_lanes([Lane("CPU 1", None), Lane("CPU 2", None)], target))
        return fleets[-1]

    def kill(event: Event) -> None:
        """The worker that evaluates the third trial, while it does."""
        if event.kind is EventKind.PROPOSED and event.number == 2:
            threading.Thread(target=kill_the_busy_one).start()

    def kill_the_busy_one() -> None:
        fleet, busy = fleets[0], None
        while busy is None:
            with fleet._changed:
                busy = next((name for name, lane in fleet._dispatch.lanes.items() if lane.jobs), None)
                if busy is not None:
                    killed.append(fleet._workers[busy].process.pid)  # type: ignore[attr-defined]
                    os.kill(killed[0], signal.SIGKILL)

    with_loss = searched(tmp_path / "lanes", lanes, kill)
    assert len(killed) == 1
    assert with_loss == searched(tmp_path / "one", lambda target: start_worker(target=target))
    assert [kind for kind, *_ in with_loss].count(EventKind.EVALUATED) == 4
    assert left_in(scratch) == []
