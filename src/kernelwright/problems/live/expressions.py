"""Writes values of the caller's program as Python expressions, and collects the imports that these need.

Importable functions and classes are imported. Others (defined in a script, a notebook or a function) are copied into
one module, `SESSION`, together with the names that they use. Other values must be plain data, else they are refused.
"""

from __future__ import annotations

import builtins
import dataclasses
import enum
import functools
import sys
import types
from collections.abc import Callable
from typing import Any

from kernelwright.errors import ProblemError
from kernelwright.problems.live import definitions
from kernelwright.problems.live.constructor import construction_of

SESSION = "session_code"
"""Name of the module with the copied definitions of the caller's session."""

SHORT_NAMES = ("torch", "torch.nn", "torch.nn.functional")
"""Modules that are tried as the import path of a function or class before the module that defines it."""


class Expressions:
    """Writes expressions. imports: modules that the expressions name. session: the statements of `SESSION` without the
    imports of these modules; empty if it is not needed."""

    def __init__(self) -> None:
        self.imports: set[str] = set()
        self.session: list[str] = []
        self._bound: dict[str, Any] = {}

    def text(self, value: Any, what: str, home: str = f"{SESSION}.") -> str:
        """`value` as an expression. what: the value's name in messages. home: the prefix of names of `SESSION`.

        Raises `ProblemError` for a value that cannot be written.
        """
        torch = sys.modules["torch"]
        part = functools.partial(self.text, what=what, home=home)
        if isinstance(value, enum.Enum):
            return f"{part(type(value))}.{value.name}"
        if value is None or type(value) in (bool, int, str, bytes):
            return repr(value)
        if type(value) is float:
            return repr(value) if value - value == 0 else f"float({str(value)!r})"
        if type(value) in (list, tuple, set, frozenset, torch.Size):
            return self._collected(value, part)
        if isinstance(value, dict):
            items = ", ".join(f"{part(key)}: {part(item)}" for key, item in value.items())
            return f"{{{items}}}" if type(value) is dict else f"{part(type(value))}({{{items}}})"
        if isinstance(value, torch.dtype | torch.device):
            self.imports.add("torch")
            return str(value) if isinstance(value, torch.dtype) else f"torch.device({str(value)!r})"
        if isinstance(value, functools.partial):
            self.imports.add("functools")
            return _called("functools.partial", [value.func, *value.args], value.keywords, part)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.init}
            return _called(part(type(value)), [], fields, part)
        if isinstance(value, torch.nn.Module):
            made = construction_of(value, {})
            if made.cast or made.buffers:
                raise ProblemError(
                    f"{what} was changed after it was constructed", "make these changes in the constructor of a class"
                )
            return _called(part(type(value)), list(made.positional), made.named, part)
        if isinstance(value, type | types.FunctionType | types.BuiltinFunctionType) and not _is_bound(value):
            return self._named(value, what, home)
        kind = type(value).__name__
        raise ProblemError(
            f"{what} is a {kind}, which cannot be written into a file",
            "make it an input" if isinstance(value, torch.Tensor) else "use numbers, strings, or what a module defines",
        )

    def _collected(self, value: Any, part: Callable[[Any], str]) -> str:
        texts = [part(item) for item in value]
        if isinstance(value, list):
            return f"[{', '.join(texts)}]"
        if isinstance(value, tuple):
            return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"
        return f"{type(value).__name__}([{', '.join(sorted(texts))}])"

    def _named(self, value: Any, what: str, home: str) -> str:
        """A function or class by its dotted name."""
        name = str(value.__name__)
        if getattr(builtins, name, None) is value:
            return name
        if found := import_name(value):
            module, name = found
            self.imports.add("torch" if module in SHORT_NAMES else module)
            return f"{module}.{name}"
        return home + self._defined(value, what)

    def _defined(self, value: Any, what: str) -> str:
        """Copy a definition and the names that it uses into `SESSION`; return its name there."""
        is_lambda = value.__name__ == "<lambda>"
        name = f"lambda_{len(self._bound)}" if is_lambda else value.__name__
        known = next((name for name, bound in self._bound.items() if bound is value), None)
        if known is not None:
            return known
        self._claim(name, value, what)
        text = definitions.source_of(value)
        closure, around = definitions.closure_of(value), definitions.globals_of(value)
        for used in definitions.names_used(text):
            if used in closure or used in around:
                self._bind(used, closure[used] if used in closure else around[used], value.__qualname__)
        self.session.append(f"{name} = {text}" if is_lambda else text.rstrip())
        return name

    def _bind(self, name: str, value: Any, user: str) -> None:
        """Define `name` as `value` in `SESSION`, because a definition uses it. user: the definition, for messages."""
        what = f"{name!r}, which {user} uses,"
        if name.startswith("__") or self._bound.get(name) is value:
            return
        if isinstance(value, types.ModuleType) and value.__name__ != "__main__":
            self._claim(name, value, what)
            self.imports.add(value.__name__)
            if name != value.__name__:
                self.session.append(f"import {value.__name__} as {name}")
            return
        text = self.text(value, what, home="")
        if text == name:  # already defined, or a builtin
            return
        self._claim(name, value, what)
        self.session.append(f"{name} = {text}")

    def _claim(self, name: str, value: Any, what: str) -> None:
        if name in self._bound and not _same(self._bound[name], value):
            raise ProblemError(
                f"{what} has the same name as another object that is used", f"rename one of them: {name!r}"
            )
        self._bound[name] = value


def import_name(value: Any) -> tuple[str, str] | None:
    """Module and dotted name by which any program can import `value`; None if it was defined in a session."""
    for module in (*SHORT_NAMES, getattr(value, "__module__", None) or ""):
        for name in (getattr(value, "__qualname__", ""), getattr(value, "__name__", "")):
            found: Any = sys.modules.get(module)
            for part in name.split("."):
                found = getattr(found, part, None)
            if found is value and module != "__main__":
                return module, name
    return None


def _same(one: Any, other: Any) -> bool:
    return one is other or (type(one) is type(other) and isinstance(one, int | float | str | tuple) and one == other)


def _is_bound(value: Any) -> bool:
    """Whether `value` is a method of an object; the `__self__` of a builtin function is its module."""
    return not isinstance(getattr(value, "__self__", None), types.ModuleType | types.NoneType)


def _called(name: str, positional: list[Any], named: dict[str, Any], part: Callable[[Any], str]) -> str:
    return f"{name}({', '.join([*map(part, positional), *(f'{key}={part(value)}' for key, value in named.items())])})"
