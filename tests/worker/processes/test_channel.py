"""Frames over a socket: every read ends, with a whole message or with the reason why not."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from kernelwright import codec
from kernelwright.model import CaseResult, Clocks, Status
from kernelwright.worker.bench import messages as to_bench
from kernelwright.worker.bench.race import Race
from kernelwright.worker.clock.captured import Captured, MeasuredPeaks
from kernelwright.worker.judge import messages as to_judge
from kernelwright.worker.processes.channel import MAX_FRAME_BYTES, Channel, ChannelClosed, ChannelTimeout, Done, Message
from kernelwright.worker.processes.memory import ArenaHandle


@pytest.fixture
def pair() -> Iterator[tuple[Channel, socket.socket]]:
    """One end as a channel, the other as a bare socket."""
    ours, theirs = socket.socketpair()
    yield Channel(ours), theirs
    ours.close()
    theirs.close()


@pytest.mark.parametrize(
    "message",
    [None, 0, "", [], {}, {"a": [1, 2.5, None, "é\n"]}, "x" * 3_000_000, {"deep": [[[[[1]]]]]}, float("1e300")],
)  # fmt: skip
def test_a_message_arrives_as_it_was_sent(pair: tuple[Channel, socket.socket], message: object) -> None:
    channel, other = pair
    sender = threading.Thread(target=Channel(other).send, args=(message,))
    sender.start()
    assert channel.receive(600.0) == message
    sender.join()


def test_messages_come_one_by_one_in_their_order(pair: tuple[Channel, socket.socket]) -> None:
    channel, other = pair
    for number in range(5):
        Channel(other).send({"number": number})
    assert [channel.receive(600.0)["number"] for _ in range(5)] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("sent", [b"", b"\0", b"\0\0\0", struct.pack("!I", 4), struct.pack("!I", 4) + b"nul"])
def test_half_a_frame_is_waited_for_until_the_deadline_and_no_longer(
    pair: tuple[Channel, socket.socket], sent: bytes
) -> None:
    channel, other = pair
    other.sendall(sent)
    with pytest.raises(ChannelTimeout):
        channel.receive(0.2)


def test_a_sender_that_trickles_does_not_move_the_deadline(pair: tuple[Channel, socket.socket]) -> None:
    channel, other = pair
    stop = threading.Event()

    def trickle() -> None:
        other.sendall(struct.pack("!I", 1000))
        while not stop.wait(0.02):
            other.sendall(b" ")

    sender = threading.Thread(target=trickle)
    sender.start()
    with pytest.raises(ChannelTimeout):
        channel.receive(0.3)
    stop.set()
    sender.join()


@pytest.mark.parametrize("sent", [b"", b"\0\0", struct.pack("!I", 9) + b"[1, 2"])
def test_an_end_in_the_middle_is_an_end(pair: tuple[Channel, socket.socket], sent: bytes) -> None:
    channel, other = pair
    other.sendall(sent)
    other.close()
    with pytest.raises(ChannelClosed):
        channel.receive(600.0)


@pytest.mark.parametrize("size", [MAX_FRAME_BYTES + 1, 2**32 - 1])
def test_an_oversize_frame_is_refused_before_it_is_read(pair: tuple[Channel, socket.socket], size: int) -> None:
    channel, other = pair
    other.sendall(struct.pack("!I", size))
    with pytest.raises(ChannelClosed, match=str(size)):
        channel.receive(600.0)


@pytest.mark.parametrize("data", [b"not JSON", b"", b"\xff\xfe", b"[1, 2", b"{'a': 1}", b"[" * 100_000])
def test_a_frame_that_is_not_json_means_a_broken_child(pair: tuple[Channel, socket.socket], data: bytes) -> None:
    channel, other = pair
    sender = threading.Thread(target=other.sendall, args=(struct.pack("!I", len(data)) + data,))
    sender.start()
    with pytest.raises(ChannelClosed, match="not JSON"):
        channel.receive(600.0)
    sender.join()


def test_sending_to_nobody_says_so(pair: tuple[Channel, socket.socket]) -> None:
    channel, other = pair
    other.close()
    with pytest.raises(ChannelClosed):
        channel.send("x" * 1_000_000)


def test_reading_from_a_closed_channel_says_so(pair: tuple[Channel, socket.socket]) -> None:
    channel, _ = pair
    channel.close()
    with pytest.raises(ChannelClosed):
        channel.receive(600.0)


CAPTURED = Captured(method="graph", sets=2, restored=True, steady_us=[1.5])


@pytest.mark.parametrize(
    ("message", "answer"),
    [
        (to_bench.Reserve(nbytes=4), ArenaHandle(nbytes=4, cuda="handle")),
        (to_bench.Run(plan="p"), None),
        (to_bench.Run(plan="p"), ["", "line 3"]),
        (to_bench.Prepare(key="k", case="c", plan="p"), CAPTURED),
        (to_bench.Call(key="k"), (12.0, 3.0)),
        (to_bench.Race(key="k", against="best", most=9), Race([1.0], [2.0], "narrow", True)),
        (to_bench.Forgetting(key="k", nbytes=4, wear=True), ([1.0], [2.0])),
        (to_bench.Clocks(), Clocks(sm_mhz=1980, throttle=("power_cap",))),
        (to_judge.Peaks(file="f"), MeasuredPeaks(peaks={"copy_bytes_per_s": 1.0}, source="measured")),
        (to_judge.Qualify(case="c"), "too large to be computed without a GPU"),
        (
            to_judge.Check(case="c", draw=0, plan="p", arena=ArenaHandle(nbytes=4)),
            CaseResult(case="c", status=Status.WRONG),
        ),
        (to_judge.Prepare(case="c", name="eager"), CAPTURED),
    ],
    ids=lambda value: value.verb if isinstance(value, Message) else "",
)
def test_an_answer_arrives_as_the_type_that_its_message_states(
    pair: tuple[Channel, socket.socket], message: Message[Any], answer: object
) -> None:
    channel, other = pair
    Channel(other).send(Done(value=answer))
    done = codec.record(channel.receive(60.0), Done)
    assert codec.record(done.value, message.answer) == answer
