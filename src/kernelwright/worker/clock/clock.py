"""The clock: measures the device time of a call with a cold L2 cache.

The caller gives a list of callables, one per rotating input set; the sets are together several times the L2 cache, and
there is only one where each call moves 200 times that. All are captured into one CUDA graph, which calls each in turn
until a replay takes about a millisecond. A sample is one replay between two CUDA events over its number of calls. So it
contains no launch overhead, and every call finds its inputs cold. Before each sample the GPU is brought to the same
state (`Timed._condition`). Plans and the framework's own implementations are timed by the same code. Work that reads
inputs which it changes in place is called once on each set, and the sets are restored before.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import cache, cached_property
from typing import Any

import torch
from torch import Tensor

from kernelwright.model import Clocks
from kernelwright.worker.clock import nvml
from kernelwright.worker.clock.captured import REPLAY_US, Captured

COLD_FACTOR = 4
"""Total size of the rotating sets over the size of the L2 cache, at least: no data survives a rotation."""

ONE_SET_FACTOR = 200
"""Least bytes of a call over the size of the L2 cache from which one set is enough: what the cache keeps then saves at
most half a percent, the smallest difference that counts (`verdicts.FLOOR`)."""

MAX_CALLS = 1024

CLOSE = 1.1
"""A captured replay whose length is within this factor of REPLAY_US is kept. A graph launch takes about 5 µs, so the
error is a tenth of that, 0.05 % of a replay."""

FLUSH_FACTOR = 2
"""Size of the L2 flush over the size of the L2 cache: after it, the cache contains no data of earlier work."""

STEADY = 0.01
"""Work is warmed up when four samples in a row lie within this fraction. Clocks rise within milliseconds of load."""

WARM_UP_SAMPLES = 40
"""Maximum number of warm-up samples. Variation after them is noise, which the interval shows."""

OBSERVED_REPLAYS = 3
"""Number of replays while NVML is read: about 6 ms of work, conditioning included."""

Piece = Callable[[], Any]


class Timed:
    """Device work that is captured and ready to be sampled. The constructor raises whatever the work raises."""

    def __init__(
        self, pieces: list[Piece], either: bool = False, rotations: int | None = None, restore: Piece | None = None
    ) -> None:
        """rotations: how often a sample calls each piece; None for as often as fits into REPLAY_US; always once with
        `restore`. restore: device work that restores the inputs that calls change; it runs before every rotation and is
        never timed.

        either: also try plain calls between events, and keep the faster method. Used for the framework's own
        implementations, so that no baseline is slowed down by the way it is timed: in a CUDA graph, intermediates of
        several GB get separate memory, and eager RMSNorm took 9.5 ms instead of 8.3 on an H200.
        """
        self.method = "graph"
        self.pieces = pieces  # keeps their tensors alive: a CUDA graph refers to memory by address
        self.graph: torch.cuda.CUDAGraph | None = None
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
            self.graph = self._capture()
        if rotations is None and self.method == "graph":
            self._fit_length()
        if either and self.method == "graph":
            self._keep_faster()

    def _fit_length(self) -> None:
        """Capture again if a replay is far from REPLAY_US. The first guess came from plain calls, so it includes host
        time. Replays of all rows need the same length, so that the first calls have the same share in each sample."""
        rotations = rotations_for(min(self.sample_us() for _ in range(3)), len(self.pieces))
        calls = rotations * len(self.pieces)
        if self.calls / CLOSE <= calls <= self.calls * CLOSE:
            return
        self.calls, self.graph = calls, None
        with torch.cuda.stream(self.stream):
            self.graph = self._capture()

    def _keep_faster(self) -> None:
        graph = self.graph
        by_graph = min(self.sample_us() for _ in range(5))
        self.graph = None
        by_events = min(self.sample_us() for _ in range(5))
        if by_graph <= by_events:
            self.graph = graph
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

    def _capture(self) -> torch.cuda.CUDAGraph | None:
        """A graph of all calls of a sample; None if some framework operator cannot be captured."""
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph, stream=self.stream):
                self._all_calls()
        except RuntimeError:
            torch.cuda.synchronize()
            self.method = "events"
            return None
        return graph

    def replay(self) -> None:
        """All calls of a sample: one launch of the graph, or plain calls from the host, which keep the queue full."""
        if self.graph is not None:
            self.graph.replay()
        else:
            self._all_calls()

    def _all_calls(self) -> None:
        for _ in range(self.calls // len(self.pieces)):
            for piece in self.pieces:
                piece()

    def sample_us(self, before: Piece | None = None) -> float:
        """Device time of one call in µs: one replay over its number of calls.

        before: untimed device work that replaces the conditioning. It is issued right before the timed replay, so that
        the GPU never waits for the host in between.
        """
        with torch.cuda.stream(self.stream):
            (before or self._condition)()
            if self.restore is not None:
                self.restore()
                flush_buffer().zero_()  # restoring left the inputs in the L2 cache
            self.start.record()
            self.replay()
            self.end.record()
        self.end.synchronize()
        self.replays += 1
        return float(self.start.elapsed_time(self.end)) * 1000 / self.calls

    def _condition(self) -> None:
        """Bring the GPU to a state that does not depend on earlier work: an L2 flush, then one untimed replay. Caches,
        pending write-backs and clocks are then those of this work itself."""
        flush_buffer().zero_()
        self.run()
        self.replays += 1

    def run(self) -> None:
        """One untimed replay on the original inputs."""
        self._restore()
        self.replay()

    def _restore(self) -> None:
        if self.restore is not None:
            self.restore()

    def clocks(self) -> Clocks | None:
        """NVML's readings while the GPU does this work, untimed; None without NVML."""
        gpu = nvml.device()
        with torch.cuda.stream(self.stream):
            for _ in range(OBSERVED_REPLAYS):
                self._condition()
        found = nvml.observe(gpu)
        self.stream.synchronize()
        return found

    def again(self) -> Timed:
        """A new capture that calls the same pieces in the opposite order, so that the copies change places. This object
        must not be sampled any more: its graph, whose intermediates may take several GB, is released first."""
        self.graph = None
        found = Timed(self.pieces[::-1], self.either, restore=self.restore)
        found.replays += self.replays
        return found

    @cached_property
    def rotation(self) -> Timed:
        """A capture of the same pieces in which a sample calls each piece once."""
        return Timed(self.pieces, rotations=1, restore=self.restore)

    def warm_us(self) -> float | None:
        """Device time of one call in µs with a warm cache: one input set is used for all calls. None if inputs have to
        be restored, because then a call depends on the call before it."""
        if self.restore is not None:
            return None
        warm = Timed(self.pieces[:1])
        warm.warm_up()
        return statistics.median(warm.sample_us() for _ in range(5))

    def prepare(self, sets: int) -> Captured:
        """Warm up, and say what was captured. sets: number of input sets."""
        steady_us = self.warm_up()
        return Captured(method=self.method, sets=sets, restored=self.restore is not None, steady_us=steady_us)

    def warm_up(self) -> list[float]:
        """Sample until the work is steady; returns the last four samples, in µs."""
        last = [self.sample_us() for _ in range(4)]
        for _ in range(WARM_UP_SAMPLES):
            if max(last) <= (1 + STEADY) * min(last):
                break
            last = [*last[1:], self.sample_us()]
        return last


