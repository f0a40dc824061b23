"""Unified diffs in replies: finding a diff, and applying it to the kernel that it changes. Pure.

Line numbers are ignored, because models miscount them: a hunk is found by its text. A hunk that fits nowhere, or in
more than one place, is an error with its number and first line.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernelwright.propose.reply import Unusable, blocks

LANGUAGES = ("diff", "patch")


@dataclass(frozen=True)
class Hunk:
    """old: the lines to replace, context included. new: the lines that replace them."""

    old: tuple[str, ...]
    new: tuple[str, ...]


def diff_in(text: str) -> str | None:
    """The last complete block that is marked as a diff; None where there is none."""
    found = [block.text for block in blocks(text) if block.closed and block.language in LANGUAGES]
    return found[-1] if found else None


def applied(source: str, diff: str) -> str:
    """`source` with every hunk of `diff` applied. Raises `Unusable`."""
    lines, start = source.splitlines(), 0
    found = hunks(diff)
    if not found:
        raise Unusable("the diff has no line that begins with + or -")
    for number, hunk in enumerate(found, 1):
        at = place(lines, hunk, start, number)
        lines[at : at + len(hunk.old)] = hunk.new
        start = at + len(hunk.new)
    return "\n".join(lines) + "\n"


def hunks(diff: str) -> list[Hunk]:
    """The hunks in their order. File headers and lines such as "@@ -1,4 +1,6 @@" only separate them."""
    groups: list[list[str]] = [[]]
    lines = diff.splitlines()
    heads = {at + more for at in range(len(lines)) if is_head(lines, at) for more in (0, 1)}
    for at, line in enumerate(lines):
        if line.startswith("@@"):
            groups.append([])
        elif at not in heads and not line.startswith("\\"):
            groups[-1].append(line or " ")
    changed = [group for group in groups if any(line[0] in "+-" for line in group)]
    return [
        Hunk(tuple(line[1:] for line in group if line[0] != "+"), tuple(line[1:] for line in group if line[0] != "-"))
        for group in changed
    ]


def is_head(lines: list[str], at: int) -> bool:
    """Whether the two lines from `at` on are a file header: at the very start, or followed by a hunk."""
    first, second, third = (*lines[at : at + 3], "", "")[:3]
    return first.startswith("--- ") and second.startswith("+++ ") and (at == 0 or third.startswith("@@"))


def place(lines: list[str], hunk: Hunk, start: int, number: int) -> int:
    """The line where a hunk fits, at or after line `start`; trailing blanks are ignored. Raises `Unusable`."""
    if not hunk.old:
        raise Unusable(f"hunk {number} of the diff has no unchanged or removed line to find its place by")
    wanted = [line.rstrip() for line in hunk.old]
    have = [line.rstrip() for line in lines]
    found = [at for at in range(start, len(have) - len(wanted) + 1) if have[at : at + len(wanted)] == wanted]
    if len(found) != 1:
        where = "nowhere" if not found else f"in {len(found)} places"
        raise Unusable(f"hunk {number} of the diff fits {where}: it begins with {hunk.old[0].strip()!r}")
    return found[0]
