"""Text of converted code."""

from __future__ import annotations

import ast
from collections.abc import Container, Sequence

LONGEST = 120


def called(function: str, words: Sequence[str], indent: str) -> str:
    """A call, or the head of a definition, broken into lines of at most `LONGEST` characters."""
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


def wrapped(line: str) -> str:
    """The line, broken where it is too long and is a call or an assignment of a call."""
    text = line.lstrip()
    if len(line) <= LONGEST or text.endswith(":"):
        return line
    (statement,) = ast.parse(text).body
    match statement:
        case ast.Assign(targets=[target], value=ast.Call() as call):
            function = f"{ast.unparse(target).strip('()')} = {ast.unparse(call.func)}"
        case ast.Expr(value=ast.Call() as call):
            function = ast.unparse(call.func)
        case _:
            return line
    indent = line[: len(line) - len(text)]
    words = [*map(ast.unparse, call.args), *(f"{one.arg}={ast.unparse(one.value)}" for one in call.keywords)]
    return indent + called(function, words, indent)


def tuple_of(words: Sequence[str]) -> str:
    return f"({', '.join(words)}{',' * (len(words) == 1)})"


def refusal(test: str, words: str) -> list[str]:
    """Host code that raises an error where a test is true."""
    return [f"if {test}:", f'    raise ValueError("{words.replace(chr(34), chr(39))}")']


def free_name(plain: str, taken: Container[str]) -> str:
    """The name, with a number where it is taken."""
    return next(one for n in range(1, 1000) if (one := plain if n == 1 else f"{plain}_{n}") not in taken)
