"""Writes values of the caller's program as Python expressions, and collects the imports that these need.

Importable functions and classes are imported. Others (defined in a script, a notebook or a function) are copied into
one module, the session's, together with the names that they use. Other values must be plain data, else they are
refused.
"""

from __future__ import annotations

import builtins
import dataclasses
import enum
import functools
import keyword
import math
import re
import sys
import types
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from kernelwright.errors import ProblemError
from kernelwright.problems.live import definitions

SHORT_NAMES = ("torch", "torch.nn", "torch.nn.functional")
"""Modules that are tried as the import path of a function or class before the module that defines it."""


TAKEN = ("HERE", "Path", "copy", "parametrize", "stored", "drawn", "kept", "made", "parametrized", "parameter")
"""Names that the session's module defines or imports for itself (session.py.txt), beside torch and math."""

DEEPEST = 16
"""Most objects within each other. A deeper one most likely contains itself."""


class Leaf(NamedTuple):
    """A tensor in a value. path: the expression that reads it."""

    tensor: Any
    path: str


class Expressions:
    """Writes expressions. home: name of the session's module. imports: modules that the expressions name. session: the
    statements of the session's module without the imports of these modules; empty if it is not needed."""

    def __init__(self, home: str) -> None:
        self.home = home
        self.imports: set[str] = set()
        self.session: list[str] = []
        self._bound: dict[str, Any] = {**dict.fromkeys(TAKEN, self), "torch": sys.modules["torch"], "math": math}
        self._defined: dict[int, str] = {}

    def text(self, value: Any, what: str, leaves: dict[str, Leaf] | None = None, inside: bool = False) -> str:
        """`value` as an expression. what: the value's name in messages, or the expression that it has in the caller's
        program. leaves: takes the tensors in `value`, by their names in the expression; None if tensors are refused.
        inside: whether the expression is a part of the session's module.

        Raises `ProblemError` for a value that cannot be written.
        """
        torch = sys.modules["torch"]

        def part(one: Any, path: str = "") -> str:
            return self.text(one, what + path, leaves, inside)

        if leaves is not None and isinstance(value, torch.Tensor):
            name = re.sub(r"\W+", "_", what).strip("_")
            while name in leaves or name in ("self", "positional", "named") or keyword.iskeyword(name):
                name += "_"
            leaves[name] = Leaf(value, what)
            return name
        if isinstance(value, enum.Enum):
            return f"{part(type(value))}.{value.name}"
        if value is None or type(value) in (bool, int, str, bytes):
            return repr(value)
        if type(value) is float:
            return repr(value) if value - value == 0 else f"float({str(value)!r})"
        if isinstance(value, tuple | list) and type(value) in (tuple, list, torch.Size):
            texts = [part(one, f"[{place}]") for place, one in enumerate(value)]
            text = f"{', '.join(texts)}{',' if len(texts) == 1 and isinstance(value, tuple) else ''}"
            return {list: f"[{text}]", tuple: f"({text})"}.get(type(value), f"{part(type(value))}(({text}))")
        if type(value) in (set, frozenset):
            return f"{type(value).__name__}([{', '.join(sorted(map(part, value)))}])"
        if isinstance(value, types.ModuleType) and value.__name__ != "__main__":
            self.imports.add(value.__name__)
            return value.__name__
        if isinstance(value, types.MethodType):
            return f"{part(value.__self__, '.__self__')}.{value.__name__}"
        if isinstance(value, torch.dtype | torch.device):
            self.imports.add("torch")
            return str(value) if isinstance(value, torch.dtype) else f"torch.device({str(value)!r})"
        if isinstance(value, functools.partial):
            self.imports.add("functools")
            given = [part(one, f".args[{place}]") for place, one in enumerate(value.args)]
            return _called("functools.partial", [part(value.func), *given], _parts(value.keywords, part, ".keywords"))
        if isinstance(value, type | types.FunctionType | types.BuiltinFunctionType) and not _is_bound(value):
            return self._named(value, what, inside)
        if dataclasses.is_dataclass(value):
            fields = {one.name: getattr(value, one.name) for one in dataclasses.fields(value) if one.init}
            return _called(part(type(value)), [], {key: part(one, f".{key}") for key, one in fields.items()})
        if isinstance(value, dict):
            items = ", ".join(f"{part(key)}: {part(one, f'[{key!r}]')}" for key, one in value.items())
            return f"{{{items}}}" if type(value) is dict else f"{part(type(value))}({{{items}}})"
        is_plain = hasattr(value, "__dict__") and getattr(type(value), "__reduce_ex__", None) is object.__reduce_ex__
        if is_plain and not isinstance(value, torch.nn.Module) and what.count(".") < DEEPEST:
            state = ", ".join(f"{key!r}: {part(one, f'.{key}')}" for key, one in vars(value).items())
            return f"{'' if inside else f'{self.home}.'}made({part(type(value))}, {{{state}}})"
        kind = type(value).__name__
        advice = "use numbers, strings, or what a module defines"
        if isinstance(value, torch.Tensor | torch.nn.Module):
            advice = "make it an input" if isinstance(value, torch.Tensor) else "write the module: Problem.from_module"
        raise ProblemError(f"{what} is a {kind}, which cannot be written into a file", advice)

    def name_in_session(self, value: Any, what: str) -> str:
        """The name of a copy of a function's or class's definition, and of the names that it uses, in the session's
        module."""
        if id(value) in self._defined:
            return self._defined[id(value)]
        own = value.__name__ if isinstance(value, type) else value.__code__.co_name
        name = "function" if own == "<lambda>" else own
        while name in self._bound and self._bound[name] is not value:
            name += "_"
        self._bound[name] = value  # which also keeps it alive, so that no other value gets its id
        self._defined[id(value)] = name
        text = definitions.source_of(value)
        closure, around = definitions.closure_of(value), definitions.globals_of(value)
        enclosed = {}
        for used in definitions.names_used(text):
            if used in closure and isinstance(value, types.FunctionType):
                if closure[used] is not value:
                    enclosed[used] = self.text(
                        closure[used], f"{used!r}, which {value.__qualname__} uses,", inside=True
                    )
            elif used in closure or used in around:
                self._bind(used, closure[used] if used in closure else around[used], value.__qualname__)
        if isinstance(value, types.FunctionType):
            text = definitions.factory(name, value, text, enclosed)
        elif name != value.__name__:
            raise ProblemError(f"two classes {value.__name__} are used", "rename one of them")
        self.session.append(text.rstrip())
        return name

    def _named(self, value: Any, what: str, inside: bool) -> str:
        """A function or class by its dotted name."""
        name = str(value.__name__)
        if getattr(builtins, name, None) is value:
            return name
        if found := import_name(value):
            module, name = found
            self.imports.add("torch" if module in SHORT_NAMES else module)
            return f"{module}.{name}"
        return ("" if inside else f"{self.home}.") + self.name_in_session(value, what)

    def _bind(self, name: str, value: Any, user: str) -> None:
        """Define `name` as `value` in the session's module, because a definition uses it. user: the definition, for
        messages."""
        what = f"{name!r}, which {user} uses,"
        if name.startswith("__") or self._bound.get(name) is value:
            return
        text = self.text(value, what, inside=True)
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


def _parts(values: Mapping[str, Any], part: Callable[[Any, str], str], path: str) -> dict[str, str]:
    return {key: part(value, f"{path}[{key!r}]") for key, value in values.items()}


def _called(name: str, positional: list[str], named: Mapping[str, str]) -> str:
    return f"{name}({', '.join([*positional, *(f'{key}={text}' for key, text in named.items())])})"
