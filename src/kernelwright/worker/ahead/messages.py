"""The message from the supervisor to a process that compiles baselines ahead."""

from __future__ import annotations

from kernelwright.model import Case
from kernelwright.worker.processes.channel import Message


class CompileAhead(Message[list[str]], frozen=True, kw_only=True, tag="compile ahead"):
    """Compile baselines of the problem at `path`.

    cases: all cases, with the derived ones. wanted: names of those to compile for. names: of the baselines, such as
    "compile". device: of their tensors. cores: to compile on. Answers why some could not be compiled.
    """

    path: str
    cases: tuple[Case, ...]
    wanted: tuple[str, ...]
    names: tuple[str, ...]
    device: str
    cores: int
