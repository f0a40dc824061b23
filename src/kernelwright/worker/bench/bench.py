"""The bench of a GPU: the process that replays launch plans on an arena and times them. It has no expected outputs.

No text of a candidate reaches this process; it loads machine code from sandboxed compilers. After a sticky CUDA error
the process ends, and the supervisor starts another.
"""

from __future__ import annotations

import dataclasses
import random
import secrets
import statistics
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import torch
from triton.runtime.errors import OutOfResources

from kernelwright import codec
from kernelwright.model import Clocks, Status
from kernelwright.worker.bench import messages
from kernelwright.worker.bench.launching import allow_device_descriptors, compiled
from kernelwright.worker.bench.race import Race, race
from kernelwright.worker.clock import clock, nvml
from kernelwright.worker.clock import messages as timing
from kernelwright.worker.clock.captured import Captured
from kernelwright.worker.clock.clock import Restore
from kernelwright.worker.plan.arena import create
from kernelwright.worker.plan.layout import Layout
from kernelwright.worker.plan.library import allow_tf32, exact_products
from kernelwright.worker.plan.plan import Plan
from kernelwright.worker.plan.replay import Launcher, Replay
from kernelwright.worker.processes.channel import Channel, Done, Failure, remember
from kernelwright.worker.processes.commands import Options
from kernelwright.worker.processes.memory import ArenaHandle

STICKY = ("CUDA error", "Triton Error [CUDA]")
"""Texts of errors after which a CUDA context may be unusable (CUDA Driver API, CUresult), so the process ends."""

FORGETTING_SAMPLES = 5
"""Samples on used memory, and as many on new memory: one disturbed sample does not move their median."""

PART_SAMPLES = 5
"""Samples per part: a few are enough, because shares are printed in whole percent."""


@dataclass(frozen=True)
class Prepared:
    """A plan that is captured on the rotating copies of a case. once: a replay on the first copy. replays: one for each
    copy."""

    timed: clock.Timed
    case: str
    once: Replay
    replays: tuple[Replay, ...] = ()


