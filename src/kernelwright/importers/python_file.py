"""Importer for a file with an entry of candidates (Python, or Markdown with a code block), or a folder of them."""

from __future__ import annotations

from pathlib import Path

from kernelwright.importers.seed import Found, Gathering, text_of
from kernelwright.model import Candidate
from kernelwright.propose.reply import Unusable, code_in

SUFFIXES = (".py", ".md", ".txt")


def claims(path: Path) -> bool:
    return path.is_dir() or path.suffix in SUFFIXES


def read(path: Path, starter: Candidate | None) -> Found:
    gathering = Gathering()
    inside = (one for one in path.glob("*") if one.suffix in SUFFIXES and one.is_file())  # reading a pipe may not end
    files = sorted(inside) if path.is_dir() else [path]
    for file in files:
        name = file.stem if path.is_dir() else path.stem
        try:
            source = text_of(file) if file.suffix == ".py" else code_in(text_of(file))
        except Unusable as error:
            gathering.useless[name] = str(error)
            continue
        gathering.add(name, source, file, {})
    return gathering.found()
