"""Machine code of one launch: a cubin and its launch metadata, from a sandboxed compiler to the bench of a GPU.

It contains no Python of a candidate, and every field of the metadata has a type and a range. The supervisor stores it
in a folder under the hash of its content; the loader checks that hash.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from kernelwright import codec
from kernelwright.devices.backend import BACKEND

Size = Annotated[int, Meta(ge=0, le=1 << 30)]
"""Bytes of shared memory or scratch."""

SCALAR = re.compile(r"constexpr|\*?k?[a-z][a-z0-9]{0,15}|tensordesc<[a-z][a-z0-9]{0,15}\[[0-9, ]{1,64}\]>")
"""A type in a signature as Triton writes it: a number (i32, fp32), a pointer (\\*fp32), or a tensor descriptor."""

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,511}")


Number = Annotated[int, Meta(ge=0, le=1 << 16)]
Map = dict[str, bool | Number | tuple[Number, ...]]
"""Tile layout of one tensor descriptor for TMA (swizzle, element, block), with Triton's names."""


class Metadata(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of a compiled kernel's metadata that Triton's loader and launcher read."""

    name: str
    num_warps: Annotated[int, Meta(ge=1, le=64)]
    num_ctas: Annotated[int, Meta(ge=1, le=16)] = 1
    shared: Size = 0
    tmem_size: Size | None = None
    cluster_dims: tuple[int, ...] = (1, 1, 1)
    global_scratch_size: Size = 0
    global_scratch_align: Number = 1
    profile_scratch_size: Size = 0
    profile_scratch_align: Number = 1
    launch_cooperative_grid: bool = False
    launch_pdl: bool = False
    tensordesc_meta: tuple[Map, ...] | None = None


class MachineCode(msgspec.Struct, frozen=True, kw_only=True):
    """One compiled launch. signature: each parameter's name and type, in order; a tuple's type is a tuple."""

    cubin: bytes
    metadata: Metadata
    signature: tuple[tuple[str, Any], ...]


def check(code: MachineCode) -> None:
    """Raises ValueError for machine code that no compiler makes of an allowed kernel."""
    if not NAME.fullmatch(code.metadata.name):
        raise ValueError(f"the kernel's name is {code.metadata.name[:80]!r}")
    if code.metadata.launch_pdl:
        raise ValueError("it may start before the previous launch has ended (launch_pdl): leave launch_pdl out")
    for name, kind in code.signature:
        if not name.isidentifier() or not is_type(kind):
            raise ValueError(f"the parameter {name[:80]!r} has the type {str(kind)[:80]!r}")


def is_type(kind: Any) -> bool:
    if isinstance(kind, list | tuple):
        return all(is_type(item) for item in kind)
    return isinstance(kind, str) and SCALAR.fullmatch(kind) is not None


def key_of(kernels: str, launch: str, *more: str) -> str:
    """Key of the machine code of a launch: a hash over everything that determines it.

    kernels: a hash of the whole extracted module, with its imports, constants and helper functions. launch: see
    `plan.launch_identity`. more: target and versions.
    """
    return codec.sha(codec.encode([kernels, launch, *more]))


def store(code: MachineCode, folder: Path) -> str:
    """Write machine code to `folder`; returns the file's name, a hash of its content."""
    data = codec.encode(code)
    name = hashlib.sha256(data).hexdigest()
    path = folder / name
    if not path.exists():
        folder.mkdir(exist_ok=True)
        part = path.with_suffix(f".{time.monotonic_ns()}")
        part.write_bytes(data)
        part.replace(path)
    return name


def fetch(name: str, folder: Path) -> MachineCode:
    """The machine code that `store` wrote under this name; raises ValueError if the file has other contents."""
    data = (folder / name).read_bytes()
    if hashlib.sha256(data).hexdigest() != name:
        raise ValueError(f"{folder / name} does not hold the machine code that was compiled")
    code = codec.decode(data, MachineCode)
    check(code)
    return code


def metadata_file(code: MachineCode, capability: int) -> str:
    """The metadata as JSON for Triton's loader. capability: compute capability of the GPU, such as 90."""
    target = {"backend": BACKEND.name, "arch": capability, "warp_size": BACKEND.warp_threads}
    return json.dumps(codec.plain(code.metadata) | {"target": target})
