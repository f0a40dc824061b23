"""The plain text table."""

from __future__ import annotations

from kernelwright.text.table import indented, table


def test_numbers_align_right_and_names_left() -> None:
    text = table(["case", "time", "verdict"], [["small", "9.1", "tie"], ["x", "100.2", "faster"]], left=("verdict",))
    assert text.splitlines() == ["case    time  verdict", "small    9.1  tie", "x      100.2  faster"]


def test_indenting_leaves_empty_lines_empty() -> None:
    assert indented("a\n\nb") == "  a\n\n  b"
