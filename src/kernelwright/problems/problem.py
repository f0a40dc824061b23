"""The class `Problem` of the Python API: a problem on disk, found by name or written from a live module or function."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelwright.problems.gallery import WRITTEN
from kernelwright.problems.live import write_function, write_module
from kernelwright.problems.paths import ProblemPath, find_problem


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
        example_inputs: Any,
        *,
        arguments: Mapping[str, Any] | None = None,
        name: str | None = None,
        folder: str | os.PathLike[str] = WRITTEN,
    ) -> Problem:
        """Write a `torch.nn.Module` as the problem `folder`/`name`; see docs/problems.md for what is stored.

        example_inputs: arguments of forward: one tensor, a list in order, or a dict by argument name. arguments:
        constructor arguments by name that the module does not store as attributes. name: default: the class's name.
        Raises `ProblemError`, before anything is written, if something cannot be stored.
        """
        return cls(write_module(module, example_inputs, arguments or {}, name, Path(folder)))

    @classmethod
    def from_function(
        cls,
        function: Callable[..., Any],
        example_inputs: Any,
        *,
        name: str | None = None,
        folder: str | os.PathLike[str] = WRITTEN,
    ) -> Problem:
        """Write a function of tensors as the problem `folder`/`name`; see docs/problems.md for what is stored.

        example_inputs: as for `from_module`. name: default: the function's name. Raises `ProblemError`, before anything
        is written, if something cannot be stored.
        """
        return cls(write_function(function, example_inputs, name, Path(folder)))

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
