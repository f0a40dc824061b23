"""Versions of packages, compared as `packaging.version` does. Pre-releases are left out."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

CALLS = frozenset({"packaging.version.parse", "packaging.version.Version"})
"""Functions that make a version of a text."""

ATTRIBUTES = frozenset({"major", "minor", "micro", "release", "base_version"})

FORM = re.compile(r"v?(\d+(?:\.\d+)*)(?:\.post(\d+))?(\+[\w.]+)?")


@dataclass(frozen=True, order=True)
class Version:
    """compared: the release without zeros at its end. post: number of the post-release, -1 for none. is_local: whether
    the version has a local part, such as +cu130."""

    compared: tuple[int, ...]
    post: int
    is_local: bool
    release: tuple[int, ...] = field(compare=False)

    @property
    def major(self) -> int:
        return self.release[0]

    @property
    def minor(self) -> int:
        return self.release[1] if len(self.release) > 1 else 0

    @property
    def micro(self) -> int:
        return self.release[2] if len(self.release) > 2 else 0

    @property
    def base_version(self) -> str:
        return ".".join(map(str, self.release))


def version(text: str) -> Version:
    """Raises ValueError for a text of another form."""
    found = FORM.fullmatch(text)
    if found is None:
        raise ValueError(text)
    release = tuple(map(int, found[1].split(".")))
    length = max((place for place, number in enumerate(release, 1) if number), default=0)
    return Version(release[:length], int(found[2] or -1), found[3] is not None, release)
