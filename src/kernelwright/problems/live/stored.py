"""Writes a live module's state into a file: classes and functions by import, tensors and other attributes by value.

What no program can import is copied into the session's module (`expressions`). A module of `torch.compile` is replaced
by the one that it wraps, and a module under `torch.nn.utils.parametrize` is made again with its parametrizations.
"""

from __future__ import annotations

import importlib
import operator
import pickle
import sys
import types
from pathlib import Path
from typing import Any

from kernelwright.errors import ProblemError
from kernelwright.problems.live.expressions import Expressions, import_name

KEPT_BYTES = 256 << 20
"""Largest total size of parameters that are stored with their values. The file is read for every draw and copied into
every run. Of larger modules each parameter is stored as MOST_VALUES of its values."""
MOST_VALUES = 1 << 12


def is_large(module: Any) -> bool:
    """Whether the parameters are too large to be stored with their values."""
    return bool(sum(one.numel() * one.element_size() for one in module.parameters()) > KEPT_BYTES)


def store(parts: dict[str, Any], written: Expressions, file: Path) -> set[str]:
    """Write `parts` to `file`, to be read by `torch.load`; returns the modules that reading it imports. written: gets
    the definitions that no program can import. Raises `ProblemError` for a value that cannot be stored."""
    torch = sys.modules["torch"]
    draws = is_large(parts["module"])
    imports: set[str] = set()

    class Pickler(pickle.Pickler):
        def reducer_override(self, value: Any) -> Any:
            if isinstance(value, type | types.FunctionType):
                return _by_name(value, written, imports)
            if draws and isinstance(value, torch.nn.Parameter) and value.numel() > MOST_VALUES:
                places = torch.linspace(0, value.numel() - 1, MOST_VALUES).long().to(value.device)
                sample = value.detach().flatten()[places].clone()
                return _Ours(written.home, "parameter"), (sample, tuple(value.shape), value.requires_grad)
            if not isinstance(value, torch.nn.Module):
                return NotImplemented
            if "_orig_mod" in value._modules:
                return operator.getitem, ((value._orig_mod,), 0)
            if torch.nn.utils.parametrize.is_parametrized(value):
                kind = torch.nn.utils.parametrize.type_before_parametrizations(value)
                return _Ours(written.home, "parametrized"), (kind, dict(vars(value)))
            return NotImplemented

    kind = types.ModuleType("pickle")
    kind.Pickler = Pickler  # type: ignore[attr-defined]
    try:
        torch.save(parts, file, pickle_module=kind, pickle_protocol=4)
    except ProblemError:
        raise
    except Exception as error:  # any class may state how it is stored
        message = str(error).partition("\n")[0]
        raise ProblemError(
            f"{' and '.join(parts)} cannot be stored: {type(error).__name__}: {message}", "remove that attribute first"
        ) from error
    return imports


class _Ours:
    """Stands for the session's module, which the caller's program does not have, or for an attribute of it."""

    def __init__(self, home: str, name: str = "") -> None:
        self.home, self.name = home, name

    def __reduce__(self) -> Any:
        return (getattr, (_Ours(self.home), self.name)) if self.name else (importlib.import_module, (self.home,))

    def __call__(self) -> None:
        """Pickle requires that what it stores as a function can be called."""


def _by_name(value: Any, written: Expressions, imports: set[str]) -> Any:
    """How a class or function is stored: by import, or as a definition of the session's module."""
    compiled = vars(value).get("_torchdynamo_orig_callable")
    if compiled is not None:
        return operator.getitem, ((compiled,), 0)
    if import_name(value):
        imports.add(value.__module__)
        return NotImplemented
    name = written.name_in_session(value, value.__qualname__)
    return getattr, (_Ours(written.home), name)
