"""A plain text table: aligned columns without lines, for files, logs and narrow terminals.

The first column and the columns named in `left` are aligned left; all others contain numbers and are aligned right.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence


def table(header: Sequence[str], rows: Sequence[Sequence[str]], left: Collection[str] = ()) -> str:
    """`rows` under `header`, with two spaces between columns and no trailing blanks."""
    for row in rows:
        assert len(row) == len(header), (header, row)
    lines = [header, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    leftward = [column == 0 or name in left for column, name in enumerate(header)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if reads_left else cell.rjust(width)
            for cell, width, reads_left in zip(line, widths, leftward, strict=True)
        ).rstrip()
        for line in lines
    )


def indented(text: str, by: str = "  ") -> str:
    """`text` with every line that is not empty indented."""
    return "\n".join(by + line if line else line for line in text.splitlines())
