"""Private root file system of a sandboxed process (pivot_root): read-only bind mounts and an empty scratch folder.

It contains only the files of `paths`, under the same names, and a tmpfs as scratch folder: no home, problem or run
folder, no /proc of processes, and no device but null, zero and urandom. Needs a private mount namespace
(`namespaces.own_mounts`).
"""

from __future__ import annotations

import os
from pathlib import Path

from kernelwright.worker.confine.libc import libc
from kernelwright.worker.confine.paths import DEVICES, readable

READ_ONLY, NO_SUID, NO_DEV, REMOUNT, BIND, RECURSIVE, PRIVATE = 1, 2, 4, 0x20, 0x1000, 0x4000, 0x40000  # sys/mount.h
LOCKED = os.ST_RDONLY | os.ST_NOSUID | os.ST_NODEV | os.ST_NOEXEC | os.ST_NOATIME | os.ST_NODIRATIME
"""Flags of an inherited mount that a user namespace must not remove (same values in statvfs.h and sys/mount.h)."""

SCRATCH_BYTES = 64 << 20
DETACH = 2  # MNT_DETACH, sys/mount.h


def own_root(scratch: Path) -> None:
    """Build the file tree on a tmpfs over `scratch` (an empty folder) and make it the root. Only `scratch` is writable.

    If that fails, the old root stays.
    """
    mount(None, Path("/"), None, RECURSIVE | PRIVATE)
    mount("tmpfs", scratch, "tmpfs", NO_SUID | NO_DEV, "size=1m,mode=755")
    try:
        fill(scratch)
        os.chdir(scratch)
        libc("pivot_root", b".", b".")  # the old root now lies over the new one
    except OSError:
        os.chdir("/")
        libc("umount2", str(scratch).encode(), DETACH)
        os.chdir(scratch)
        raise
    libc("umount2", b".", DETACH)
    os.chdir(scratch)


def fill(scratch: Path) -> None:
    """Build the tree in the empty file system at `scratch`, then remount it read-only."""
    for path in readable():
        show(path, scratch)
    for device in DEVICES:
        show(Path(device), scratch, read_only=False)
    inner = beneath(scratch, scratch)
    inner.mkdir(parents=True)
    mount("tmpfs", inner, "tmpfs", NO_SUID | NO_DEV, f"size={SCRATCH_BYTES},nr_inodes=4096,mode=700")
    mount(None, scratch, None, REMOUNT | BIND | READ_ONLY | NO_SUID | NO_DEV)


def beneath(root: Path, path: Path) -> Path:
    return root / path.relative_to("/")


def show(path: Path, root: Path, read_only: bool = True) -> None:
    """Bind-mount a path into the tree under the same name. A path with symbolic links becomes a link to its target."""
    real = path.resolve()
    place = beneath(root, real)
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        place.mkdir() if real.is_dir() else place.touch()
        mount(str(real), place, None, BIND | RECURSIVE)
        if read_only:
            kept = os.statvfs(place).f_flag & LOCKED
            mount(None, place, None, REMOUNT | BIND | READ_ONLY | kept)
    name = beneath(root, path)
    if not os.path.lexists(name):
        name.parent.mkdir(parents=True, exist_ok=True)
        name.symlink_to(real)


def mount(source: str | None, target: Path, kind: str | None, flags: int, data: str | None = None) -> None:
    texts = [None if text is None else text.encode() for text in (source, str(target), kind, data)]
    try:
        libc("mount", texts[0], texts[1], texts[2], flags, texts[3])
    except OSError as error:
        raise OSError(
            error.errno, f"mounting {source or 'flags'} on {target}: {os.strerror(error.errno or 0)}"
        ) from error
