"""Reads a candidate from a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kernelwright.errors import RequestError
from kernelwright.model import Candidate
from kernelwright.source import apply_config
from kernelwright.textfile import read_text


def read_candidate(file: str | Path, config: Mapping[str, int] | None = None) -> Candidate:
    """The candidate whose source is in `file`, with values for its tunables.

    Source that does not parse is for the worker to judge, unless there is a config: a tunable that the source does not
    have raises `RequestError`, and so does a file that is missing or not UTF-8.
    """
    path = Path(file)
    if not path.is_file():
        raise RequestError(
            f"no candidate file at {str(file)!r}", "give the path of a Python file with ModelNew or kernel_function"
        )
    try:
        source = read_text(path)
    except UnicodeDecodeError as error:
        raise RequestError(f"{file} is not text in UTF-8 (byte {error.start})", "give a Python file") from error
    if config:
        apply_config(source, config)
    return Candidate(source=source, config=dict(config or {}))
