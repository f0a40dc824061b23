"""Text that others wrote, made safe to print.

Characters that would move the cursor, colour, erase or turn the direction of writing are written out, so that none acts
on a terminal or hides from a reader. HTML and JSON have their own escaping.
"""

from __future__ import annotations

import re

ACTS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")
"""Control characters but tab and newline, and those of Unicode that have no width or change the direction."""

NO_TEXT = re.compile("[\x00\ud800-\udfff]")


def encodable(text: str) -> str:
    """`text` with every lone surrogate, which UTF-8 cannot express, and every NUL replaced by U+FFFD."""
    return NO_TEXT.sub("\ufffd", text)


def legible(text: str) -> str:
    """`text` with such characters as Python writes them: an escape character becomes the four characters \\x1b."""
    return ACTS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def legible_json(document: str) -> str:
    """A JSON document in which such characters are escaped as JSON does; it means the same. Outside of texts a document
    has none but line ends."""
    return ACTS.sub(lambda found: f"\\u{ord(found[0]):04x}", document)


def legible_source(source: str) -> str:
    """A Python source with such characters written out; line ends and form feeds are ordinary in one."""
    lines = source.replace("\r\n", "\n").split("\n")
    return "\n".join("\f".join(map(legible, line.split("\f"))) for line in lines)


def acting(text: str) -> tuple[int, str] | None:
    """Line (1-based) and name of the first such character, None where there is none; form feeds and carriage returns
    are ordinary in a source."""
    for number, line in enumerate(text.split("\n"), 1):
        found = ACTS.search(line.replace("\r", "").replace("\f", ""))
        if found is not None:
            return number, found[0].encode("unicode_escape").decode()
    return None
