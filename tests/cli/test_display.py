"""Where progress is drawn."""

from __future__ import annotations

import pytest

from kernelwright.cli.display import wants_live


@pytest.mark.parametrize(
    ("is_terminal", "environment", "live"),
    [
        (True, {"TERM": "xterm"}, True),
        (False, {"TERM": "xterm"}, False),
        (True, {"TERM": "dumb"}, False),
        (True, {}, False),
        (True, {"TERM": "xterm", "NO_COLOR": "1"}, False),
        (True, {"TERM": "xterm", "NO_COLOR": ""}, True),
    ],
)
def test_only_a_willing_terminal_gets_a_live_display(
    is_terminal: bool, environment: dict[str, str], live: bool
) -> None:
    assert wants_live(is_terminal, environment) is live
