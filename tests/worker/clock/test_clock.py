"""The clock on a simulated device: the conditioning of a sample, the length of a replay, a new capture."""

from __future__ import annotations

import contextlib
import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from kernelwright.model import Clocks
from kernelwright.worker.clock import clock, nvml


class Device:
    """Plain calls take a time of the host's and one of the device's, in µs, captured ones the device's alone."""

    def __init__(self, host_us: float) -> None:
        self.host_us, self.now_us = host_us, 0.0
        self.captured: list[tuple[str, float]] | None = None
        self.done: list[str] = []
        self.capturable = True

    def piece(self, name: str, us: float) -> Callable[[], None]:
        def call() -> None:
            if self.captured is not None:
                self.captured.append((name, us))
            else:
                self.run(name, max(us, self.host_us))

        return call

    def run(self, name: str, us: float) -> None:
        self.done.append(name)
        self.now_us += us


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Device:
    found = Device(host_us=20.0)

    class Event:
        def __init__(self, enable_timing: bool) -> None:
            assert enable_timing

        def record(self) -> None:
            found.done.append("event")
            self.at_us = found.now_us

        def synchronize(self) -> None:
            return None

        def elapsed_time(self, end: Event) -> float:
            return (end.at_us - self.at_us) / 1000

    class Graph:
        def __init__(self) -> None:
            self.calls: list[tuple[str, float]] = []

        def replay(self) -> None:
            for call in self.calls:
                found.run(*call)

    class Stream:
        def synchronize(self) -> None:
            return None

    class Flush:
        def zero_(self) -> None:
            found.run("flush", 40.0)

    @contextlib.contextmanager
    def graph(into: Graph, stream: Stream) -> Iterator[None]:
        if not found.capturable:
            raise RuntimeError("operation not permitted when stream is capturing")
        found.captured = into.calls
        yield
        found.captured = None

    fakes: dict[str, Any] = {
        "Event": Event, "CUDAGraph": Graph, "Stream": Stream, "graph": graph, "synchronize": lambda: None,
        "stream": lambda stream: contextlib.nullcontext(),
    }  # fmt: skip
    for name, fake in fakes.items():
        monkeypatch.setattr(torch.cuda, name, fake)
    monkeypatch.setattr(clock, "shared_stream", Stream)
    monkeypatch.setattr(clock, "flush_buffer", Flush)
    return found


def done_in(device: Device, work: Callable[[], Any]) -> list[str]:
    device.done.clear()
    work()
    return list(device.done)


def test_a_sample_follows_a_flush_and_an_untimed_replay_of_the_same_work(device: Device) -> None:
    timed = clock.Timed([device.piece("a", 100.0), device.piece("b", 150.0)])
    replay = ["a", "b"] * 4
    assert done_in(device, timed.sample_us) == ["flush", *replay, "event", *replay, "event"]
    assert timed.sample_us() == pytest.approx(125.0)


def test_other_work_before_a_sample_takes_the_conditioning_s_place(device: Device) -> None:
    """A kernel that keeps notes would find those of an untimed replay."""
    timed = clock.Timed([device.piece("a", 100.0)], rotations=1)
    assert done_in(device, lambda: timed.sample_us(device.piece("fresh", 1.0))) == ["fresh", "event", "a", "event"]


def test_replays_are_counted_with_those_that_are_not_timed(device: Device) -> None:
    timed = clock.Timed([device.piece("a", 100.0)])
    before = timed.replays
    timed.sample_us()
    timed.sample_us(device.piece("fresh", 1.0))
    assert timed.replays - before == 3


@pytest.mark.parametrize(("us", "rotations"), [(5.0, 100), (9.0, 56), (100.0, 5), (3000.0, 1)])
def test_a_replay_takes_about_a_millisecond_whatever_a_plain_call_takes(
    device: Device, us: float, rotations: int
) -> None:
    timed = clock.Timed([device.piece("a", us), device.piece("b", us)])
    assert timed.calls == 2 * rotations
    assert timed.sample_us() == pytest.approx(us)


def test_a_stated_number_of_rotations_is_kept(device: Device) -> None:
    assert clock.Timed([device.piece("a", 5.0)], rotations=1).calls == 1


def test_a_new_capture_calls_the_copies_in_the_opposite_order_and_counts_on(device: Device) -> None:
    timed = clock.Timed([device.piece("a", 200.0), device.piece("b", 300.0)])
    timed.sample_us()
    replays = timed.replays
    again = timed.again()
    assert again.replays >= replays
    assert again.calls == timed.calls
    assert done_in(device, again.replay) == ["b", "a"] * 2


@pytest.mark.parametrize("host_us", [20.0, 1.0])
def test_what_was_timed_is_freed_at_once(device: Device, host_us: float) -> None:
    """Its pieces hold inputs and outputs of gigabytes, which the judge needs next. The gc may come much later."""
    device.host_us = host_us
    device.capturable = host_us > 1
    timed = clock.Timed([device.piece("a", 200.0)], either=True)
    assert timed.method == ("graph" if host_us > 1 else "events")
    first = weakref.ref(timed)
    gc.disable()
    try:
        timed = timed.again()
        assert first() is None
        second = weakref.ref(timed)
        del timed
        assert second() is None
    finally:
        gc.enable()