class Bench:
    def __init__(self, code: Path) -> None:
        """code: the folder in which the supervisor stores machine code."""
        self.code = code
        self.device = "cuda"
        self.arena: torch.Tensor | None = None
        self.handle = ArenaHandle(nbytes=0)
        self.plans: dict[str, messages.AddPlan] = {}
        self.shared: dict[str, list[torch.Tensor]] = {}
        self.prepared: dict[str, Prepared] = {}

    def reserve(self, nbytes: int) -> ArenaHandle:
        """Allocate an arena of at least nbytes, unless the present one is that large; returns its handle."""
        if self.arena is None or self.arena.numel() < nbytes:
            self.arena = None
            torch.cuda.empty_cache()
            self.arena, self.handle = create(nbytes, self.device)
        return self.handle

    def replayed_by(self, name: str) -> tuple[Plan, Launcher]:
        """A plan that was sent, and a launcher for its machine code. Sets the precision of library steps to the
        plan's."""
        sent = self.plans[name]
        allow_tf32(sent.precision == "tf32")
        return sent.plan, compiled(sent.plan, sent.code, self.code)

    def run(self, name: str) -> None:
        """One call of a plan on the arena."""
        assert self.arena is not None
        plan, launcher = self.replayed_by(name)
        Replay(plan, launcher, self.arena, Layout(plan.buffers)).run()
        torch.cuda.synchronize()

    def prepare(
        self, key: str, case: str, name: str, room: int = 0, restored: tuple[str, ...] = (), least_bytes: int = 0
    ) -> Captured:
        """Capture a plan on rotating copies of the arena, and warm it up.

        All plans of a case share the copies, so that two plans never differ in the addresses of their buffers: on
        separate copies, one kernel differed from itself by up to 2 % on an H200. Inputs come first in every plan.
        room: bytes of the largest plan that will be prepared; a plan that needs more drops all prepared plans of the
        case. restored: inputs that are restored before each call, because calls change and read them. least_bytes: see
        `clock.sets_needed`.
        """
        plan, launcher = self.replayed_by(name)
        layout = Layout(plan.buffers)
        copies = self._copies(case, layout.nbytes, sum(buffer.nbytes for buffer in plan.buffers), room, least_bytes)
        is_first = all(one.case != case for one in self.prepared.values())

        def timed_on(copies: list[torch.Tensor]) -> tuple[clock.Timed, tuple[Replay, ...]]:
            replays = [Replay(plan, launcher, copy, layout) for copy in copies]
            restore = self._restore(plan, layout, copies, restored)
            return clock.Timed([replay.run for replay in replays], restore=restore), tuple(replays)

        timed, replays = timed_on(copies)
        if restored and is_first and self._add_copies(copies, layout.nbytes, timed.sample_us()):
            timed, replays = timed_on(copies)
        found = timed.prepare(len(copies))
        self.prepared[key] = Prepared(timed, case, replays[0], replays)
        return found

    def _restore(
        self, plan: Plan, layout: Layout, copies: list[torch.Tensor], restored: tuple[str, ...]
    ) -> Restore | None:
        """Device work that restores these inputs in every copy; None if there is nothing to restore."""
        buffers = [buffer for buffer in plan.buffers if buffer.origin == "input" and buffer.name in restored]

        def parts(memory: torch.Tensor) -> list[torch.Tensor]:
            return [memory[layout.offsets[one.id] : layout.offsets[one.id] + one.nbytes] for one in buffers]

        assert self.arena is not None
        return Restore(parts(self.arena), [parts(copy) for copy in copies]) if buffers else None

    def _add_copies(self, copies: list[torch.Tensor], nbytes: int, call_us: float) -> bool:
        """Add copies until one call on each takes about REPLAY_US; returns whether any were added. call_us: duration of
        one call."""
        assert self.arena is not None
        free, _ = torch.cuda.mem_get_info()
        more = clock.sets_for_a_sample(call_us, copies[0].numel(), free) - len(copies)
        for _ in range(more):
            copies.append(torch.empty_like(copies[0]))
            copies[-1][:nbytes].copy_(self.arena[:nbytes])
        return more > 0

    def _copies(
        self, case: str, nbytes: int, touched_bytes: int, room: int, least_bytes: int = 0
    ) -> list[torch.Tensor]:
        """Rotating copies of the arena's first nbytes, each of at least `room` bytes, together several times the L2
        cache. touched_bytes: total size of the plan's buffers. least_bytes: see `clock.sets_needed`."""
        assert self.arena is not None
        copies = self.shared.get(case, [])
        if not copies or copies[0].numel() < max(nbytes, room):
            self.prepared = {key: one for key, one in self.prepared.items() if one.case != case}
            copies.clear()
            torch.cuda.empty_cache()
            free, _ = torch.cuda.mem_get_info()
            l2_bytes = torch.cuda.get_device_properties(0).L2_cache_size
            count = clock.sets_needed(touched_bytes, l2_bytes, free, least_bytes)
            copies = [torch.empty(max(nbytes, room), dtype=torch.uint8, device=self.device) for _ in range(count)]
            self.shared[case] = copies
        for copy in copies:
            copy[:nbytes].copy_(self.arena[:nbytes])
        return copies

    def samples(self, key: str, count: int) -> list[float]:
        return [self.prepared[key].timed.sample_us() for _ in range(count)]

    def race(self, key: str, against: str, most: int) -> Race:
        """Race two prepared plans, see `race.race`."""

        def sampler(name: str) -> Callable[[], float]:
            return lambda: self.prepared[name].timed.sample_us()

        def exchange() -> None:  # before, the incumbent was captured first
            self.capture_again(key)
            self.capture_again(against)

        return race(sampler(key), sampler(against), exchange, random.Random(secrets.randbits(64)), most)

    def capture_again(self, key: str) -> None:
        """Capture a prepared plan again, with the copies in the opposite order."""
        timed = self.prepared[key].timed.again()
        timed.warm_up()
        self.prepared[key] = dataclasses.replace(self.prepared[key], timed=timed)

    def wear(self, key: str) -> None:
        """Replay the timed CUDA graph half as often as for its samples so far, and once more.

        A kernel that counts its calls in its memory, to work in the first calls only, has stopped working by then, or
        it did work in most of its samples. One more replay is added at random: while sampling, every other replay is
        untimed, and a kernel may work in those only."""
        timed = self.prepared[key].timed
        for _ in range(timed.replays // 2 + 1 + secrets.randbelow(2)):
            timed.run()
        torch.cuda.synchronize()

    def recall(self, key: str, nbytes: int, how: Literal["timed", "worn", "once"]) -> None:
        """Run the timed CUDA graph on the contents of the arena and copy the result back, where the judge reads it.

        how: "timed" for one replay, as in a sample; "worn" for many replays; "once" to call each copy a single time,
        so that a kernel that skips some calls is not right because of the call before.
        """
        assert self.arena is not None
        timed = self.prepared[key].timed
        run = {"timed": timed.replay, "worn": lambda: self.wear(key), "once": timed.rotation.replay}[how]
        # A random copy, so that a kernel which can tell the copies apart does not know which one is checked.
        copy = secrets.choice(self.shared[self.prepared[key].case])[:nbytes]
        copy.copy_(self.arena[:nbytes])
        torch.cuda.synchronize()
        run()
        torch.cuda.synchronize()
        self.arena[:nbytes].copy_(copy)
        torch.cuda.synchronize()

    def forgetting(self, key: str, nbytes: int, wear: bool) -> tuple[list[float], list[float]]:
        """Device time of one call in µs, on memory that many calls have used, and on memory that is copied again
        from the arena. A sample follows an L2 flush and calls every copy once. wear: make the
        many calls first."""
        assert self.arena is not None
        copies = [copy[:nbytes] for copy in self.shared[self.prepared[key].case]]
        rotation = self.prepared[key].timed.rotation
        flush = clock.flush_buffer().zero_
        if wear:
            self.wear(key)
        as_left_us = [rotation.sample_us(flush) for _ in range(FORGETTING_SAMPLES)]
        anew_us = []
        for _ in range(FORGETTING_SAMPLES):
            for copy in copies:
                copy.copy_(self.arena[:nbytes])
            torch.cuda.synchronize()
            anew_us.append(rotation.sample_us(flush))
        return as_left_us, anew_us

    def parts_us(self, key: str) -> dict[str, float]:
        """Device time in µs of the steps of each library operator, and under "" of all other steps. Each part is
        captured in a separate CUDA graph and runs on cold copies with the data that whole calls left."""
        replays, found = self.prepared[key].replays, {}
        for name in replays[0].parts:
            timed = clock.Timed([partial(replay.run_part, name) for replay in replays])
            timed.warm_up()
            found[name] = statistics.median(timed.sample_us() for _ in range(PART_SAMPLES))
        return found

    def clocks(self, key: str | None) -> Clocks | None:
        """NVML's clocks while a prepared plan runs. key: None to read them without running a plan."""
        return nvml.observe(nvml.device()) if key is None else self.prepared[key].timed.clocks()

    def rename(self, key: str, name: str) -> None:
        self.prepared[name] = self.prepared.pop(key)

    def keep(self, case: str, key: str, nbytes: int) -> bool:
        """Forget every prepared plan of a case except `key`; returns whether that one exists, on copies of at least
        nbytes."""
        self.prepared = {name: one for name, one in self.prepared.items() if one.case != case or name == key}
        return key in self.prepared and self.shared[case][0].numel() >= nbytes

    def forget(self, key: str) -> None:
        self.prepared.pop(key, None)
        torch.cuda.empty_cache()


def main(channel: Channel, options: Options) -> None:
    warnings.filterwarnings("ignore", category=UserWarning)
    bench = Bench(Path(options.code))
    allow_device_descriptors()
    exact_products()
    while True:
        message: messages.ToBench = codec.record(channel.receive(None), messages.ToBench)  # type: ignore[arg-type]
        with torch.no_grad():
            answer = guarded(bench, message)
        channel.send(answer)
        if isinstance(answer, Failure) and answer.ends:
            return


def guarded(bench: Bench, message: messages.ToBench) -> Done | Failure:
    """Carry out a request; an exception becomes a Failure of the candidate."""
    try:
        return Done(value=respond(bench, message))
    except OutOfResources as error:
        return Failure(status=Status.COMPILE_ERROR, reason=str(error))
    except torch.OutOfMemoryError as error:
        torch.cuda.empty_cache()
        return Failure(status=Status.RUNTIME_ERROR, reason=f"out of memory: {error}"[:400])
    except Exception as error:  # noqa: BLE001 - kernels fail in every way; each is a result, and the bench stays
        text = f"{type(error).__name__}: {error}".split("\nCUDA kernel errors")[0][:800]
        ends = any(phrase in text for phrase in STICKY)
        return Failure(status=Status.RUNTIME_ERROR, reason=text, ends=ends)


def respond(bench: Bench, message: messages.ToBench) -> Any:
    match message:
        case messages.Reserve(nbytes=nbytes):
            return bench.reserve(nbytes)
        case messages.AddPlan(name=name):
            return remember(bench.plans, name, message)
        case messages.Run(plan=name):
            return bench.run(name)
        case messages.Prepare(key=key, case=case, plan=name, room=room, restored=restored, least_bytes=least_bytes):
            return bench.prepare(key, case, name, room, restored, least_bytes)
        case timing.Sample(key=key, count=count):
            return bench.samples(key, count)
        case timing.Call(key=key):
            return clock.call_us(bench.prepared[key].once.run, bench.prepared[key].timed.restore)
        case timing.CaptureAgain(key=key):
            return bench.capture_again(key)
        case messages.Race(key=key, against=against, most=most):
            return bench.race(key, against, most)
        case timing.Warm(key=key):
            return bench.prepared[key].timed.warm_us()
        case messages.Recall(key=key, nbytes=nbytes, how=how):
            return bench.recall(key, nbytes, how)
        case messages.Forgetting(key=key, nbytes=nbytes, wear=wear):
            return bench.forgetting(key, nbytes, wear)
        case messages.Parts(key=key):
            return bench.parts_us(key)
        case messages.Rename(key=key, name=name):
            return bench.rename(key, name)
        case messages.Keep(case=case, key=key, nbytes=nbytes):
            return bench.keep(case, key, nbytes)
        case messages.Clocks(key=key):
            return bench.clocks(key)
        case messages.Forget(key=key):
            return bench.forget(key)
