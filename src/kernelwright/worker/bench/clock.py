"""The clock: how long a piece of device work takes, cold, on the GPU.

A piece is given as a list of callables, one per rotating input set, together several times the L2 cache. They are
captured into one CUDA graph that calls each in turn until a replay takes about a millisecond; one replay between
two events is a sample, divided by the number of calls. So launch overhead is outside, and every call finds its
inputs cold. Each sample follows the same conditioning. The same code times plans and the framework's own
implementations. Work that reads what it changes in place is called once on each set, and the sets are restored before.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import cache, cached_property
from typing import Any

import torch

try:
    import pynvml
except ImportError:  # an optional dependency; then no clocks are read
    pynvml = None

from kernelwright.model import Clocks

REPLAY_US = 1000.0
"""Length of one graph replay: events resolve 0.5 µs and a graph launch takes about 5, so both stay under 1 %."""

COLD_FACTOR = 4
"""Rotating sets hold at least this many times the L2 cache, so that nothing survives a rotation."""

MAX_CALLS = 1024

CLOSE = 1.1
"""A replay whose length is within this factor of the wanted one is kept: it starts in about 5 µs, as above, and a tenth
of that is 0.05 % of a replay."""

FLUSH_FACTOR = 2
"""Times the L2 cache, written before a sample: then it holds nothing else, whatever was done before."""

STEADY = 0.01
"""Warmed up when four samples in a row lie within this fraction: clocks rise within milliseconds of load."""

WARM_UP_SAMPLES = 40
"""More than this is not warming up but noise; the interval will show it."""

OBSERVED_REPLAYS = 3
"""Work of about 6 ms, conditioning included, during which NVML is asked."""

Piece = Callable[[], Any]


class Timed:
    """A piece of work ready to be sampled. Raises whatever the work raises, at construction."""

    def __init__(
        self, pieces: list[Piece], either: bool = False, rotations: int | None = None, restore: Piece | None = None
    ) -> None:
        """rotations: how often a sample calls each piece; as often as REPLAY_US allows where None, and once where there
        is something to restore. restore: device work that puts back what calls change; it comes before every rotation
        and is never timed.

        either: also try plain calls between events, and keep whichever is faster.

        For the framework's own implementations, so that no baseline is slowed by the way it is timed: in a graph,
        intermediates of several GB get separate memory, and eager RMSNorm took 9.5 ms instead of 8.3 on an H200.
        """
        self.method = "graph"
        self.pieces = pieces  # a graph holds addresses, not tensors: their owners have to live as long
        self.either = either
        self.restore = restore
        rotations = 1 if restore is not None else rotations
        self.stream = shared_stream()
        self.replays = 0
        self.start, self.end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        with torch.cuda.stream(self.stream):
            self._restore()
            for piece in pieces:
                piece()
            self.stream.synchronize()
            self.calls = (rotations or rotations_for(self._rough_us(pieces), len(pieces))) * len(pieces)
            self.replay = self._captured()
        if rotations is None and self.method == "graph":
            self._fit_length()
        if either and self.method == "graph":
            self._keep_faster()

    def _fit_length(self) -> None:
        """Capture once more where the first guess, which holds the host's time of plain calls, was far off: how much
        of a sample its first calls are must not differ from row to row."""
        rotations = rotations_for(min(self.sample_us() for _ in range(3)), len(self.pieces))
        calls = rotations * len(self.pieces)
        if self.calls / CLOSE <= calls <= self.calls * CLOSE:
            return
        self.calls, self.replay = calls, self._all_calls
        with torch.cuda.stream(self.stream):
            self.replay = self._captured()

    def _keep_faster(self) -> None:
        graph = self.replay
        by_graph = min(self.sample_us() for _ in range(5))
        self.replay = self._all_calls
        by_events = min(self.sample_us() for _ in range(5))
        if by_graph <= by_events:
            self.replay = graph
        else:
            self.method = "events"

    def _rough_us(self, pieces: list[Piece]) -> float:
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for piece in pieces:
            piece()
        end.record()
        end.synchronize()
        return float(start.elapsed_time(end)) * 1000 / len(pieces)

    def _captured(self) -> Piece:
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph, stream=self.stream):
                self._all_calls()
        except RuntimeError:
            # not every framework operator can be captured; then the queue is held full from the host
            torch.cuda.synchronize()
            self.method = "events"
            return self._all_calls
        return graph.replay

    def _all_calls(self) -> None:
        for _ in range(self.calls // len(self.pieces)):
            for piece in self.pieces:
                piece()

    def sample_us(self, before: Piece | None = None) -> float:
        """Device time of one call in µs: one replay over its number of calls.

        before: device work that is not timed, in place of the conditioning, which is issued in front of the timed
        replay without a pause, so that the GPU never waits for the host in between.
        """
        with torch.cuda.stream(self.stream):
            (before or self._condition)()
            if self.restore is not None:
                self.restore()
                flush_buffer().zero_()  # it leaves the inputs in the cache
            self.start.record()
            self.replay()
            self.end.record()
        self.end.synchronize()
        self.replays += 1
        return float(self.start.elapsed_time(self.end)) * 1000 / self.calls

    def _condition(self) -> None:
        """Bring the GPU to the same state, whatever ran before: write over the L2 cache, then replay untimed, so that
        caches, lines that wait to be written back, and clocks are those of this work itself."""
        flush_buffer().zero_()
        self.run()
        self.replays += 1

    def run(self) -> None:
        """One replay that is not timed, on inputs as they were given."""
        self._restore()
        self.replay()

    def _restore(self) -> None:
        if self.restore is not None:
            self.restore()

    def clocks(self) -> Clocks | None:
        """The GPU's clocks while it does this work, which no sample is taken of."""
        gpu = nvml_device()
        with torch.cuda.stream(self.stream):
            for _ in range(OBSERVED_REPLAYS):
                self._condition()
        found = observe(gpu)
        self.stream.synchronize()
        return found

    def again(self) -> Timed:
        """The same pieces in a new capture, called in the opposite order, so that the copies change places. This one is
        no longer sampled: its graph is given up first, whose intermediates may take several GB."""
        self.replay = self._all_calls
        found = Timed(self.pieces[::-1], self.either, restore=self.restore)
        found.replays += self.replays
        return found

    @cached_property
    def rotation(self) -> Timed:
        """The same pieces, each called once in a sample."""
        return Timed(self.pieces, rotations=1, restore=self.restore)

    def warm_us(self) -> float | None:
        """Device time of one call in µs when its inputs were just used: one set, called again and again. None where a
        call depends on the one before it."""
        if self.restore is not None:
            return None
        warm = Timed(self.pieces[:1])
        warm.warm_up()
        return statistics.median(warm.sample_us() for _ in range(5))

    def warm_up(self) -> list[float]:
        """Sample until the work is steady; the last samples, in µs."""
        last = [self.sample_us() for _ in range(4)]
        for _ in range(WARM_UP_SAMPLES):
            if max(last) <= (1 + STEADY) * min(last):
                break
            last = [*last[1:], self.sample_us()]
        return last


