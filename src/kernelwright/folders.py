"""Reads and writes files of a run's folder without following symbolic links.

A run's folder may come from another person. A symbolic link in it could lead a write to any file of the user, so every
part of a path below the folder is opened with O_NOFOLLOW, and a file is replaced whole instead of opened. The path of
the folder itself may contain links, because the user named it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

from kernelwright.errors import RequestError, RunFolderError

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def write_file(root: Path, name: str, content: str | bytes, durable: bool = False) -> Path:
    """Write `root`/`name` completely or not at all, create the folders on its path, and return the path.

    name: relative, with "/" between its parts. If the file is a link, the link is replaced, not followed. durable:
    wait until the content is on the disk. Raises `RunFolderError`, also if a folder on the path is a link.
    """
    data = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    parent, last = _split(name)
    temporary = f".{last[:200]}.{os.getpid()}-{threading.get_ident()}.part"
    with _said(root, name, "write"), _opened(root, parent, make=True) as folder:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=folder)  # left by a killed process with the same number
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(temporary, flags, 0o644, dir_fd=folder)
        try:
            with open(descriptor, "wb") as file:
                file.write(data)
                if durable:
                    file.flush()
                    os.fsync(descriptor)
            os.replace(temporary, last, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:  # also for an interrupt: leave no temporary file
            with contextlib.suppress(OSError):
                os.unlink(temporary, dir_fd=folder)
            raise
    return root / name


def make_folder(root: Path, name: str) -> Path:
    """Create the folder `root`/`name` and its parents where they are missing; return the path."""
    with _said(root, name, "make"), _opened(root, _parts(name), make=True):
        return root / name


def fresh_folder(home: Path, name: str) -> Path:
    """Create the folder `home`/`name`, with a number appended if that exists. No two calls get the same folder, even
    from different processes."""
    home.mkdir(parents=True, exist_ok=True)
    for number in range(1, 10_000):
        path = home / (name if number == 1 else f"{name}-{number}")
        try:
            path.mkdir()
        except FileExistsError:
            continue
        return path
    raise RunFolderError(f"{home / name} and 10 000 others with a number behind it are taken", "name one with --out")


def remove_file(root: Path, name: str) -> None:
    """Remove the file or link `root`/`name` if it exists."""
    parent, last = _split(name)
    with _said(root, name, "remove"), contextlib.suppress(FileNotFoundError), _opened(root, parent) as folder:
        os.unlink(last, dir_fd=folder)


def remove_folder(root: Path, name: str) -> None:
    """Remove the folder `root`/`name` and its content if it exists; links in it are removed, not followed."""
    parent, last = _split(name)
    with _said(root, name, "remove"), contextlib.suppress(FileNotFoundError), _opened(root, parent) as folder:
        os.close(os.open(last, _FOLDER, dir_fd=folder))  # a link to a folder is refused like any other
        shutil.rmtree(root / name)


def read_file(root: Path, name: str) -> bytes | None:
    """The content of the regular file `root`/`name`; None if it is missing. Raises `RunFolderError` for a link."""
    parent, last = _split(name)
    with _said(root, name, "read"), contextlib.suppress(FileNotFoundError), _opened(root, parent) as folder:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with open(os.open(last, flags, dir_fd=folder), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise RunFolderError(f"{root / name} is no ordinary file", "remove it")
            return file.read()
    return None


def open_locked(root: Path, name: str) -> int:
    """A descriptor to read and write the regular file `root`/`name`, which is created if missing. It takes no lock."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with _said(root, name, "write"):
        descriptor = os.open(root / name, flags, 0o644)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise RunFolderError(f"{root / name} is no ordinary file", "remove it")
        return descriptor


def require_empty(folder: Path) -> None:
    """Raise `RequestError` if `folder`, which is to be written, is a file or is not empty."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise RequestError(f"{folder} is not empty", "name another folder with --out, or remove it")


def require_writable(file: Path) -> None:
    """Raise `RequestError` where `file`, which the user named, cannot be written. An existing file keeps its content,
    and no new file is left behind.
    """
    there = file.exists() or file.is_symlink()
    if there and not (file.is_file() or file.is_dir()):
        return  # Opening a pipe here would look like the end of the document to its reader; a link may lead nowhere.
    try:
        with file.open("ab"):
            pass
    except OSError as error:
        raise RequestError(
            f"{file} cannot be written: {error.strerror}", "name a file in a folder that is there and yours"
        ) from error
    if not there:
        file.unlink()


def refuse_links(root: Path) -> None:
    """Raise `RunFolderError` for the first link anywhere in the folder: kernelwright creates none."""
    todo = [root]
    while todo:
        folder = todo.pop()
        with _said(folder, "", "read"), os.scandir(folder) as entries:
            for entry in sorted(entries, key=lambda one: one.name):
                if entry.is_symlink():
                    raise _link(Path(entry.path))
                if entry.is_dir(follow_symlinks=False):
                    todo.append(Path(entry.path))


@contextlib.contextmanager
def _opened(root: Path, parts: tuple[str, ...], make: bool = False) -> Iterator[int]:
    """A descriptor of the folder at `parts` below `root`, opened part by part. make: create missing parts."""
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, 0o755, dir_fd=folder)
            below = os.open(part, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = below
        yield folder
    finally:
        os.close(folder)


@contextlib.contextmanager
def _said(root: Path, name: str, what: str) -> Iterator[None]:
    """Convert an `OSError` of the block into a `RunFolderError` with the path."""
    try:
        yield
    except OSError as error:
        # Linux gives ELOOP if the file is a link, and ENOTDIR if a folder on its path is one.
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            parts = name.split("/")
            below = [root.joinpath(*parts[: end + 1]) for end in range(len(parts))]
            if (found := next((path for path in below if path.is_symlink()), None)) is not None:
                raise _link(found) from error
        raise RunFolderError(f"cannot {what} {root / name}: {error.strerror or error}") from error


def _link(path: Path) -> RunFolderError:
    return RunFolderError(
        f"{path} is a link, and a run's folder may hold none", "remove it, or put what it leads to there"
    )


def _split(name: str) -> tuple[tuple[str, ...], str]:
    *parent, last = _parts(name)
    return tuple(parent), last


def _parts(name: str) -> tuple[str, ...]:
    parts = tuple(name.split("/"))
    if not all(part and part not in (".", "..") for part in parts):
        raise ValueError(f"{name!r} is no path below a folder")
    return parts
