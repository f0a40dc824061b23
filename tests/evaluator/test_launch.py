"""Launchers: where a worker runs."""

from __future__ import annotations

import sys
from concurrent.futures import Future
from typing import Any

import pytest

from kernelwright.errors import MachineError, Unreachable
from kernelwright.evaluator import client
from kernelwright.evaluator.client import HELLO_S, LAUNCHERS, QUIET_S, first_message, start_worker
from kernelwright.worker.processes.children import IMPORT_TIMEOUT_S
from kernelwright.worker.processes.processes import PROBE_S


def test_a_worker_is_started_by_its_launcher_unless_an_argv_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LAUNCHERS, "local", lambda: ["/no/such/launcher"])
    with pytest.raises(MachineError, match="cannot start a worker by /no/such/launcher"):
        start_worker()
    with pytest.raises(MachineError, match="cannot start a worker by /no/such/program"):
        start_worker(["/no/such/program"])


def test_the_local_launcher_runs_this_python() -> None:
    assert LAUNCHERS["local"]() == [sys.executable, "-P", "-m", "kernelwright.worker"]


class Message(Future[Any]):
    """A first message that comes at `at_s` on a clock which only waiting moves."""

    def __init__(self, at_s: float) -> None:
        super().__init__()
        self.at_s, self.now_s = at_s, 0.0

    def result(self, timeout: float | None = None) -> Any:
        assert timeout is not None, "waits for ever"
        self.now_s += timeout
        if self.now_s < self.at_s:
            raise TimeoutError
        return "hello"


@pytest.mark.parametrize(("at_s", "lines"), [(QUIET_S - 1, 0), (QUIET_S + 1, 1), (HELLO_S - 1, 1)])
def test_a_worker_that_starts_slowly_is_waited_for_with_a_line(at_s: float, lines: int) -> None:
    said: list[str] = []
    assert first_message(Message(at_s), HELLO_S, said.append) == "hello"
    assert said == ["waiting for the worker to start, for at most 330 s…"] * lines


def test_a_worker_that_never_says_hello_is_an_error_after_a_stated_time() -> None:
    message = Message(HELLO_S + 1)
    with pytest.raises(Unreachable, match="the worker did not start in 330 s"):
        first_message(message, HELLO_S, [].append)
    assert message.now_s == HELLO_S


def test_a_worker_that_never_says_hello_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "QUIET_S", 0.01)
    said: list[str] = []
    with pytest.raises(Unreachable, match=r"did not start in 0\.02 s"):
        start_worker([sys.executable, "-c", "input()"], hello_s=0.02, notify=said.append)
    assert len(said) == 1


def test_the_limits_of_the_worker_itself_end_before_that_of_its_first_message() -> None:
    assert IMPORT_TIMEOUT_S + PROBE_S < HELLO_S