class Restore:
    """Untimed device work before each timed call: copies the original values of inputs into every rotating set. sets:
    for each set, the tensors that a call changes. pristine: their original values, which are cloned."""

    def __init__(self, pristine: list[Tensor], sets: list[list[Tensor]]) -> None:
        kept = [tensor.clone() for tensor in pristine]
        self.targets = [tensor for one in sets for tensor in one]
        self.sources = kept * len(sets)

    def __call__(self) -> None:
        torch._foreach_copy_(self.targets, self.sources)


@cache
def shared_stream() -> torch.cuda.Stream:
    """The CUDA stream of all samples of this process: two streams may have different queues on the GPU."""
    return torch.cuda.Stream()


@cache
def flush_buffer() -> torch.Tensor:
    l2_bytes = torch.cuda.get_device_properties(torch.cuda.current_device()).L2_cache_size
    torch.cuda.empty_cache()  # otherwise it may lie in the memory of a freed output, and keep all of that from others
    return torch.empty(FLUSH_FACTOR * l2_bytes, dtype=torch.uint8, device="cuda")


def rotations_for(call_us: float, pieces: int) -> int:
    """How often a replay of about REPLAY_US calls each piece. call_us: of one call. pieces: their number."""
    return max(1, min(round(REPLAY_US / max(call_us * pieces, 0.1)), MAX_CALLS // pieces))


def call_us(piece: Piece, restore: Piece | None = None, repeats: int = 20) -> tuple[float, float]:
    """Median host time of one synchronised call, and of issuing one, in µs. restore: see `Timed`."""
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


def sets_needed(bytes_per_set: int, l2_bytes: int, free_bytes: int, least_bytes: int = 0) -> int:
    """Number of rotating input sets that makes every call cold, within half of the free memory. least_bytes: that every
    right kernel moves in a call. Where they are many times the L2 cache, one set is enough: a call finds no more of it
    in the cache than that holds. The size of the sets does not show that, as a call may touch little of them."""
    if least_bytes >= ONE_SET_FACTOR * l2_bytes:
        return 1
    wanted = -(-COLD_FACTOR * l2_bytes // max(bytes_per_set, 1)) + 1
    affordable = max(1, free_bytes // 2 // max(bytes_per_set, 1))
    return int(max(1, min(wanted, affordable, MAX_CALLS // 4)))


def sets_for_a_sample(call_us: float, bytes_per_set: int, free_bytes: int) -> int:
    """Number of input sets such that one call on each takes about REPLAY_US, within half of the free memory."""
    affordable = max(1, free_bytes // 2 // max(bytes_per_set, 1))
    return int(max(1, min(-(-REPLAY_US // max(call_us, 0.1)), affordable, MAX_CALLS // 4)))
