"""A run's report as Markdown, for a pull request or a wiki: the same facts without pictures, prompts and sources.

What a candidate's author wrote cannot break out of its cell.
"""

from __future__ import annotations

from collections.abc import Sequence

from kernelwright.report.content import content_of
from kernelwright.report.tree import Node, Tunings, tree_of
from kernelwright.report.view import RunView
from kernelwright.text.table import Grid, Section


def markdown_page(view: RunView) -> str:
    page = content_of(view)
    parts = [f"# {_inline(page.title)}", _inline(page.subtitle), f"**{_inline(page.verdict)}**"]
    parts += [f"> {warning}" for warning in page.warnings]
    if page.remarks:
        parts.append("\n".join(f"- {_inline(remark)}" for remark in page.remarks))
    for section in page.first:
        parts += _section(section)
    tally = ", ".join(f"{count} {status}" for status, count in page.tally.items())
    parts += ["## Convergence", _block(page.rounds) if view.trials else "", tally]
    for section in page.further:
        parts += _section(section)
    parts += ["## Candidates", "\n".join(_branches(tree_of(view)))]
    for section in page.cost:
        parts += _section(section)
    parts += ["## Control arm", _block(page.control)] if page.control else []
    parts += ["## Environment", _grid(Grid(("", "value"), tuple(page.environment.items()), frozenset({"value"})))]
    parts += ["## How to repeat it", _block("\n".join(page.repeat))]
    return "\n\n".join(part for part in parts if part) + "\n"


def _section(section: Section) -> list[str]:
    notes = "\n".join(f"- {_inline(note)}" for note in section.notes)
    return [f"## {section.title}", notes, _grid(section.grid) if section.grid.rows else ""]


def _grid(grid: Grid) -> str:
    marks = [":--" if column == 0 or name in grid.left else "--:" for column, name in enumerate(grid.header)]
    rows = [grid.header, marks, *grid.rows]
    return "\n".join("| " + " | ".join(_inline(cell) for cell in row) + " |" for row in rows)


def _branches(roots: Sequence[Node]) -> list[str]:
    lines = []
    todo: list[tuple[int, Node | Tunings]] = [(0, node) for node in reversed(roots)]
    while todo:
        depth, node = todo.pop()
        if isinstance(node, Tunings):
            lines.append(f"{'  ' * depth}- {node.text}")
            continue
        words = [f"**{node.number}**", node.operator, node.role if node.role != "parent" else "", node.status]
        words += [node.time, f"({node.gain})" if node.gain else ""]
        note = f": {_inline(node.note)}" if node.note else ""
        lines.append(f"{'  ' * depth}- {' '.join(word for word in words if word)}{note}")
        todo += [(depth + 1, child) for child in reversed(node.branches)]
    return lines


def _inline(text: str) -> str:
    """Text that stays text, on one line."""
    for mark in ("\\", "|", "`", "*", "_", "<", "[", "]"):
        text = text.replace(mark, f"\\{mark}")
    return " ".join(text.split())


def _block(text: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.splitlines())