@cache
def shared_stream() -> torch.cuda.Stream:
    """The stream of all samples of this process: two streams may have different queues in the GPU."""
    return torch.cuda.Stream()


@cache
def flush_buffer() -> torch.Tensor:
    l2_bytes = torch.cuda.get_device_properties(torch.cuda.current_device()).L2_cache_size
    return torch.empty(FLUSH_FACTOR * l2_bytes, dtype=torch.uint8, device="cuda")


def rotations_for(call_us: float, pieces: int) -> int:
    """How often a replay calls each piece, to take about REPLAY_US."""
    return max(1, min(round(REPLAY_US / max(call_us * pieces, 0.1)), MAX_CALLS // pieces))


def call_us(piece: Piece, restore: Piece | None = None, repeats: int = 20) -> tuple[float, float]:
    """Median host time of one synchronised call and of issuing it, in µs. restore: as of `Timed`."""
    whole, issue = [], []
    restore = restore or (lambda: None)
    for _ in range(3):
        restore()
        piece()
    for _ in range(repeats):
        restore()
        torch.cuda.synchronize()
        start = time.perf_counter_ns()
        piece()
        issued = time.perf_counter_ns()
        torch.cuda.synchronize()
        whole.append((time.perf_counter_ns() - start) / 1000)
        issue.append((issued - start) / 1000)
    return statistics.median(whole), statistics.median(issue)


def sets_needed(bytes_per_set: int, l2_bytes: int, free_bytes: int) -> int:
    """How many rotating input sets make every call cold, within half of the free memory."""
    wanted = -(-COLD_FACTOR * l2_bytes // max(bytes_per_set, 1)) + 1
    affordable = max(1, free_bytes // 2 // max(bytes_per_set, 1))
    return int(max(1, min(wanted, affordable, MAX_CALLS // 4)))


def sets_for_a_sample(call_us: float, bytes_per_set: int, free_bytes: int) -> int:
    """How many sets make one call of each take about REPLAY_US, within half of the free memory. call_us: of a call."""
    affordable = max(1, free_bytes // 2 // max(bytes_per_set, 1))
    return int(max(1, min(-(-REPLAY_US // max(call_us, 0.1)), affordable, MAX_CALLS // 4)))


@cache
def nvml_device() -> Any:
    """NVML's handle of the GPU; None without NVML."""
    if pynvml is None:
        return None
    try:
        pynvml.nvmlInit()
        return pynvml.nvmlDeviceGetHandleByIndex(torch.cuda.current_device())
    except pynvml.NVMLError:
        return None


def observe(gpu: Any) -> Clocks | None:
    """Clocks, temperature, power and throttle reasons as NVML reads them now; None without NVML. gpu: its handle."""
    if gpu is None:
        return None
    try:
        mask = pynvml.nvmlDeviceGetCurrentClocksThrottleReasons(gpu)
        return Clocks(
            sm_mhz=pynvml.nvmlDeviceGetClockInfo(gpu, pynvml.NVML_CLOCK_SM),
            memory_mhz=pynvml.nvmlDeviceGetClockInfo(gpu, pynvml.NVML_CLOCK_MEM),
            temperature_c=pynvml.nvmlDeviceGetTemperature(gpu, pynvml.NVML_TEMPERATURE_GPU),
            power_w=pynvml.nvmlDeviceGetPowerUsage(gpu) / 1000,
            throttle=tuple(name for bit, name in THROTTLE.items() if mask & bit),
        )
    except pynvml.NVMLError:
        return None


THROTTLE = {0x2: "application_clocks", 0x4: "power_cap", 0x8: "hardware_slowdown", 0x20: "software_thermal",
            0x40: "hardware_thermal", 0x80: "power_brake"}  # fmt: skip
"""NVML's clocksThrottleReasons bits (nvml.h) less idle."""
