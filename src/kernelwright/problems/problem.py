"""A problem on disk, as programs name it: found, or written from a live module or function."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelwright.problems.live import write_function, write_module
from kernelwright.problems.paths import ProblemPath, find_problem

FOLDER = "problems"
"""Where folders are written, below the working directory."""


@dataclass(frozen=True)
class Problem(os.PathLike[str]):
    """A problem's files. Every function of kernelwright that takes a problem's path takes one of these too."""

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
        folder: str | os.PathLike[str] = FOLDER,
    ) -> Problem:
        """Write a `torch.nn.Module` as the problem `folder`/`name`; see docs/problems.md for what is stored.

        example_inputs: what forward is called with: one tensor, a list in its order, or a dict by argument name.
        arguments: of the constructor, by name, where the module does not keep them. name: of the class by default.
        Raises `ProblemError` for what cannot be stored, before anything is written.
        """
        return cls(write_module(module, example_inputs, arguments or {}, name, Path(folder)))

    @classmethod
    def from_function(
        cls,
        function: Callable[..., Any],
        example_inputs: Any,
        *,
        name: str | None = None,
        folder: str | os.PathLike[str] = FOLDER,
    ) -> Problem:
        """Write a function of tensors as the problem `folder`/`name`; see docs/problems.md for what is stored.

        example_inputs: as for `from_module`. name: the function's by default. Raises `ProblemError` for what cannot be
        stored, before anything is written.
        """
        return cls(write_function(function, example_inputs, name, Path(folder)))

    @property
    def name(self) -> str:
        return self.files.name

    @property
    def path(self) -> Path:
        """Of its Python file."""
        return self.files.file

    def __fspath__(self) -> str:
        return str(self.files.file)

    def __repr__(self) -> str:
        return f"Problem({str(self.files.file)!r})"
