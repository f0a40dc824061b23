"""Nested lists, tuples and dicts: their leaves as a flat list, and their structure as a Python literal.

The literal of `{"k": [a, b], "v": c}` is `{'k': [0, 1], 'v': 2}`: a whole number is the position of a leaf.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

DEEPEST = 16
"""Most levels of nesting. A deeper value most likely contains itself."""


def nested(value: Any, leaves: list[Any], depth: int = 0) -> Any:
    """The value with each leaf replaced by its position. The leaves are appended to `leaves`.

    Raises ValueError for keys that are neither text nor whole numbers, and for more than DEEPEST levels.
    """
    if depth > DEEPEST:
        raise ValueError(f"nested deeper than {DEEPEST} levels")
    if type(value) is dict:
        if not all(type(key) in (str, int) for key in value):
            raise ValueError("a dict whose keys are neither text nor whole numbers")
        return {key: nested(one, leaves, depth + 1) for key, one in value.items()}
    if type(value) in (list, tuple):
        return type(value)(nested(one, leaves, depth + 1) for one in value)
    leaves.append(value)
    return len(leaves) - 1


def result_of(value: Any, leaves: list[Any]) -> str:
    """The literal of a call's result; "" for one leaf and for a flat list or tuple of leaves.

    Lists count as tuples, dataclasses as dicts of their fields. Dicts are sorted by key. None is not a leaf. Raises
    ValueError as `nested`.
    """
    places: list[Any] = []
    structure = nested(_plain(value), places)
    kept = iter(range(len(places)))
    literal = put_together(structure, [None if one is None else next(kept) for one in places])
    leaves += [one for one in places if one is not None]
    is_flat = type(literal) is int or (type(literal) is tuple and all(type(one) is int for one in literal))
    return "" if is_flat else repr(literal)


def _plain(value: Any, depth: int = 0) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type | Mapping):
        value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if depth > DEEPEST:
        return value
    if isinstance(value, Mapping):
        return {key: _plain(value[key], depth + 1) for key in sorted(value, key=repr)}
    return tuple(_plain(one, depth + 1) for one in value) if isinstance(value, list | tuple) else value


def put_together(structure: Any, leaves: Sequence[Any]) -> Any:
    """The inverse of `nested`."""
    if isinstance(structure, dict):
        return {key: put_together(one, leaves) for key, one in structure.items()}
    if isinstance(structure, list | tuple):
        return type(structure)(put_together(one, leaves) for one in structure)
    return leaves[structure]


def names_of(name: str, structure: Any) -> list[str]:
    """A name for each leaf: "x" for a plain value, "cache.k" or "states.0" for a leaf of a dict or list."""
    if isinstance(structure, dict):
        return [found for key, one in structure.items() for found in names_of(f"{name}.{key}", one)]
    if isinstance(structure, list | tuple):
        return [found for place, one in enumerate(structure) for found in names_of(f"{name}.{place}", one)]
    return [name]


def arguments_from(literal: str, names: Sequence[str], leaves: Sequence[Any]) -> dict[str, Any]:
    """A call's arguments by name. literal: the structure of this dict; "" if each leaf is an argument, named as in
    `names`."""
    if not literal:
        return dict(zip(names, leaves, strict=True))
    arguments: dict[str, Any] = put_together(ast.literal_eval(literal), leaves)
    return arguments
