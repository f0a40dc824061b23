"""Files of a run's folder, written without following a link.

A run's folder may come from elsewhere. A symbolic link in it could lead a write to any file of the user, so every part
of a path below the folder is opened with O_NOFOLLOW, and a file is replaced whole instead of opened. The folder itself
may be reached by a link: the user named it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from kernelwright.errors import RequestError, RunFolderError

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def write_file(root: Path, name: str, content: str | bytes, durable: bool = False) -> Path:
    """Write `root`/`name` whole or not at all, making the folders on the way; gives the path.

    name: relative, with "/" between its parts. A link in the place of the file is replaced, not followed. durable:
    wait until the content is on the disk. Raises `RunFolderError`, also for a link in the place of a folder.
    """
    data = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    parent, last = _split(name)
    temporary = f".{last[:200]}.part"
    with _said(root, name, "write"), _opened(root, parent, make=True) as folder:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=folder)  # of a process that was killed
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(temporary, flags, 0o644, dir_fd=folder)
        try:
            with open(descriptor, "wb") as file:
                file.write(data)
                if durable:
                    file.flush()
                    os.fsync(descriptor)
            os.replace(temporary, last, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:  # an interrupt, too: no temporary file stays
            with contextlib.suppress(OSError):
                os.unlink(temporary, dir_fd=folder)
            raise
    return root / name


def make_folder(root: Path, name: str) -> Path:
    """Make the folder `root`/`name` and those on the way, where they are not there; gives the path."""
    with _said(root, name, "make"), _opened(root, _parts(name), make=True):
        return root / name


def fresh_folder(home: Path, name: str) -> Path:
    """Make the folder `home`/`name`, with a number appended where that is taken. No two calls get the same folder, also
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
    """Remove the file or the link `root`/`name`, if it is there."""
    parent, last = _split(name)
    with _said(root, name, "remove"), contextlib.suppress(FileNotFoundError), _opened(root, parent) as folder:
        os.unlink(last, dir_fd=folder)


def remove_folder(root: Path, name: str) -> None:
    """Remove the folder `root`/`name` with all in it, if it is there; links in it are removed, not followed."""
    parent, last = _split(name)
    with _said(root, name, "remove"), contextlib.suppress(FileNotFoundError), _opened(root, parent) as folder:
        os.close(os.open(last, _FOLDER, dir_fd=folder))  # a link to a folder is refused like any other
        shutil.rmtree(root / name)


def read_file(root: Path, name: str) -> bytes | None:
    """What the regular file `root`/`name` holds; None where there is none. Raises `RunFolderError` for a link."""
    parent, last = _split(name)
    with _said(root, name, "read"), contextlib.suppress(FileNotFoundError), _opened(root, parent) as folder:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with open(os.open(last, flags, dir_fd=folder), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise RunFolderError(f"{root / name} is no ordinary file", "remove it")
            return file.read()
    return None


def open_locked(root: Path, name: str) -> int:
    """A descriptor of the regular file `root`/`name`, made where it is not there, to read and write."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with _said(root, name, "write"):
        descriptor = os.open(root / name, flags, 0o644)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise RunFolderError(f"{root / name} is no ordinary file", "remove it")
        return descriptor


def require_empty(folder: Path) -> None:
    """Raise `RequestError` where `folder`, which is to be written, is a file or holds something."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise RequestError(f"{folder} is not empty", "name another folder with --out, or remove it")


def refuse_links(root: Path) -> None:
    """Raise `RunFolderError` for the first link anywhere in the folder: kernelwright makes none."""
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
    """A descriptor of the folder below `root`, reached part by part."""
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
    """What the system refuses is a fault of the run's folder, with the path."""
    try:
        yield
    except OSError as error:
        # Linux says ELOOP for a link in the place of a file, ENOTDIR for one in the place of a folder.
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
