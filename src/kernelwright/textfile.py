"""Reads text files that the user named, up to a size limit, and parses JSON.

A named pipe, a device or a folder raises `OSError` like a missing file, since reading one may never end.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

LARGEST_BYTES = 64 << 20
"""Larger files are refused. A recorded space of some thousand configs has a few MB."""


def read_text(path: Path) -> str:
    """The text, in UTF-8 with or without a byte order mark. Raises `OSError` and `UnicodeDecodeError`."""
    # Reading a pipe could wait forever.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", str(path))
        content = file.read(LARGEST_BYTES + 1)
    if len(content) > LARGEST_BYTES:
        raise OSError(errno.EFBIG, f"it is larger than {LARGEST_BYTES >> 20} MiB", str(path))
    return content.decode("utf-8-sig")


def read_given(path: Path, fault: Callable[[str, str], Exception], hint: str, what: str = "") -> str:
    """The text of a file that the user named; raises a `fault` with the hint. what: words before the path."""
    try:
        return read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise fault(f"{what}{path} cannot be read: {error}", hint) from error


def parse_json(text: str) -> Any:
    """Raises `ValueError` for text that is not JSON or is nested too deeply."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
