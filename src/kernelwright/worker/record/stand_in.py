"""What a recorded module finds of its machine: the installed framework, no other package, and no variable.

Stand-ins for what it imports from absent packages are objects without a value. They may be passed on, called, read
from, be bases and decorate. Host code that depends on one is refused.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

from kernelwright.worker.record.messages import NOT_HERE
from kernelwright.worker.record.remains import candidate_name
from kernelwright.worker.record.trace import Refused


class StandIn:
    """name: as host code writes it. imports: what is said of the import."""

    _name: str
    _imports: str

    def __init__(self, name: str, imports: str) -> None:
        self.__dict__.update(_name=name, _imports=imports)

    def __getattr__(self, name: str) -> StandIn:
        if name.startswith("__"):
            raise AttributeError(name)
        return StandIn(f"{self._name}.{name}", self._imports)

    def _given(self, *_: object, **__: object) -> StandIn:
        return self

    def _refuse(self, *_: object) -> Any:
        raise Refused(f"the host code depends on {self._name}, and {self._imports}{NOT_HERE}")

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        return ()

    def __instancecheck__(self, instance: object) -> bool:
        return False

    __call__ = __getitem__ = __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __or__ = __ror__ = _given
    __bool__ = __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __len__ = __iter__ = __contains__ = _refuse
    __index__ = __int__ = __float__ = __str__ = __repr__ = __enter__ = __exit__ = __setattr__ = __delattr__ = _refuse
    __hash__ = None  # type: ignore[assignment]


def stand_in(name: str = "", imports: str = "") -> StandIn:
    """A stand-in for a name; raises ModuleNotFoundError without one."""
    if not name:
        raise ModuleNotFoundError("a package that is not here")
    return StandIn(name, imports)


INSTALLED = frozenset({"torch", "triton", "packaging", *sys.stdlib_module_names})


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Context in which the candidate's questions are answered as if only INSTALLED were, and no variable were set."""

    def unset(name: str, default: Any = None) -> Any:
        return default

    def known(ask: Callable[..., Any], absent: Callable[[str], Any]) -> Callable[..., Any]:
        return lambda name, *rest: (ask if name.partition(".")[0] in INSTALLED else absent)(name, *rest)

    def missing(name: str) -> Any:
        raise importlib.metadata.PackageNotFoundError(name)

    questions: list[tuple[Any, str, Callable[..., Any]]] = [
        (os, "getenv", unset), (os.environ, "get", unset),
        (importlib, "import_module", known(importlib.import_module, missing)),
        (importlib.metadata, "version", known(importlib.metadata.version, missing)),
        (importlib.util, "find_spec", known(importlib.util.find_spec, unset)),
    ]  # fmt: skip
    with contextlib.ExitStack() as stack:
        for owner, name, answer in questions:
            stack.enter_context(mock.patch.object(owner, name, _to_candidate(answer, getattr(owner, name))))
        yield


def _to_candidate(answer: Callable[..., Any], ask: Callable[..., Any]) -> Callable[..., Any]:
    """`answer` where the candidate calls it, `ask` where the framework does."""

    def asked(*given: Any, **named: Any) -> Any:
        is_candidate = sys._getframe(1).f_globals.get("__name__") == candidate_name()
        return (answer if is_candidate else ask)(*given, **named)

    return asked
