"""Escapes untrusted text for printing.

Characters that move the cursor, set colours, erase text or change the direction of writing are replaced by escape
sequences, so that none controls a terminal or is invisible to a reader. HTML and JSON have their own escaping.
"""

from __future__ import annotations

import json
import re

ACTS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")
"""Control characters except tab and newline, Unicode characters without width or that change the direction of writing,
and lone surrogates."""

UNFIT = re.compile(f"[\t\n\"'`\\\\]|{ACTS.pattern}")
"""What the name of a problem or a run may not have: quotes, backslashes, and what is not visible."""

NO_TEXT = re.compile("[\x00\ud800-\udfff]")


def encodable(text: str) -> str:
    """`text` with every lone surrogate (not encodable in UTF-8) and every NUL replaced by U+FFFD."""
    return NO_TEXT.sub("\ufffd", text)


def legible(text: str) -> str:
    """`text` with the characters of `ACTS` as Python escapes: an escape character becomes the four characters \\x1b."""
    return ACTS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def is_fit(name: str) -> bool:
    """Whether a problem or a run may have this name."""
    return UNFIT.search(name) is None


def in_code(text: str) -> str:
    """`text` as a part of a docstring or string of Python, or of a string of TOML."""
    return legible(json.dumps(text, ensure_ascii=False)[1:-1])


def one_line(text: str) -> str:
    """`text` on one line."""
    return legible(" ".join(text.split()))


def comment(text: str) -> str:
    return f"# {one_line(text)}\n"


def legible_json(document: str) -> str:
    """A JSON document with the characters of `ACTS` as JSON escapes; its meaning stays the same, because outside of
    strings a document has none of them but line ends."""
    return ACTS.sub(lambda found: f"\\u{ord(found[0]):04x}", document)


def legible_source(source: str) -> str:
    """A Python source with the characters of `ACTS` as Python escapes, except line ends and form feeds."""
    lines = source.replace("\r\n", "\n").split("\n")
    return "\n".join("\f".join(map(legible, line.split("\f"))) for line in lines)


def acting(text: str) -> tuple[int, str] | None:
    """Line (1-based) and escape of the first character of `ACTS`, ignoring form feeds and carriage returns; None if
    there is none."""
    for number, line in enumerate(text.split("\n"), 1):
        found = ACTS.search(line.replace("\r", "").replace("\f", ""))
        if found is not None:
            return number, found[0].encode("unicode_escape").decode()
    return None