def test_where_plain_calls_are_faster_or_nothing_can_be_captured_they_are_timed(device: Device) -> None:
    device.host_us = 1.0
    device.capturable = False
    timed = clock.Timed([device.piece("a", 100.0)], either=True)
    assert timed.method == "events"
    assert timed.sample_us() == pytest.approx(100.0)
    device.capturable = True
    assert clock.Timed([device.piece("a", 100.0)], either=True).method == "graph"
    assert timed.again().method == "graph"


def test_clocks_are_read_while_the_work_runs(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    issued: list[int] = []

    def observed(gpu: str) -> Clocks:
        issued.append(device.done.count("flush"))
        return Clocks(sm_mhz=1500, throttle=(gpu,))

    monkeypatch.setattr(nvml, "device", lambda: "gpu 0")
    monkeypatch.setattr(nvml, "observe", observed)
    timed = clock.Timed([device.piece("a", 200.0)])
    device.done.clear()
    assert timed.clocks() == Clocks(sm_mhz=1500, throttle=("gpu 0",))
    assert issued == [clock.OBSERVED_REPLAYS]


@pytest.mark.parametrize("set_bytes", [1, 7 << 20, 50 << 20, 60 << 20, 300 << 20])
def test_the_rotating_sets_together_hold_four_times_the_l2_cache_beside_the_one_in_use(set_bytes: int) -> None:
    """Between two uses of a set, all others are used: these alone have to push it out of L2."""
    l2_bytes = 50 << 20
    sets = clock.sets_needed(set_bytes, l2_bytes, free_bytes=1 << 60)
    assert (sets - 1) * set_bytes >= 4 * l2_bytes or sets == clock.MAX_CALLS // 4
    assert (sets - 2) * set_bytes < 4 * l2_bytes, "no more than that takes"


def test_one_set_is_enough_where_l2_can_keep_no_more_than_a_two_hundredth_of_a_call() -> None:
    large, l2_bytes = 10_000 << 20, 50 << 20
    assert clock.sets_needed(large, l2_bytes, free_bytes=1 << 60, least_bytes=large) == 1
    assert clock.sets_needed(large, l2_bytes, free_bytes=1 << 60, least_bytes=large - 1) == 2
    assert clock.sets_needed(large, l2_bytes, free_bytes=1 << 60) == 2, "memory that is only allocated does not count"


def test_rotating_sets_take_half_of_the_free_memory_at_most_and_one_is_always_made() -> None:
    assert clock.sets_needed(10 << 20, 50 << 20, free_bytes=100 << 20) == 5
    assert clock.sets_needed(10 << 20, 50 << 20, free_bytes=1 << 20) == 1


def test_work_that_reads_what_it_changes_is_restored_before_each_rotation_and_outside_of_the_timed_part(
    device: Device,
) -> None:
    restore = device.piece("restore", 70.0)
    timed = clock.Timed([device.piece("a", 100.0), device.piece("b", 150.0)], restore=restore)
    rotation = ["a", "b"]
    assert timed.calls == 2
    assert device.done[:3] == ["restore", *rotation]
    assert done_in(device, timed.sample_us) == [
        "flush", "restore", *rotation, "restore", "flush", "event", *rotation, "event"
    ]  # fmt: skip
    assert timed.sample_us() == pytest.approx(125.0)
    for work in (timed.run, timed.rotation.run):
        assert done_in(device, work) == ["restore", *rotation]
    again = timed.again()
    assert done_in(device, again.run) == ["restore", "b", "a"]
    assert timed.warm_us() is None


def test_each_awaited_call_is_restored_before_its_time_begins(device: Device) -> None:
    found = done_in(device, lambda: clock.call_us(device.piece("a", 1.0), device.piece("restore", 1.0), repeats=2))
    assert found == ["restore", "a"] * 5


@pytest.mark.parametrize(("call_us", "sets"), [(10.0, 100), (0.5, 256), (400.0, 3), (5000.0, 1)])
def test_as_many_sets_are_made_as_take_a_millisecond(call_us: float, sets: int) -> None:
    assert clock.sets_for_a_sample(call_us, 1 << 20, 80 << 30) == sets
    assert clock.sets_for_a_sample(call_us, 40 << 30, 80 << 30) == 1


def test_every_set_gets_the_first_values_again_whatever_becomes_of_them() -> None:
    first = [torch.arange(4.0), torch.ones(2)]
    sets = [[tensor.clone() for tensor in first] for _ in range(3)]
    restore = clock.Restore(first, sets)
    for tensor in (*first, *(one for group in sets for one in group)):
        tensor.add_(7)
    restore()
    for group in sets:
        assert torch.equal(group[0], torch.arange(4.0))
        assert torch.equal(group[1], torch.ones(2))
