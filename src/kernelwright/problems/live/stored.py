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
from kernelwright.problems.live.compare import said
from kernelwright.problems.live.expressions import Expressions, import_name


def store(parts: dict[str, Any], written: Expressions, file: Path) -> set[str]:
    """Write `parts` to `file`, to be read by `torch.load`; returns the modules that reading it imports. written: gets
    the definitions that no program can import. Raises `ProblemError` for a value that cannot be stored."""
    torch = sys.modules["torch"]
    parametrize, imports = torch.nn.utils.parametrize, set[str]()

    class Pickler(pickle.Pickler):
        def reducer_override(self, value: Any) -> Any:
            compiled = value._modules.get("_orig_mod") if isinstance(value, torch.nn.Module) else None
            if isinstance(value, types.FunctionType):
                compiled = vars(value).get("_torchdynamo_orig_callable")
            if compiled is not None:
                return operator.getitem, ((compiled,), 0)
            if isinstance(value, type | types.FunctionType):
                if import_name(value):
                    imports.add(value.__module__)
                    return NotImplemented
                return getattr, (_Ours(written.home), written.name_in_session(value))
            if isinstance(value, torch.nn.Module) and parametrize.is_parametrized(value):
                kind = parametrize.type_before_parametrizations(value)
                return _Ours(written.home, "parametrized"), (kind, dict(vars(value)))
            return NotImplemented

    module = types.ModuleType("pickle")
    vars(module)["Pickler"] = Pickler
    try:
        torch.save(parts, file, pickle_module=module, pickle_protocol=4)
    except ProblemError:
        raise
    except Exception as error:  # any class may state how it is stored
        raise ProblemError(f"the module cannot be stored: {said(error)}", "remove that attribute first") from error
    return imports


class _Ours:
    """Stands for the session's module, which the caller's program does not have, or for an attribute of it."""

    def __init__(self, home: str, name: str = "") -> None:
        self.home, self.name = home, name

    def __reduce__(self) -> Any:
        return (getattr, (_Ours(self.home), self.name)) if self.name else (importlib.import_module, (self.home,))

    def __call__(self) -> None:
        """Pickle requires that what it stores as a function can be called."""
