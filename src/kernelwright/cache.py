"""An on-disk cache of small records by key, shared by the processes of one user: compiled kernels, failed verdicts.

Only its user may open the folder, and no link is followed. Readers validate each record like untrusted input. When the
folder is too large, the oldest entries are removed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import stat
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

import kernelwright
from kernelwright import codec
from kernelwright.errors import ConfigError

ENTRY_BYTES_MAX = 64 << 20
"""Larger files are not stored: cubins of single kernels have some ten to hundred KiB, verdicts less."""

FOLDER_BYTES_MAX = 2 << 30
"""Some twenty thousand compiled kernels."""

KEPT = 0.8
"""Pruning shrinks the folder to this share of its limit, so that not every process has to prune."""

PROGRAM_VARIABLE = "TRITON_PTXAS_PATH"
"""Environment variable that names another assembler than the one that Triton ships."""


class Size(NamedTuple):
    """Number and total bytes of the entries of a folder."""

    entries: int
    bytes: int


class Cache:
    """Records by key, safe for several processes at once."""

    def __init__(self, folder: Path, option: str = "--compile-cache", most_bytes: int = FOLDER_BYTES_MAX) -> None:
        """Create `folder` if it is missing, and remove its oldest entries if they take more than `most_bytes`.

        option: the command-line option that named the folder, for messages. Raises ConfigError unless `folder` is a
        folder that only this user can open.
        """
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._folder = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            raise ConfigError(f"{option} {folder}: {error.strerror}", "name a folder, not a link") from error
        found = os.fstat(self._folder)
        if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
            os.close(self._folder)
            raise ConfigError(f"{option} {folder}: others can open it", f"chmod 700 {folder}")
        self._origin = origin()
        self._prune(most_bytes)

    def fetch(self, key: str) -> object | None:
        """The record stored under `key`, not validated; None if there is no readable one."""
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            with open(os.open(self._name(key), flags, dir_fd=self._folder), "rb") as file:
                return codec.decode(file.read(), object) if is_entry(os.fstat(file.fileno())) else None
        except (OSError, msgspec.DecodeError):
            return None

    def store(self, key: str, answer: object) -> None:
        """Store the record completely or not at all. It is not cached if it is larger than `ENTRY_BYTES_MAX` or the
        disk is full."""
        data = codec.encode(answer)
        if len(data) > ENTRY_BYTES_MAX:
            return
        part = f".{os.getpid()}-{threading.get_ident()}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        with contextlib.suppress(OSError):
            with open(os.open(part, flags, 0o600, dir_fd=self._folder), "wb") as file:
                file.write(data)
            os.replace(part, self._name(key), src_dir_fd=self._folder, dst_dir_fd=self._folder)

    def size(self) -> Size:
        """Number and bytes of the entries."""
        sizes = [found.st_size for _, found in self._entries()]
        return Size(len(sizes), sum(sizes))

    def close(self) -> None:
        os.close(self._folder)

    def _name(self, key: str) -> str:
        return codec.sha(codec.encode([self._origin, key]))

    def _entries(self) -> list[tuple[str, os.stat_result]]:
        """Names and `stat` results of the regular files in the folder; a file that disappears meanwhile is skipped."""
        found = []
        for name in os.listdir(self._folder):
            with contextlib.suppress(OSError):
                facts = os.stat(name, dir_fd=self._folder, follow_symlinks=False)
                if stat.S_ISREG(facts.st_mode):
                    found.append((name, facts))
        return found

    def _prune(self, most_bytes: int) -> None:
        entries = sorted(self._entries(), key=lambda entry: entry[1].st_mtime_ns)
        total = sum(facts.st_size for _, facts in entries)
        if total <= most_bytes:
            return
        for name, facts in entries:
            if total <= most_bytes * KEPT:
                return
            with contextlib.suppress(OSError):
                os.unlink(name, dir_fd=self._folder)
            total -= facts.st_size


def user_folder(variable: str, usual: str, name: str, variables: Mapping[str, str] = os.environ) -> Path:
    """The folder `name` of kernelwright for this user, below the folder in `variable`, or below ~/`usual` if that is
    not set to an absolute path (XDG Base Directory Specification)."""
    home = variables.get(variable, "")
    return (Path(home) if os.path.isabs(home) else Path.home() / usual) / "kernelwright" / name


def is_entry(found: os.stat_result) -> bool:
    """Whether a file can be an entry: a regular file of this user, not writable by others, with one hard link and at
    most `ENTRY_BYTES_MAX` bytes."""
    is_own = found.st_uid == os.geteuid() and not found.st_mode & 0o022 and found.st_nlink == 1
    return stat.S_ISREG(found.st_mode) and is_own and found.st_size <= ENTRY_BYTES_MAX


def origin() -> str:
    """Hash of everything besides the key that a record depends on: kernelwright's Python files (with the judge's
    rules), the Python version and a user's own assembler.

    A record from another version of kernelwright, which may refuse other kernels, is therefore never used.
    """
    found = hashlib.sha256(platform.python_version().encode())
    package = Path(kernelwright.__file__).parent
    files = sorted(package.rglob("*.py"))
    assembler = os.environ.get(PROGRAM_VARIABLE)
    for file in [*files, *([Path(assembler)] if assembler else [])]:
        data = file.read_bytes() if file.is_file() else b""
        found.update(hashlib.sha256(data).digest())
    return found.hexdigest()
