"""Reading a reply: its module, note and author, or why it cannot be used. Pure.

The worker judges the code. Only a block with both of its fences counts, so that a cut-off block is not taken for a
complete one.
"""

from __future__ import annotations

import ast
import functools
import re
from dataclasses import dataclass

from kernelwright.codec import sha
from kernelwright.entries import has_entry
from kernelwright.model import Candidate, Trial
from kernelwright.source import parse as syntax

OPENING = re.compile(r"^ {0,3}(?P<fence>`{3,}|~{3,})[ \t]*(?P<language>[\w+-]*)[^`\n]*$")
PYTHON = ("python", "py", "python3")
ENTRY_POINTS = ("ModelNew", "kernel_function")
NOTE_CHARACTERS = 300
LARGEST_SOURCE = 1 << 17
"""Maximum characters of a module. The longest kernel in the gallery has a tenth of this, and line-by-line comparison of
sources takes minutes for a megabyte."""
LONGEST_FENCE = 200
"""Maximum characters of a line that can open a block."""


class Unusable(Exception):
    """A reply has no usable candidate; the message is for its writer."""


@dataclass(frozen=True)
class Block:
    language: str
    text: str
    closed: bool


def blocks(text: str) -> list[Block]:
    """The fenced blocks of a Markdown text, in order; the last one may be unclosed."""
    found: list[Block] = []
    opening: re.Match[str] | None = None
    lines: list[str] = []
    for line in text.splitlines():
        if opening is None:
            opening = OPENING.match(line) if len(line) <= LONGEST_FENCE else None
            lines = []
        elif closes(line, opening["fence"]):
            found.append(Block(opening["language"].lower(), "\n".join(lines) + "\n", closed=True))
            opening = None
        else:
            lines.append(line)
    if opening is not None:
        found.append(Block(opening["language"].lower(), "\n".join(lines) + "\n", closed=False))
    return found


def closes(line: str, fence: str) -> bool:
    """Whether a line is a fence of the same kind, at least as long, with nothing after it."""
    bare = line.strip()
    return len(bare) >= len(fence) and set(bare) == {fence[0]}


def has_whole_block(text: str) -> bool:
    return any(block.closed and block.language in (*PYTHON, "") for block in blocks(text))


def code_in(text: str) -> str:
    """The module in a reply: its last complete Python block, else its last complete unmarked one. Raises `Unusable`."""
    found = blocks(text)
    whole = [block for block in found if block.closed]
    marked = [block for block in whole if block.language in PYTHON]
    chosen = (marked or [block for block in whole if not block.language])[-1:]
    if chosen:
        return chosen[0].text
    if found and not found[-1].closed:
        raise Unusable("the reply ends inside its code block: it was cut off")
    raise Unusable("the reply has no fenced Python block")


def checked(source: str) -> str:
    """`source`, if it is a module with an entry point. Raises `Unusable`."""
    if len(source) > LARGEST_SOURCE:
        raise Unusable(f"the code has {len(source)} characters; at most {LARGEST_SOURCE} are read")
    try:
        tree = syntax.parse(source)
    except (SyntaxError, ValueError) as error:
        where = f" at line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        what = error.msg if isinstance(error, SyntaxError) else str(error)
        raise Unusable(f"the code does not parse as Python{where}: {what}") from error
    defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    if not has_entry(tree):
        names = ", ".join(sorted(defined)) or "nothing"
        raise Unusable(f"the code defines neither {' nor '.join(ENTRY_POINTS)} (it defines {names})")
    return source


def candidate_in(text: str, trials: tuple[Trial, ...], in_flight: tuple[Candidate, ...] = ()) -> Candidate:
    """The candidate in a reply. Raises `Unusable`, also for a candidate that the run had before."""
    return new_candidate(checked(code_in(text)), trials, in_flight)


def new_candidate(source: str, trials: tuple[Trial, ...], in_flight: tuple[Candidate, ...] = ()) -> Candidate:
    """The candidate with this source and no config. Raises `Unusable` where the run had the same code before."""
    candidate = Candidate(source=source)
    for trial in trials:
        if trial.proposal.candidate is not None and same(trial.proposal.candidate, candidate):
            raise Unusable(f"the code is the same as that of trial {trial.number}")
    if any(same(other, candidate) for other in in_flight):
        raise Unusable("the code is that of a candidate which is being evaluated")
    return candidate


def same(one: Candidate, other: Candidate) -> bool:
    """Whether two candidates have the same code and config; comments, docstrings and layout are ignored."""
    return one.config == other.config and code_hash(one.source) == code_hash(other.source)


@functools.lru_cache(maxsize=1024)
def code_hash(source: str) -> str:
    """Hash of a module's AST without docstrings; of its text where it does not parse."""
    try:
        tree = syntax.parse(source)
    except (SyntaxError, ValueError):
        return sha(" ".join(source.split()))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node, clean=False):
            node.body = node.body[1:]
    return sha(ast.dump(tree))


def note_in(text: str) -> str:
    """The line that starts with "Note:", else the first line before the code; one line."""
    before: list[str] = []
    for line in text.splitlines():
        bare = line.strip().lstrip("#*>- ").replace("**", "")
        if bare.lower().startswith("note:"):
            return bare[len("note:") :].strip()[:NOTE_CHARACTERS]
        if len(line) <= LONGEST_FENCE and OPENING.match(line):
            break
        if before or author_in(line) is None:
            before.append(bare)
    return next((line for line in before if line), "")[:NOTE_CHARACTERS]


def expected_in(text: str) -> float | None:
    """The speedup that a line such as "Expect: 1.3x" promises; None where there is none."""
    found = re.search(r"^[#*>\- ]*Expect:\**\s*(\d{1,6}(?:\.\d{1,6})?)(?![\d.e])", text, re.M | re.I)
    return float(found[1]) if found and float(found[1]) > 0 else None


def diagnosis_in(text: str) -> str:
    """The text after "Diagnosis:", such as "overruled, because …", about the diagnosis in the prompt; "" without such a
    line."""
    found = re.search(r"^[#*>\- ]*Diagnosis:\**\s*(.+)$", text, re.M | re.I)
    return found[1].strip()[:NOTE_CHARACTERS] if found else ""


def docstring_line(source: str) -> str:
    """The first line of a module's docstring, "" where it has none."""
    try:
        docstring = ast.get_docstring(syntax.parse(source))
    except (SyntaxError, ValueError):
        return ""
    return (docstring or "").split("\n", 1)[0][:NOTE_CHARACTERS]


def author_in(text: str) -> str | None:
    """The author from a first line "author: NAME", which may be a comment; None without it."""
    first = text.lstrip("\ufeff").split("\n", 1)[0].strip().lstrip("#").strip()
    key, colon, name = first.partition(":")
    name = " ".join(name.split())
    return name if colon and key.strip().lower() == "author" and name else None
