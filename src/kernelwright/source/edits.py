"""Edits of a source text: nodes of its AST are replaced by new text, and every line keeps its number."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kernelwright.source import parse as syntax
from kernelwright.source.kernels import Kernel, read_kernels
from kernelwright.source.rewrite import line_starts, span
from kernelwright.source.scopes import Reader
from kernelwright.source.tunables import autotune_argument, autotune_list


@dataclass(frozen=True)
class Edit:
    """The text that replaces the nodes from `first` to `last` of one statement list, or of one expression."""

    first: ast.stmt | ast.expr
    last: ast.stmt | ast.expr
    text: str


def edited(source: str, edits: Iterable[Edit]) -> str:
    """`source` with its edits; of nested edits only the outer one. Line breaks that an edit removes are added after its
    text."""
    text = source.encode()
    starts = line_starts(text)
    places = [(*_span(starts, edit), edit) for edit in edits]
    outer: list[tuple[int, int, Edit]] = []
    for place in sorted(places, key=lambda place: (place[0], -place[1])):
        if not outer or place[0] >= outer[-1][1]:
            outer.append(place)
    for start, end, edit in reversed(outer):
        breaks = max(0, text[start:end].count(b"\n") - edit.text.count("\n"))
        if isinstance(edit.first, ast.stmt):
            new = edit.text + "\n" * breaks
        else:
            new = f"({edit.text}" + "\n" * breaks + ")"
        text = text[:start] + new.encode() + text[end:]
    return text.decode()


def block(statements: Sequence[ast.stmt]) -> str:
    """Statements as a text at module level; "pass" where there are none."""
    return "\n".join(ast.unparse(statement) for statement in statements) or "pass"


def narrowed(node: ast.Import | ast.ImportFrom, names: list[ast.alias]) -> str:
    """The text of an import with only these of its names."""
    return ast.unparse(
        ast.Import(names) if isinstance(node, ast.Import) else ast.ImportFrom(node.module, names, node.level)
    )


def _span(starts: list[int], edit: Edit) -> tuple[int, int]:
    decorators = getattr(edit.first, "decorator_list", [])
    line = decorators[0].lineno if decorators else edit.first.lineno
    # The column of a decorated definition is that of its @.
    return starts[line - 1] + edit.first.col_offset, span(starts, edit.last)[1]


def with_one_config(source: str, chosen: Mapping[str, int]) -> str:
    """`source` with one config per autotuned kernel. Triton's tuner would time all configs in the program that uses the
    kernel; only one was judged, and another may change what the kernel does. chosen: by kernel, the index of its
    config, 0 where there is none. Raises `SyntaxError`."""
    reader = Reader(syntax.parse(source))
    edits = [edit for kernel in read_kernels(reader).values()
             if (edit := _edit(source, reader, kernel, chosen.get(kernel.name, 0))) is not None]  # fmt: skip
    return edited(source, edits)


def _edit(source: str, reader: Reader, kernel: Kernel, index: int) -> Edit | None:
    """None where a kernel is not autotuned, or has only one config."""
    given = autotune_argument(kernel)
    written = autotune_list(reader, kernel)
    if given is None:
        return None
    if written is None:
        return Edit(given, given, f"list({ast.unparse(given)})[{index}:{index + 1}]")
    if len(written.elts) == 1 or index >= len(written.elts):
        return None
    return Edit(given, given, f"[{ast.get_source_segment(source, written.elts[index])}]")
