"""Reads a candidate from a file, together with what the file uses of its package."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

from kernelwright.errors import RequestError
from kernelwright.model import Candidate
from kernelwright.source import apply_config
from kernelwright.source.merge import merged

log = logging.getLogger(__name__)


def read_candidate(file: str | Path, config: Mapping[str, int] | None = None) -> Candidate:
    """The candidate whose source is in `file`, with values for its tunables. What it uses of other modules of its
    package is copied into the source, and a warning says so.

    Source that does not parse is for the worker to judge, unless there is a config: a tunable that the source does not
    have raises `RequestError`, and so does a file that is missing or not UTF-8.
    """
    path = Path(file)
    if not path.is_file():
        raise RequestError(
            f"no candidate file at {str(file)!r}", "give the path of a Python file with ModelNew or kernel_function"
        )
    try:
        found = merged(path)
    except UnicodeDecodeError as error:
        raise RequestError(f"{file} is not text in UTF-8 (byte {error.start})", "give a Python file") from error
    if found.names:
        copied = "; ".join(f"{', '.join(names)} from {name}" for name, names in found.names.items())
        log.warning("%s: copied %s; in messages its lines after %d are %d higher", file, copied, found.line, found.more)
    if config:
        apply_config(found.text, config)
    return Candidate(source=found.text, config=dict(config or {}))
