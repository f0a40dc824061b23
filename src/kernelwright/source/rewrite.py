"""Writing other values of tunables into a source text.

The text changes only where a value differs, so comments, layout and line ends survive, and the default config returns
the same text.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

from kernelwright.errors import ConfigError
from kernelwright.source.kernels import read_kernels
from kernelwright.source.names import AUTOTUNE
from kernelwright.source.scopes import Reader
from kernelwright.source.tunables import Place, find_places, parse


def apply_config(source: str, config: Mapping[str, int]) -> str:
    """`source` with the values of `config` written in; `autotune:` keys are left to the worker.

    Raises `ConfigError` for a source that does not parse, a key it does not have, or a value that is not a choice.
    """
    if not config:
        return source
    reader = parse(source)
    if reader is None:
        raise ConfigError(
            f"cannot apply the config {dict(config)}: the source does not parse as Python", "correct its syntax first"
        )
    places = {place.tunable.key: place for place in find_places(reader)}
    edits: list[tuple[int, int, str]] = []
    text = source.encode()
    starts = line_starts(text)
    for key, value in config.items():
        place = places.get(key)
        if place is None:
            check_unread_key(reader, key, value, tuple(places))
            continue
        if type(value) is not int or value not in place.tunable.choices:
            choices = ", ".join(map(str, place.tunable.choices))
            raise ConfigError(f"{key} cannot be {value!r} in this source: expected one of {choices}")
        if place.node is not None and value != place.tunable.default:
            edits.append(edit_for(text, starts, place, value))
    # Two keywords may go in at one position: the sort keeps them in a fixed order.
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new.encode() + text[end:]
    return text.decode()


def autotune_choices(config: Mapping[str, int]) -> dict[str, int]:
    """The index of the chosen `triton.autotune` config, by kernel."""
    return {key.removeprefix(AUTOTUNE): value for key, value in config.items() if key.startswith(AUTOTUNE)}


def check_unread_key(reader: Reader, key: str, value: int, known: tuple[str, ...]) -> None:
    """Accepts `autotune:` keys of kernels whose configs are computed, since only the worker can count those. Raises
    `ConfigError` for any other key."""
    kernel = read_kernels(reader).get(key.removeprefix(AUTOTUNE))
    if key.startswith(AUTOTUNE) and kernel is not None and kernel.autotuned is not None:
        if type(value) is not int or value < 0:
            raise ConfigError(f"{key} cannot be {value!r}: expected the index of one of the kernel's configs, from 0")
        return
    has = ", ".join(known) if known else "no tunables at all"
    raise ConfigError(f"this source has no tunable {key!r}: it has {has}")


def line_starts(text: bytes) -> list[int]:
    """The byte at which each line starts, as the parser counts lines (it takes \\r and \\r\\n for \\n too)."""
    return [0, *(match.end() for match in re.finditer(rb"\r\n|\r|\n", text))]


def edit_for(text: bytes, starts: list[int], place: Place, value: int) -> tuple[int, int, str]:
    """The start and end of the bytes to replace, and the new text."""
    node = place.node
    if isinstance(node, ast.Constant):
        start, end = span(starts, node)
        return start, end, str(value)
    if not isinstance(node, ast.Call):
        raise TypeError(f"{place.tunable.key} has no place in the text")
    given = [*node.args, *(keyword.value for keyword in node.keywords)]
    close = span(starts, node)[1] - 1
    at = after_last_argument(text, max(span(starts, argument)[1] for argument in given), close)
    return at, at, f", {place.option}={value}"


def span(starts: list[int], node: ast.stmt | ast.expr) -> tuple[int, int]:
    """The start and end of a node in bytes. The parser's columns count UTF-8 bytes already."""
    end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
    return starts[node.lineno - 1] + node.col_offset, starts[end_line - 1] + end_column


def after_last_argument(text: bytes, end: int, close: int) -> int:
    """The position just after the last argument, including its own parentheses, which are not in the AST."""
    at, position = end, end
    while position < close:
        if text[position : position + 1] == b"#":
            line_end = re.compile(rb"[\r\n]").search(text, position)
            position = line_end.start() if line_end else close
        elif text[position : position + 1] == b")":
            position += 1
            at = position
        else:
            position += 1
    return at
