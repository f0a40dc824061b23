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
from typing import Any, NamedTuple

from kernelwright.errors import ProblemError
from kernelwright.problems.live import definitions

SHORT_NAMES = ("torch", "torch.nn", "torch.nn.functional")
"""Modules that are tried as the import path of a function or class before the module that defines it."""

TAKEN = ("HERE", "Path", "copy", "parametrize", "stored", "drawn", "kept", "made", "parametrized")
"""Names that the session's module defines or imports for itself (session.py.txt), beside torch and math."""

DEEPEST = 16
"""Most objects within each other. A deeper one most likely contains itself."""


class Leaf(NamedTuple):
    """A tensor in a value. path: the expression that reads it."""

    tensor: Any
    path: str


class Expressions:
    """Writes expressions. home: name of the session's module. imports: modules that the expressions name. session: the
    statements of the session's module, without its own and without the imports of these modules."""

    def __init__(self, home: str) -> None:
        self.home = home
        self.imports: set[str] = set()
        self.session: list[str] = []
        self._bound: dict[str, Any] = {**dict.fromkeys(TAKEN, self), "torch": sys.modules["torch"], "math": math}
        self._names: dict[int, str] = {}

    def text(self, value: Any, what: str, leaves: dict[str, Leaf] | None = None, inside: bool = False) -> str:
        """`value` as an expression. what: the value's name in messages, or the expression that it has in the caller's
        program. leaves: takes the tensors in `value`, by their names in the expression; None if tensors are refused.
        inside: whether the expression is a part of the session's module.

        Raises `ProblemError` for a value that cannot be written.
        """
        torch, kind = sys.modules["torch"], type(value)

        def part(one: Any, path: str = "") -> str:
            return self.text(one, what + path, leaves, inside)

        def call(function: Any, items: dict[str, Any], path: str = ".{}", first: tuple[str, ...] = ()) -> str:
            named = [f"{key}={part(one, path.format(key))}" for key, one in items.items()]
            return f"{part(function)}({', '.join([*first, *named])})"

        if leaves is not None and isinstance(value, torch.Tensor):
            name = re.sub(r"\W+", "_", what).strip("_")
            while name in leaves or name in ("self", "positional", "named") or keyword.iskeyword(name):
                name += "_"
            leaves[name] = Leaf(value, what)
            return name
        if isinstance(value, enum.Enum):
            return f"{part(kind)}.{value.name}"
        if value is None or kind in (bool, int, str, bytes):
            return repr(value)
        if kind is float:
            return repr(value) if math.isfinite(value) else f"float({str(value)!r})"
        if kind in (list, tuple, set, frozenset, torch.Size):
            items = [part(one, f"[{place}]") for place, one in enumerate(value)]
            listed = f"[{', '.join(sorted(items) if isinstance(value, set | frozenset) else items)}]"
            if kind in (list, tuple):
                return listed if kind is list else f"({listed[1:-1]}{',' * (len(items) == 1)})"
            return f"{part(kind)}({listed})"
        if isinstance(value, torch.dtype | torch.device):
            return str(value) if isinstance(value, torch.dtype) else f"torch.device({str(value)!r})"
        if isinstance(value, types.ModuleType) and value.__name__ != "__main__":
            self.imports.add(value.__name__)
            return value.__name__
        if isinstance(value, types.MethodType):
            return f"{part(value.__self__, '.__self__')}.{value.__name__}"
        if isinstance(value, functools.partial):
            given = [part(one, f".args[{place}]") for place, one in enumerate(value.args)]
            return call(functools.partial, value.keywords, ".keywords[{!r}]", (part(value.func, ".func"), *given))
        if isinstance(value, type | types.FunctionType | types.BuiltinFunctionType) and not _is_bound(value):
            return self._named(value, what, inside)
        if dataclasses.is_dataclass(value):
            return call(kind, {one.name: getattr(value, one.name) for one in dataclasses.fields(value) if one.init})
        if isinstance(value, dict):
            text = ", ".join(f"{part(key)}: {part(one, f'[{key!r}]')}" for key, one in value.items())
            return f"{{{text}}}" if kind is dict else f"{part(kind)}({{{text}}})"
        is_plain = hasattr(value, "__dict__") and getattr(kind, "__reduce_ex__", None) is object.__reduce_ex__
        if is_plain and not isinstance(value, torch.nn.Module) and what.count(".") < DEEPEST:
            state = ", ".join(f"{key!r}: {part(one, f'.{key}')}" for key, one in vars(value).items())
            return f"{'' if inside else f'{self.home}.'}made({part(kind)}, {{{state}}})"
        advice = "use numbers, strings, or what a module defines"
        if isinstance(value, torch.Tensor | torch.nn.Module):
            advice = "make it an input" if isinstance(value, torch.Tensor) else "write the module: Problem.from_module"
        raise ProblemError(f"{what} is a {kind.__name__}, which cannot be written into a file", advice)

    def name_in_session(self, value: Any) -> str:
        """The name of a copy of a function's or class's definition, and of the names that it uses, in the session's
        module."""
        if id(value) in self._names:
            return self._names[id(value)]
        own = value.__name__ if isinstance(value, type) else value.__code__.co_name
        name = "function" if own == "<lambda>" else own
        while name in self._bound:
            if isinstance(value, type):
                raise ProblemError(f"another object that is used has the name {name}, too", "rename the class")
            name += "_"
        self._bound[name] = value  # which also keeps it alive, so that no other value gets its id
        self._names[id(value)] = name
        text = definitions.source_of(value)
        closure, around = definitions.names_around(value)
        enclosed = {}
        for used in definitions.names_used(text):
            what = f"{used!r}, which {value.__qualname__} uses,"
            if used in closure and not isinstance(value, type):
                if closure[used] is not value:
                    enclosed[used] = self.text(closure[used], what, inside=True)
            elif (used in closure or used in around) and not used.startswith("__"):
                self._bind(used, closure.get(used, around.get(used)), what)
        self.session.append(text if isinstance(value, type) else definitions.factory(name, value, text, enclosed))
        return name

    def _named(self, value: Any, what: str, inside: bool) -> str:
        """A function or class by its dotted name."""
        name = str(value.__name__)
        if getattr(builtins, name, None) is value:
            return name
        if found := import_name(value):
            self.imports.add("torch" if found[0] in SHORT_NAMES else found[0])
            return ".".join(found)
        return ("" if inside else f"{self.home}.") + self.name_in_session(value)

    def _bind(self, name: str, value: Any, what: str) -> None:
        """Define `name` as `value` in the session's module, because a definition uses it."""
        known = self._bound.get(name, value)
        is_plain = isinstance(value, int | float | str | tuple) and type(known) is type(value)
        if known is not value and not (is_plain and known == value):
            raise ProblemError(
                f"{what} has the same name as another object that is used", f"rename one of them: {name!r}"
            )
        if name in self._bound:
            return
        text = self.text(value, what, inside=True)
        self._bound[name] = value
        if text != name:  # else it is defined already, or a builtin
            self.session.append(f"{name} = {text}")


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


def _is_bound(value: Any) -> bool:
    """Whether `value` is a method of an object; the `__self__` of a builtin function is its module."""
    return not isinstance(getattr(value, "__self__", None), types.ModuleType | types.NoneType)
