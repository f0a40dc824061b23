"""Jobs in the background of an agent's session."""

from __future__ import annotations

import threading

import pytest

from kernelwright.errors import RequestError
from kernelwright.jobs.background import Background


def test_jobs_run_one_after_the_other_while_their_owner_goes_on() -> None:
    background, may_end, done = Background(), threading.Event(), list[str]()

    def first() -> None:
        may_end.wait(600)
        done.append("first")

    background.start("the first", first)
    background.start("the second", lambda: done.append("second"))
    assert background.doing == "the first"
    assert not background.is_idle(0.01)
    may_end.set()
    assert background.is_idle(600)
    assert (background.doing, done) == (None, ["first", "second"])


def test_an_error_ends_what_waits_and_is_raised_once() -> None:
    background, done = Background(), list[str]()

    def failing() -> None:
        may_fail.wait(600)
        raise RequestError("it cannot be done")

    may_fail = threading.Event()
    background.start("what fails", failing)
    background.start("what follows", lambda: done.append("follows"))
    may_fail.set()
    assert background.is_idle(600)
    with pytest.raises(RequestError, match="it cannot be done"):
        background.raise_fault()
    background.raise_fault()
    assert done == []
    background.start("later", lambda: done.append("later"))
    assert background.is_idle(600)
    assert done == ["later"]
