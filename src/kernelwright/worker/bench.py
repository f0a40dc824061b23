"""The bench: replays launch plans on an arena and owns the clock. Device code only, no expected outputs.

A CUDA error that sticks to the context ends the process; the supervisor starts another. On a machine without a GPU
the same replay runs on Triton's interpreter, for values only.
"""

from __future__ import annotations

import warnings
from typing import Any

import torch
from triton.compiler.errors import CompilationError
from triton.runtime.errors import OutOfResources

from kernelwright import codec
from kernelwright.model import Status
from kernelwright.worker import clock
from kernelwright.worker.arena import create, release
from kernelwright.worker.channel import Channel
from kernelwright.worker.layout import Layout
from kernelwright.worker.plan import Plan
from kernelwright.worker.replay import Replay, allow_device_descriptors, load_kernels

STICKY = ("CUDA error", "Triton Error [CUDA]")
"""After these a CUDA context may answer nothing else (CUDA Driver API, CUresult): the process is not used again."""


class Bench:
    def __init__(self, device: str) -> None:
        self.device = device
        self.arena: torch.Tensor | None = None
        self.handle: dict[str, Any] = {}
        self.replays: dict[str, Replay] = {}
        self.timed: dict[str, clock.Timed] = {}

    def reserve(self, nbytes: int) -> dict[str, Any]:
        """An arena of at least nbytes; what was prepared on a smaller one is gone."""
        if self.arena is None or self.arena.numel() < nbytes:
            self.replays.clear()
            self.timed.clear()
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
        """Make a plan ready to be sampled on rotating input sets, the arena's inputs copied to each."""
        assert self.arena is not None
        module, layout = load_kernels(kernels), Layout(plan.buffers)
        free, _ = torch.cuda.mem_get_info()
        touched = sum(buffer.nbytes for buffer in plan.buffers)
        count = clock.sets_needed(touched, torch.cuda.get_device_properties(0).L2_cache_size, free)
        arenas = [self.arena[: layout.nbytes].clone() for _ in range(count - 1)]
        replays = [Replay(plan, module, arena, layout) for arena in (self.arena, *arenas)]
        self.timed[key] = clock.Timed([replay.run for replay in replays])
        self.replays[key] = replays[0]
        self.timed[key].warm_up()
        return {"method": self.timed[key].method, "sets": count, "calls": self.timed[key].calls}

    def samples(self, key: str, count: int) -> list[float]:
        return [self.timed[key].sample_us() for _ in range(count)]

    def forget(self, key: str) -> None:
        self.timed.pop(key, None)
        self.replays.pop(key, None)
        torch.cuda.empty_cache()


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
        return clock.call_us(bench.replays[message["key"]].run)
    if verb == "clocks":
        return codec.plain(clock.observe())
    if verb == "forget":
        return bench.forget(message["key"])
    raise ValueError(f"the bench has no verb {verb!r}")
