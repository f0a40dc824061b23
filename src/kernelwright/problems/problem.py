"""The class `Problem` of the Python API: a problem on disk, found by name or written from a live module or function."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelwright.problems.live import write_live
from kernelwright.problems.paths import WRITTEN, ProblemPath, find_problem


@dataclass(frozen=True)
class Problem(os.PathLike[str]):
    """A problem's files. Every function of kernelwright that takes a problem's path also takes a `Problem`."""

    files: ProblemPath

    @classmethod
    def find(cls, name: str | os.PathLike[str]) -> Problem:
        """The problem that `name` names: a file, a folder with `problem.py`, or a name in the gallery.

        Raises `ProblemError`.
        """
        return cls(find_problem(os.fspath(name)))

    @classmethod
    def from_module(
        cls,
        module: Any,
        example_inputs: Any = (),
        named_inputs: Mapping[str, Any] | None = None,
        *,
        arguments: Mapping[str, Any] | None = None,
        name: str | None = None,
        folder: str | os.PathLike[str] = WRITTEN,
        gradients: bool = False,
    ) -> Problem:
        """Write a `torch.nn.Module` as the problem `folder`/`name`; see docs/problems.md for what is stored.

        example_inputs: arguments of forward: one tensor, a list in order, or a dict by argument name. named_inputs:
        further ones by name. arguments: constructor arguments by name, for cases of other sizes, where the module does
        not store them as attributes. name: default: the class's name. gradients: whether the backward is part of the
        problem. Raises `ProblemError`, before anything is written, if something cannot be stored, or if the written
        problem gives another result than the module.
        """
        files = write_live(module, example_inputs, named_inputs or {}, arguments or {}, name, Path(folder), gradients)
        return cls(files)

    @classmethod
    def from_function(
        cls,
        function: Callable[..., Any],
        example_inputs: Any = (),
        named_inputs: Mapping[str, Any] | None = None,
        *,
        name: str | None = None,
        folder: str | os.PathLike[str] = WRITTEN,
        gradients: bool = False,
    ) -> Problem:
        """Write a function of tensors as the problem `folder`/`name`; see docs/problems.md for what is stored.

        The arguments are those of `from_module`. name: default: the function's name. Raises `ProblemError`, before
        anything is written, if something cannot be stored, or if the written problem gives another result.
        """
        return cls(write_live(function, example_inputs, named_inputs or {}, None, name, Path(folder), gradients))

    @property
    def name(self) -> str:
        return self.files.name

    @property
    def path(self) -> Path:
        """The path of its Python file."""
        return self.files.file

    def __fspath__(self) -> str:
        return str(self.files.file)

    def __repr__(self) -> str:
        return f"Problem({str(self.files.file)!r})"
