"""Text files that the user named: read only where they are files of a sane size, and JSON only as deep as can be read.

It knows no format besides. A named pipe, a device or a folder is an `OSError` like a file that is not
there, since reading one may never end.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path
from typing import Any

LARGEST_BYTES = 64 << 20
"""A recorded space of some thousand configs has a few MB; more is none of the files that are read here."""


def read_text(path: Path) -> str:
    """The text, in UTF-8 with or without a mark. Raises `OSError` and `UnicodeDecodeError`."""
    # A pipe would be waited for.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", str(path))
        content = file.read(LARGEST_BYTES + 1)
    if len(content) > LARGEST_BYTES:
        raise OSError(errno.EFBIG, f"it is larger than {LARGEST_BYTES >> 20} MiB", str(path))
    return content.decode("utf-8-sig")


def parse_json(text: str) -> Any:
    """Raises `ValueError`, also for what is nested too deeply."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
