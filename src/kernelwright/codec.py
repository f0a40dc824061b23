"""JSON encoding and decoding of records, and SHA-256 of bytes and text.

A record's JSON is canonical (sorted keys), so its hash is the same on every machine and Python version.
"""

from __future__ import annotations

import functools
import hashlib
import threading
from typing import Any, TypeVar, get_args

import msgspec

T = TypeVar("T")

_encoder = msgspec.json.Encoder(order="deterministic")

_reading = threading.Lock()


def encode(value: Any) -> bytes:
    """Canonical JSON of a record, or of plain data that contains records."""
    return _encoder.encode(value)


def document_text(value: Any) -> str:
    """Indented JSON of a record, or of plain data that contains records, for people and other programs."""
    return msgspec.json.format(encode(value), indent=2).decode()


def decode(data: bytes | str, type: type[T]) -> T:
    """The record in `data`; raises `msgspec.ValidationError` if it does not fit `type`."""
    _read(type)
    return msgspec.json.decode(data, type=type)


def plain(value: Any) -> Any:
    """A record as dicts, lists, strings and numbers."""
    return msgspec.to_builtins(value)


def record(value: Any, type: type[T]) -> T:
    """The inverse of `plain`."""
    _read(type)
    return msgspec.convert(value, type)


def shared(value: msgspec.Struct, kind: type[msgspec.Struct]) -> dict[str, Any]:
    """The fields of a record that records of `kind` have too, by name."""
    return {name: getattr(value, name) for name in value.__struct_fields__ if name in kind.__struct_fields__}


def parameter_of(kind: type) -> Any:
    """The T of a class that is derived from `Base[T]`."""
    return get_args(kind.__orig_bases__[0])[0]  # type: ignore[attr-defined]


def _read(type: Any) -> None:
    """Have msgspec read the annotations of `type` in one thread: where two threads do so at once, version 0.22 crashes
    the process now and then."""
    with _reading:
        _read_once(type)


@functools.cache
def _read_once(type: Any) -> None:
    msgspec.json.Decoder(type)


def sha(data: bytes | str) -> str:
    """SHA-256 of bytes or UTF-8 text, in hex."""
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()
