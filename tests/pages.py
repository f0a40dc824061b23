"""The pages that people and coding agents read, taken apart: links, headings and code, as a Markdown parser sees them.

It checks nothing. An example can be imported off its page, so that the page is the only copy of it. The rule: headings
get the anchors that a code host gives them, so that a link works there and on the site.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *(ROOT / "benchmarks").glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "gallery").glob("*.md"),
        *ROOT.glob("src/kernelwright/*.md"),
        *ROOT.glob("gallery/*/*.md"),
    ]
)


@dataclass(frozen=True)
class Code:
    """language: "" where none is stated. inline: a phrase within a sentence."""

    text: str
    language: str
    line: int
    inline: bool = False


@cache
def tokens(page: Path) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(page.read_text(encoding="utf-8"))


def within(page: Path) -> Iterator[tuple[int, Token]]:
    """What stands within sentences, with the line on which their block begins."""
    for token in tokens(page):
        for child in token.children or ():
            yield (token.map or [0])[0] + 1, child


def links(page: Path) -> list[tuple[int, str]]:
    """(line, where it leads) of every link and picture."""
    found = [(line, token.attrs.get("href") or token.attrs.get("src")) for line, token in within(page)]
    return [(line, str(target)) for line, target in found if target is not None]


def codes(page: Path) -> list[Code]:
    """Every block of code and every phrase of it."""
    blocks = [
        Code(token.content, token.info.split(" ")[0], (token.map or [0])[0] + 1)
        for token in tokens(page)
        if token.type in ("fence", "code_block")
    ]
    phrases = [Code(token.content, "", line, True) for line, token in within(page) if token.type == "code_inline"]
    return [*blocks, *phrases]


def headings(page: Path) -> list[str]:
    """The words of every heading, in order, without their marks."""
    stream = tokens(page)
    titles = [stream[place + 1].children or [] for place, token in enumerate(stream) if token.type == "heading_open"]
    return ["".join(token.content for token in title) for title in titles]


def anchors(page: Path) -> set[str]:
    """What `#…` may say of a page: lower case, punctuation dropped, blanks to hyphens; a second one is numbered."""
    seen: Counter[str] = Counter()
    found = set()
    for heading in headings(page):
        slug = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        found.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
        seen[slug] += 1
    return found


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> tuple[dict[str, str], list[str]]:
    """The Python on a page: whole files by the path that their first line states, and the fragments between."""
    texts = [code.text for code in codes(page) if code.language == "python"]
    stated = {text: re.match(r"# ([\w./]+\.py)\n", text) for text in texts}
    return {match[1]: text for text, match in stated.items() if match}, [text for text in texts if not stated[text]]


def example(page: Path, folder: Path) -> tuple[ModuleType, list[str]]:
    """The one file of a page as a module, which stands in `folder`, and the page's fragments."""
    files, fragments = blocks(page)
    [(path, text)] = files.items()
    file = folder / Path(path).name
    file.write_text(text, encoding="utf-8")
    name = f"example_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # records look their annotations up there
    spec.loader.exec_module(module)
    return module, fragments


def run(fragment: str, names: dict[str, Any]) -> None:
    """A fragment among these names, which it adds to."""
    exec(compile(fragment, "a page", "exec", dont_inherit=True), names)


def entry(line: str, names: Mapping[str, Any]) -> tuple[str, Any]:
    """The name and the value of a line of a table, such as `"beam": beam,`, read among these names."""
    [(name, value)] = eval(f"{{{line.strip()}}}", dict(names)).items()
    return name, value
