"""The interpreter's bench: replays launch plans of one candidate on Triton's CPU interpreter, for values only.

The process is in a sandbox, because the interpreter executes a kernel's text as Python. It shares only the arena with
the judge, has no expected outputs, and is killed when its candidate has been judged.
"""

from __future__ import annotations

import mmap
import warnings
from pathlib import Path

import torch

from kernelwright import codec
from kernelwright.model import Status
from kernelwright.worker import confine
from kernelwright.worker.bench.messages import AddText, Order, Run, ToInterpreter
from kernelwright.worker.compile.kernels import interpreted
from kernelwright.worker.interpret import interpreter
from kernelwright.worker.plan.layout import Layout
from kernelwright.worker.plan.replay import Launcher, Replay
from kernelwright.worker.processes.channel import Channel, Done, Failure, remember
from kernelwright.worker.processes.commands import Options


class InterpreterBench:
    """descriptor: of the arena's memory, which the supervisor creates and grows. folder: a private, empty one."""

    def __init__(self, descriptor: int, folder: Path) -> None:
        self.descriptor, self.folder = descriptor, folder
        self.arena = torch.empty(0, dtype=torch.uint8)
        self.launcher: Launcher | None = None
        self.plans: dict[str, AddText] = {}

    def run(
        self, sent: AddText, order: Order, filled: tuple[str, ...] = (), is_watched: bool = False
    ) -> list[str] | None:  # fmt: skip
        """One call of the plan on the arena. Returns what a watched one showed: the line of the first access that
        shares memory with another program ("" if there is none), and those of loads with lanes that are not defined.

        Programs run in the usual order where one waits for another one.
        """
        if self.launcher is None:
            self.launcher = interpreted(interpreter.load(sent.kernels, self.folder))
        layout = Layout(sent.plan.buffers)
        if self.arena.numel() < layout.nbytes:
            self.arena = torch.frombuffer(mmap.mmap(self.descriptor, layout.nbytes), dtype=torch.uint8)
        replay, memory = Replay(sent.plan, self.launcher, self.arena, layout), self.arena[: layout.nbytes]
        before = None if order == "forward" else memory.clone()
        try:
            with interpreter.running(self.arena, sent.branches, order, is_watched, filled) as noted:
                replay.run()
        except interpreter.Unsupported:
            if before is None:
                raise
            memory.copy_(before)
            return self.run(sent, "forward", filled, is_watched)
        return [noted.sharing.found, *noted.undefined] if is_watched else None


def main(channel: Channel, options: Options) -> None:
    scratch, descriptor = Path(options.scratch), options.descriptors[0]
    warnings.filterwarnings("ignore", category=UserWarning)
    torch.set_num_threads(1)  # arrays are small, and the sandbox forbids threads
    confine.enter(scratch, (channel.socket.fileno(), descriptor), confine.ALLOWANCES["interpreter"])
    interpreter.install()
    bench = InterpreterBench(descriptor, scratch)
    while True:
        message: ToInterpreter = codec.record(channel.receive(None), ToInterpreter)  # type: ignore[arg-type]
        with torch.no_grad():
            channel.send(answer_to(bench, message))


def answer_to(bench: InterpreterBench, message: ToInterpreter) -> Done | Failure:
    """Handle a message. An error of the interpreted kernels becomes a Failure."""
    try:
        match message:
            case AddText(name=name):
                remember(bench.plans, name, message)
            case Run(plan=name, order=order, filled=filled, is_watched=is_watched):
                return Done(value=bench.run(bench.plans[name], order, filled, is_watched))
    except interpreter.Outside as error:
        return Failure(status=Status.RUNTIME_ERROR, reason=str(error))
    except interpreter.Diverged as error:
        reason = f"not verified here: {error}"[:800]
        return Failure(status=Status.NOT_VERIFIED, reason=reason, whole=True)
    except interpreter.Unsupported as error:
        reason = f"not verified here: Triton's CPU interpreter cannot run this ({error})"[:800]
        return Failure(status=Status.NOT_VERIFIED, reason=reason)
    except Exception as error:  # noqa: BLE001 - kernels fail in every way; each is a result
        return Failure(status=Status.RUNTIME_ERROR, reason=f"{type(error).__name__}: {error}"[:800])
    return Done()
