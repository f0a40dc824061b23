"""A known word that a mistyped one may stand for."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """ "did you mean softmax?", or "" where no known word is alike."""
    alike = difflib.get_close_matches(word, list(known), n=1)
    return f"did you mean {alike[0]}?" if alike else ""
