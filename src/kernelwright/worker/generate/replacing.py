"""Replacement of functions of PyTorch for a while."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def replaced(holder: Any, name: str, make: Callable[[Any], Any]) -> Iterator[None]:
    """Inside, the attribute is `make(own)`. A static or class method stays one."""
    known = vars(holder).get(name, getattr(holder, name))
    kind = type(known) if isinstance(known, staticmethod | classmethod) else None
    made = make(known.__func__ if kind is not None else known)
    setattr(holder, name, kind(made) if kind is not None else made)
    try:
        yield
    finally:
        setattr(holder, name, known)
