"""The bench: replays launch plans on an arena and owns the clock. Device code only, no expected outputs.

A CUDA error that sticks to the context ends the process; the supervisor starts another. On a machine without a GPU
the same replay runs on Triton's interpreter, for values only.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import torch
from triton.compiler.errors import CompilationError
from triton.runtime.errors import OutOfResources

from kernelwright import codec, stats
from kernelwright.model import Status
from kernelwright.worker import clock
from kernelwright.worker.arena import create, release
from kernelwright.worker.channel import Channel
from kernelwright.worker.layout import Layout
from kernelwright.worker.plan import Plan
from kernelwright.worker.replay import Replay, allow_device_descriptors, load_kernels

STICKY = ("CUDA error", "Triton Error [CUDA]")
"""After these a CUDA context may answer nothing else (CUDA Driver API, CUresult): the process is not used again."""


SURELY = 0.01
"""Chance that a race ever ends against the better one."""

LOST = 0.01
"""A candidate that is surely slower is let go early only if it is slower by more than this fraction."""

PRECISE = 0.005
"""A race ends when the 95 % interval of the ratio is narrower than this fraction of it."""


@dataclass(frozen=True)
class Prepared:
    """A plan on rotating input sets. left: the first set's memory, as its last run left it; once: one call on it."""

    timed: clock.Timed
    left: torch.Tensor
    once: Replay


class Bench:
    def __init__(self, device: str) -> None:
        self.device = device
        self.arena: torch.Tensor | None = None
        self.handle: dict[str, Any] = {}
        self.prepared: dict[str, Prepared] = {}

    def reserve(self, nbytes: int) -> dict[str, Any]:
        """An arena of at least nbytes."""
        if self.arena is None or self.arena.numel() < nbytes:
            self.arena = None
            if self.device != "cpu":
                torch.cuda.empty_cache()
            self.arena, self.handle = create(nbytes, self.device)
        return self.handle

    def run(self, kernels: str, plan: Plan) -> None:
        """One call on the arena."""
        assert self.arena is not None
        replay = Replay(plan, load_kernels(kernels), self.arena, Layout(plan.buffers))
        replay.run()
        if self.device != "cpu":
            torch.cuda.synchronize()

    def prepare(self, key: str, kernels: str, plan: Plan) -> dict[str, Any]:
        """Make a plan ready to be sampled on rotating copies of the arena, of which it needs no more afterwards."""
        assert self.arena is not None
        module, layout = load_kernels(kernels), Layout(plan.buffers)
        touched = sum(buffer.nbytes for buffer in plan.buffers)
        self._make_room(2 * layout.nbytes)
        free, _ = torch.cuda.mem_get_info()
        count = clock.sets_needed(touched, torch.cuda.get_device_properties(0).L2_cache_size, free)
        sets = [self.arena[: layout.nbytes].clone() for _ in range(count)]
        replays = [Replay(plan, module, arena, layout) for arena in sets]
        self.prepared[key] = Prepared(clock.Timed([replay.run for replay in replays]), sets[0], replays[0])
        self.prepared[key].timed.warm_up()
        timed = self.prepared[key].timed
        return {"method": timed.method, "sets": count, "calls": timed.calls, "known": list(self.prepared)}

    def _make_room(self, nbytes: int) -> None:
        """Give up what was prepared longest ago until nbytes are free."""
        while self.prepared and torch.cuda.mem_get_info()[0] < nbytes:
            self.forget(next(iter(self.prepared)))

    def samples(self, key: str, count: int) -> list[float]:
        return [self.prepared[key].timed.sample_us() for _ in range(count)]

    def race(self, key: str, against: str, most: int) -> dict[str, Any]:
        """Sample two prepared plans in turn, ABBA, until their ratio is known or `key` is surely the slower one."""
        ours, theirs = self.prepared[key].timed, self.prepared[against].timed
        ours_us: list[float] = []
        theirs_us: list[float] = []
        stopped = ""
        while not stopped:
            first, other = ours.sample_us(), theirs.sample_us()
            theirs_us.append((other + theirs.sample_us()) / 2)
            ours_us.append((first + ours.sample_us()) / 2)
            stopped = race_over(ours_us, theirs_us, most)
        return {"ours_us": ours_us, "theirs_us": theirs_us, "stopped": stopped}

    def recall(self, key: str) -> None:
        """Put what the timed runs left behind where the judge can read it."""
        assert self.arena is not None
        left = self.prepared[key].left
        self.arena[: left.numel()].copy_(left)
        torch.cuda.synchronize()

    def rename(self, key: str, name: str) -> None:
        self.prepared[name] = self.prepared.pop(key)

    def forget(self, key: str) -> None:
        self.prepared.pop(key, None)
        torch.cuda.empty_cache()


