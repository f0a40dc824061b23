"""The interpreter's bench: replays launch plans of one candidate on Triton's CPU interpreter, for values only.

Confined, because the interpreter executes a kernel's text as Python. It shares one piece of memory with the judge (see
`arena`), holds no expected output, and is killed when its candidate has been judged.
"""

from __future__ import annotations

import mmap
import warnings
from pathlib import Path
from typing import Any

import torch

from kernelwright import codec
from kernelwright.worker import confine
from kernelwright.worker.bench import guarded
from kernelwright.worker.channel import Channel
from kernelwright.worker.kernels import interpreted, load_kernels
from kernelwright.worker.layout import Layout
from kernelwright.worker.plan import Plan
from kernelwright.worker.replay import Launcher, Replay


class InterpreterBench:
    """descriptor: of the arena's memory, which the supervisor makes and lets grow. folder: an empty one of its own."""

    def __init__(self, descriptor: int, folder: Path) -> None:
        self.descriptor, self.folder = descriptor, folder
        self.arena = torch.empty(0, dtype=torch.uint8)
        self.launcher: Launcher | None = None

    def run(self, message: dict[str, Any]) -> None:
        """One call of the plan on the arena's first `nbytes`."""
        if self.launcher is None:
            self.launcher = interpreted(load_kernels(message["kernels"], self.folder))
        if self.arena.numel() < message["nbytes"]:
            self.arena = torch.frombuffer(mmap.mmap(self.descriptor, message["nbytes"]), dtype=torch.uint8)
        plan = codec.record(message["plan"], Plan)
        Replay(plan, self.launcher, self.arena, Layout(plan.buffers)).run()


def main(channel: Channel, options: dict[str, Any]) -> None:
    scratch, descriptor = Path(options["scratch"]), int(options["descriptors"][0])
    warnings.filterwarnings("ignore", category=UserWarning)
    torch.set_num_threads(1)  # small arrays: threads would only get in its way, and none can be started
    confine.enter(scratch, (channel.socket.fileno(), descriptor), confine.ALLOWANCES["interpreter"])
    bench = InterpreterBench(descriptor, scratch)
    while True:
        message = channel.receive(None)
        with torch.no_grad():
            channel.send(guarded(bench.run, message))
