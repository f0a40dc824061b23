"""Suggestions for mistyped names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """ "did you mean softmax?", or "" if no known word is similar."""
    alike = difflib.get_close_matches(word, list(known), n=1)
    return f"did you mean {alike[0]}?" if alike else ""