def race_over(ours_us: list[float], theirs_us: list[float], most: int) -> str:
    """Why a race may end, "" while it may not."""
    pairs = len(ours_us)
    slower = sum(ours > theirs for ours, theirs in zip(ours_us, theirs_us, strict=True))
    if slower > pairs / 2 and stats.sign_evidence(pairs - slower, pairs) >= 1 / SURELY:
        ratio = stats.median(ours_us) / stats.median(theirs_us)
        if ratio > 1 + LOST:
            return f"slower than the best so far (sign test, always valid at {SURELY})"
    if pairs >= stats.MIN_PAIRS and pairs % 3 == 0:
        _, (low, high) = stats.paired_log_ratio_ci(theirs_us, ours_us)
        if high - low <= PRECISE * high:
            return "interval narrow enough"
    return "most samples" if pairs >= most else ""


def main(channel: Channel, options: dict[str, Any]) -> None:
    warnings.filterwarnings("ignore", category=UserWarning)
    bench = Bench(options["device"])
    if bench.device == "cpu":
        torch.set_num_threads(1)  # the interpreter works on small arrays; threads would only get in its way
    else:
        allow_device_descriptors()
    while True:
        message = channel.receive(None)
        with torch.no_grad():
            answer = guarded(bench, message)
        channel.send(answer)
        if answer.get("sticky"):
            return


def guarded(bench: Bench, message: dict[str, Any]) -> dict[str, Any]:
    """{"ok": …}, or {"status", "reason", "sticky"} for whatever the replayed device code brought about."""
    try:
        return {"ok": respond(bench, message)}
    except OutOfResources as error:
        return {"status": Status.COMPILE_ERROR.value, "reason": str(error), "sticky": False}
    except torch.OutOfMemoryError as error:
        torch.cuda.empty_cache()
        return {"status": Status.RUNTIME_ERROR.value, "reason": f"out of memory: {error}"[:400], "sticky": False}
    except (NotImplementedError, CompilationError) as error:
        return {"status": Status.COMPILE_ERROR.value, "reason": f"{type(error).__name__}: {error}"[:800],
                "sticky": False, "unsupported": isinstance(error, NotImplementedError)}  # fmt: skip
    except Exception as error:  # noqa: BLE001 - kernels fail in every way; each is a result, and the bench stays
        text = f"{type(error).__name__}: {error}".split("\nCUDA kernel errors")[0][:800]
        cause = error.__cause__
        if cause is not None:
            text += f" ({type(cause).__name__}: {cause})"[:400]
        sticky = any(phrase in text for phrase in STICKY)
        return {"status": Status.RUNTIME_ERROR.value, "reason": text, "sticky": sticky}


def respond(bench: Bench, message: dict[str, Any]) -> Any:
    verb = message["verb"]
    if verb == "reserve":
        return bench.reserve(message["nbytes"])
    if verb == "release":
        release(bench.handle)
        return None
    if verb == "run":
        return bench.run(message["kernels"], codec.record(message["plan"], Plan))
    if verb == "prepare":
        return bench.prepare(message["key"], message["kernels"], codec.record(message["plan"], Plan))
    if verb == "sample":
        return bench.samples(message["key"], message["count"])
    if verb == "call":
        return clock.call_us(bench.prepared[message["key"]].once.run)
    if verb == "race":
        return bench.race(message["key"], message["against"], message["most"])
    if verb == "warm":
        return bench.prepared[message["key"]].timed.warm_us()
    if verb == "recall":
        return bench.recall(message["key"])
    if verb == "rename":
        return bench.rename(message["key"], message["name"])
    if verb == "clocks":
        return codec.plain(clock.observe())
    if verb == "forget":
        return bench.forget(message["key"])
    raise ValueError(f"the bench has no verb {verb!r}")
