"""Diffs as models write them: found by their text, applied whole, or refused with the hunk that does not fit."""

from __future__ import annotations

import difflib

import pytest

from kernelwright.propose.edits import applied, diff_in
from kernelwright.propose.reply import Unusable
from proposing import KERNEL, OTHER

SOURCE = "a = 1\nb = 2\nc = 3\nd = 4\ne = 5\n"


def test_a_diff_as_tools_write_it_gives_the_other_text() -> None:
    diff = "\n".join(difflib.unified_diff(KERNEL.splitlines(), OTHER.splitlines(), "trial 1", "new", lineterm=""))
    assert applied(KERNEL, diff) == OTHER


@pytest.mark.parametrize(
    ("diff", "expected"),
    [
        ("@@ -90,2 +1,2 @@\n b = 2\n-c = 3\n+c = 33\n", "a = 1\nb = 2\nc = 33\nd = 4\ne = 5\n"),
        (" b = 2\n-c = 3\n+c = 33\n", "a = 1\nb = 2\nc = 33\nd = 4\ne = 5\n"),
        ("@@\n a = 1\n+z = 0\n@@\n d = 4\n-e = 5\n", "a = 1\nz = 0\nb = 2\nc = 3\nd = 4\n"),
        ("--- a/x\n+++ b/x\n@@\n-b = 2   \n", "a = 1\nc = 3\nd = 4\ne = 5\n"),
        ("@@\n e = 5\n+f = 6\n\\ No newline at end of file\n", SOURCE + "f = 6\n"),
        ("@@\n b = 2\n@@\n-c = 3\n", "a = 1\nb = 2\nd = 4\ne = 5\n"),
    ],
    ids=["wrong numbers", "no head", "two hunks", "blanks at the end of a line", "no newline", "a hunk of context"],
)
def test_a_hunk_is_found_by_its_text(diff: str, expected: str) -> None:
    assert applied(SOURCE, diff) == expected


def test_lines_that_begin_with_signs_of_their_own_are_no_heads() -> None:
    assert applied("x = 1\n-- comment\n", "@@\n x = 1\n--- comment\n+++ comment\n") == "x = 1\n++ comment\n"


def test_hunks_are_placed_in_their_order() -> None:
    assert applied("k = 1\nx\nk = 1\nx\n", "@@\n k = 1\n x\n k = 1\n-x\n+y\n") == "k = 1\nx\nk = 1\ny\n"


@pytest.mark.parametrize(
    ("diff", "words"),
    [
        ("@@\n b = 2\n-c = 4\n", "hunk 1 of the diff fits nowhere: it begins with 'b = 2'"),
        ("@@\n a = 1\n+z\n@@\n-a = 1\n", "hunk 2 of the diff fits nowhere"),
        ("@@\n+z = 0\n", "hunk 1 of the diff has no unchanged or removed line to find its place by"),
        ("just words\n", "no line that begins with"),
    ],
)
def test_a_hunk_that_does_not_fit_is_named(diff: str, words: str) -> None:
    with pytest.raises(Unusable, match=words):
        applied(SOURCE, diff)


def test_a_hunk_that_fits_twice_is_refused() -> None:
    with pytest.raises(Unusable, match="fits in 2 places"):
        applied("x = 1\nx = 1\n", "@@\n-x = 1\n+x = 2\n")


def test_the_last_whole_diff_block_counts_and_python_is_none() -> None:
    assert diff_in("```diff\n-a\n```\n\n```diff\n-b\n```\n") == "-b\n"
    assert diff_in("```python\nx = 1\n```\n") is None
    assert diff_in("```diff\n-a\n") is None
