"""What a candidate or a model wrote cannot act on the terminal that it is shown on, nor hide in a source."""

from __future__ import annotations

import pytest

from kernelwright.text.escape import acting, legible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2K\x1b[32mpassed", "\\x1b[2K\\x1b[32mpassed"),
        ("wrong\rpassed", "wrong\\rpassed"),
        ("\x9b2J", "\\x9b2J"),
        ("a\u202eb", "a\\u202eb"),
        ("\x07\x00", "\\x07\\x00"),
        ("line\n\tnext: 24.55 µs ≤ ×2 é 語", "line\n\tnext: 24.55 µs ≤ ×2 é 語"),
    ],
)
def test_what_would_act_on_a_terminal_is_written_out_and_nothing_else(text: str, shown: str) -> None:
    assert legible(text) == shown


def test_a_character_that_hides_in_a_source_is_found_with_its_line() -> None:
    assert acting("x = 1\n# a\u2066b\n") == (2, "\\u2066")
    assert acting("x = 1\r\n\f# µs\n") is None
