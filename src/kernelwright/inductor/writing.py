"""How converted code is laid out."""

from __future__ import annotations

from collections.abc import Sequence

LONGEST = 120


def called(function: str, words: Sequence[str], indent: str) -> str:
    """A call, or the head of a definition, in lines that can be read."""
    line = f"{function}({', '.join(words)})"
    if len(indent) + len(line) <= LONGEST:
        return line
    rows = [""]
    for word in words:
        if rows[-1] and len(indent) + 4 + len(rows[-1]) + len(word) + 2 > LONGEST:
            rows.append("")
        rows[-1] += f"{' ' if rows[-1] else ''}{word},"
    between = f"\n{indent}    "
    return f"{function}({between}{between.join(rows)}\n{indent})"
