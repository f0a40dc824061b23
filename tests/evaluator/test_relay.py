"""Lines that go to a worker elsewhere and back, played by a list; and what follows from how that worker ended."""

from __future__ import annotations

import io
import queue
from collections.abc import Sequence

import pytest

from kernelwright.evaluator.relay import KILLED, OUTSIDE, Gone, Line, is_from_outside, relay, run


class Told:
    """Answers each request by itself in capitals, and what comes after the last one by `ends`."""

    def __init__(self, ends: Sequence[Line] | Gone) -> None:
        self.ends = ends
        self.said: queue.SimpleQueue[list[Line] | Gone] = queue.SimpleQueue()

    def send(self, line: str) -> None:
        self.said.put([("out", line.upper()), ("err", f"did {line}")])

    def end(self) -> None:
        self.said.put(self.ends if isinstance(self.ends, Gone) else [*self.ends])

    def receive(self) -> list[Line]:
        found = self.said.get(timeout=600)
        if isinstance(found, Gone):
            raise found
        return found


def relayed(ends: Sequence[Line] | Gone) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    return relay(Told(ends), ["a\n", "b\n"], out, err), out.getvalue(), err.getvalue()


def test_lines_keep_their_order_and_messages_their_stream() -> None:
    assert relayed([("end", "0")]) == (0, "A\nB\n", "did a\ndid b\n")


@pytest.mark.parametrize(("said", "status"), [("2", 2), ("-9", 137), ("-15", 143)])
def test_a_worker_that_ended_gives_its_status_as_a_shell_does(said: str, status: int) -> None:
    assert relayed([("end", said)])[0] == status


def test_a_loss_from_outside_has_the_status_of_a_process_that_was_asked_to_end() -> None:
    status, out, err = relayed(Gone("its node is gone", from_outside=True))
    assert (status, out) == (OUTSIDE, "A\nB\n")
    assert "its node is gone" in err
    assert relayed(Gone("it died", from_outside=False))[0] == KILLED


@pytest.mark.parametrize(("from_outside", "status"), [(False, 1), (True, OUTSIDE)])
def test_a_gateway_that_reaches_nothing_says_so_in_one_line_and_whether_it_may_be_tried_again(
    capsys: pytest.CaptureFixture[str], from_outside: bool, status: int
) -> None:
    def connect(words: Sequence[str]) -> Told:
        raise Gone(f"nothing is there for {' '.join(words)}", from_outside)

    assert run(connect, ["--target", "sm_90"], io.StringIO()) == status
    assert capsys.readouterr().err == "nothing is there for --target sm_90\n"


class ActorUnavailableError(Exception):
    """As Ray's; told apart by its name."""


class GetTimeoutError(Exception):
    """As Ray's."""


class ActorDiedError(Exception):
    """As Ray's. preempted: whether its node was taken away."""

    def __init__(self, preempted: bool) -> None:
        super().__init__()
        self.preempted = preempted


def test_a_lost_connection_a_lost_node_and_a_preemption_are_causes_outside() -> None:
    assert is_from_outside(ActorUnavailableError(), lambda: True)
    assert is_from_outside(GetTimeoutError(), lambda: True)
    assert is_from_outside(ActorDiedError(preempted=True), lambda: True)
    assert is_from_outside(ActorDiedError(preempted=False), lambda: False)


def test_an_actor_that_died_on_a_node_that_is_up_may_have_died_of_its_candidate() -> None:
    assert not is_from_outside(ActorDiedError(preempted=False), lambda: True)
    assert not is_from_outside(ValueError(), lambda: False)
