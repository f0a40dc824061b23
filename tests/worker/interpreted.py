"""Kernels compiled by a real compiler process and then run by a real interpreter process, on sixteen numbers."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kernelwright import codec
from kernelwright.worker.bench.messages import AddText, Order, Run
from kernelwright.worker.compile.messages import Compile, Compiled
from kernelwright.worker.plan.arena import attach, window
from kernelwright.worker.plan.layout import Layout
from kernelwright.worker.plan.plan import Argument, Buffer, Launch, Plan, Tensor, Value, View
from kernelwright.worker.processes.answers import of_replay
from kernelwright.worker.processes.channel import Failure
from kernelwright.worker.processes.children import ForkServer
from kernelwright.worker.processes.commands import Options
from kernelwright.worker.processes.memory import SharedMemory

HEAD = "import triton\nimport triton.language as tl\n"
SIZE = 16
X, Y = (View(buffer=number, dtype="float32", shape=(SIZE,), stride=(1,)) for number in (0, 1))
I = View(buffer=2, dtype="int64", shape=(SIZE,), stride=(1,))  # noqa: E741 - a matrix of integers beside x and y


BUFFERS = tuple(Buffer(id=number, nbytes=8 * SIZE, origin="scratch") for number in range(3))
LAYOUT = Layout(BUFFERS)
BEHIND_X = LAYOUT.nbytes - LAYOUT.offsets[0]
"""Bytes of the arena from the first of x on."""


@dataclass(frozen=True)
class Ran:
    """What became of it: "passed" when it ran. y: what it left there; x held 0 to 15. said: the line of an access that
    shares memory with another program. undefined: the lines of loads whose masked lanes have no value."""

    status: str
    reason: str
    y: list[float]
    i: list[int]
    said: str = ""
    undefined: tuple[str, ...] = ()


class Interpreted:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "compilers").mkdir()
        (folder / "interpreters").mkdir()
        self.compilers = ForkServer(folder / "compilers")
        self.interpreters = ForkServer(folder / "interpreters", interpret=True)

    def close(self) -> None:
        self.compilers.close()
        self.interpreters.close()

    def compiled(self, source: str, launch: Launch) -> object:
        child = self.compilers.spawn("compiler", Options(target="sm_90"), log=True)
        try:
            return child.ask(Compile(kernels=source, launch=launch, branches=True, whole=False), 60)
        finally:
            child.kill()

    def run(
        self,
        *body: str,
        head: str = HEAD,
        more: str = "",
        grid: int = 1,
        n: Argument | None = None,
        seconds: float = 60,
        compiled_as: str | None = None,
        order: Order = "forward",
        filled: tuple[str, ...] = (),
        **values: Argument,
    ) -> Ran:
        """`k(x, y, i, n, BLOCK)` with this body; n is 16 unless said. more: other functions. compiled_as: the body
        that the compiler is given instead. values: further arguments."""
        arguments: dict[str, Argument] = {
            "x": Tensor(view=X), "y": Tensor(view=Y), "i": Tensor(view=I), "n": n or Value(kind="int", text="16"),
            "BLOCK": Value(kind="int", text="16"), **values,
        }  # fmt: skip
        names = ", ".join(["x", "y", "i", "n", "BLOCK: tl.constexpr", *values])
        top = f"{head}\n\n{more}\n\n@triton.jit\ndef k({names}):\n"
        source, other = (
            top + textwrap.indent("\n".join(lines), "    ") + "\n"
            for lines in (body, compiled_as.split("\n") if compiled_as else body)
        )
        launch = Launch(kernel="k", grid=(grid,), arguments=arguments, options={})
        answer = codec.record(self.compiled(other, launch), Compiled)
        plan = Plan(buffers=BUFFERS, outputs=(Y,), steps=(launch,), single=True)
        memory = SharedMemory()
        bench = self.interpreters.spawn("interpreter", log=True, descriptors=[memory.descriptor])
        try:
            arena = attach(memory.reserve(LAYOUT.nbytes))
            arena.zero_()
            window(arena, LAYOUT, X).copy_(window(arena, LAYOUT, I).float().new_tensor(range(SIZE)))
            bench.ask(AddText(name="plan", plan=plan, kernels=source, branches=(answer.branches,)), seconds)
            run = Run(plan="plan", order=order, filled=filled, is_watched=True)
            ended = of_replay(bench.ask(run, seconds), run)
            found = window(arena, LAYOUT, Y).tolist(), window(arena, LAYOUT, I).tolist()
        finally:
            bench.kill()
            memory.close()
        if isinstance(ended, Failure):
            return Ran(ended.status.value, ended.reason, *found)
        assert ended is not None
        said, *undefined = ended
        return Ran("passed", "", *found, said=said, undefined=tuple(undefined))


@contextmanager
def interpreted(folder: Path) -> Iterator[Interpreted]:
    made = Interpreted(folder)
    try:
        yield made
    finally:
        made.close()
