"""Replacement of functions of PyTorch for a while."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any


@contextmanager
def replaced(*changes: tuple[Any, Any, Callable[[Any], Any]]) -> Iterator[None]:
    """Inside, each item of a dictionary, or attribute of another holder, is `make(own)`. changes: holder, name, make. A
    static or class method stays one."""
    with ExitStack() as stack:
        for holder, name, make in changes:
            if isinstance(holder, dict):
                undo, of = (holder.update, {name: holder[name]}) if name in holder else (holder.pop, name)
                stack.callback(undo, of)
                holder[name] = make(holder.get(name))
                continue
            known = vars(holder).get(name, getattr(holder, name))
            kind = type(known) if isinstance(known, staticmethod | classmethod) else None
            made = make(known.__func__ if kind is not None else known)
            stack.callback(setattr, holder, name, known)
            setattr(holder, name, kind(made) if kind is not None else made)
        yield


def given_other(change: Callable[[dict[str, Any]], object]) -> Callable[[Any], Any]:
    """Makes the same function of arguments that `change` changes first, by their names."""

    def make(own: Any) -> Any:
        @functools.wraps(own)
        def called(*args: Any, **kwargs: Any) -> Any:
            bound = inspect.signature(own).bind(*args, **kwargs)
            change(bound.arguments)
            return own(*bound.args, **bound.kwargs)

        return called

    return make


def while_replaced(holder: Any, name: str, answer: Callable[..., Any]) -> Callable[[Any], Any]:
    """Makes the same function, in which this attribute of `holder` is `answer`."""

    def make(own: Any) -> Any:
        def called(*args: Any, **kwargs: Any) -> Any:
            with replaced((holder, name, lambda _: answer)):
                return own(*args, **kwargs)

        return called

    return make
