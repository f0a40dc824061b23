"""Python source as a tree."""

from __future__ import annotations

import pytest

from kernelwright.source import parse as syntax


def test_a_complaint_names_the_line_only_where_there_is_one() -> None:
    with pytest.raises(SyntaxError) as caught:
        syntax.parse("x = 1\nf(:\n")
    assert syntax.complaint(caught.value).startswith("line 2: ")
    assert syntax.complaint(caught.value, "a.py").startswith("a.py, line 2: ")
    assert syntax.complaint(SyntaxError("null bytes")) == "null bytes"
    assert syntax.complaint(SyntaxError("null bytes"), "a.py") == "a.py: null bytes"
    assert syntax.complaint(SyntaxError()) == "SyntaxError"
