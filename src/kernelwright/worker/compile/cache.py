"""Compiled launches kept in a folder, for later workers of the same machine (`--compile-cache`).

Only the supervisor opens the folder. It stores what a compiler answered under a name that it computed, and checks an
entry that it reads as it checks a compiler's answer. Compilers and recorders are confined to their own empty folders.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import stat
import threading
from pathlib import Path
from typing import Any

import msgspec

import kernelwright
from kernelwright import codec
from kernelwright.errors import ConfigError

ENTRY_BYTES_MAX = 64 << 20
"""A larger file is no entry: cubins of single kernels have some ten to hundred KiB."""

PROGRAM_VARIABLE = "TRITON_PTXAS_PATH"
"""How a user names another assembler; Triton's own belongs to the version of Triton."""


class CompileCache:
    """Answers of compilers by key (see `machine_code.key_of`), safe for several workers at once."""

    def __init__(self, folder: Path) -> None:
        """Make `folder` where it is missing. Raises ConfigError unless it is a folder that only this user can open."""
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._folder = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            raise ConfigError(f"--compile-cache {folder}: {error.strerror}", "name a folder, not a link") from error
        found = os.fstat(self._folder)
        if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
            os.close(self._folder)
            raise ConfigError(f"--compile-cache {folder}: others can open it", f"chmod 700 {folder}")
        self._origin = origin()

    def fetch(self, key: str) -> dict[str, Any] | None:
        """The answer that was stored under `key`; None where there is none that can be read."""
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            with open(os.open(self._name(key), flags, dir_fd=self._folder), "rb") as file:
                found = os.fstat(file.fileno())
                usual = stat.S_ISREG(found.st_mode) and found.st_size <= ENTRY_BYTES_MAX
                return codec.decode(file.read(), dict[str, Any]) if usual else None
        except (OSError, msgspec.DecodeError):
            return None

    def store(self, key: str, answer: dict[str, Any]) -> None:
        """Write the answer whole or not at all. A full disk is no error: the next worker compiles it again."""
        part = f".{os.getpid()}-{threading.get_ident()}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        with contextlib.suppress(OSError):
            with open(os.open(part, flags, 0o600, dir_fd=self._folder), "wb") as file:
                file.write(codec.encode(answer))
            os.replace(part, self._name(key), src_dir_fd=self._folder, dst_dir_fd=self._folder)

    def close(self) -> None:
        os.close(self._folder)

    def _name(self, key: str) -> str:
        return codec.sha(codec.encode([self._origin, key]))


def origin() -> str:
    """Hash of what makes an answer beside the key: kernelwright's own files, Python, and an assembler that was named.

    So an entry of another version of kernelwright, whose compiler may refuse other kernels, is never used.
    """
    found = hashlib.sha256(platform.python_version().encode())
    package = Path(kernelwright.__file__).parent
    files = sorted(package.rglob("*.py"))
    assembler = os.environ.get(PROGRAM_VARIABLE)
    for file in [*files, *([Path(assembler)] if assembler else [])]:
        data = file.read_bytes() if file.is_file() else b""
        found.update(hashlib.sha256(data).digest())
    return found.hexdigest()
