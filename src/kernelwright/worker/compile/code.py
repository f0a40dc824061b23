"""Instruction counts of a kernel's machine code: memory accesses by width, tensor instructions, barriers. Needs no GPU.

Each instruction of the text counts once, however often it runs. So a width, or a count of 0, tells more than a count.
Instructions come from SASS if there is an nvdisasm (Triton brings one), otherwise from PTX; each counter names its
source.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import triton

from kernelwright.model import Counter

NVDISASM = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "nvdisasm"

KINDS = {
    "code_global_loads": ("LDG", "LDGSTS", "ld.global", "cp.async.ca", "cp.async.cg"),
    "code_global_stores": ("STG", "st.global"),
    "code_local_accesses": ("LDL", "STL", "ld.local", "st.local"),
    "code_shared_accesses": ("LDS", "STS", "LDSM", "STSM", "ld.shared", "st.shared", "ldmatrix", "stmatrix"),
    "code_async_copies": ("LDGSTS", "cp.async.ca", "cp.async.cg"),
    "code_bulk_copies": ("UTMALDG", "UTMASTG", "UBLKCP", "cp.async.bulk"),
    "code_atomics": ("ATOM", "ATOMG", "RED", "REDG", "UTMAREDG", "atom", "red"),
    "code_tensor_instructions": ("HMMA", "HGMMA", "IMMA", "IGMMA", "QMMA", "QGMMA", "OMMA", "DMMA", "BMMA", "BGMMA",
                                 "UTCHMMA", "UTCQMMA", "UTCIMMA", "UTCOMMA", "mma", "wgmma.mma_async", "tcgen05.mma"),
    "code_barriers": ("BAR", "bar", "barrier"),
    "code_special_functions": ("MUFU", "ex2", "lg2", "rcp", "rsqrt", "sqrt", "sin", "cos", "tanh"),
}  # fmt: skip
"""Kinds of instructions: opcodes of SASS and PTX, or their beginnings up to a dot."""

WIDE = ("code_global_loads", "code_global_stores")
"""Kinds with a second counter: the mean number of bytes that a thread moves with one instruction."""

SASS_BYTES = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16, "256": 32}
MOVING = ("ld.global", "st.global", "cp.async.ca", "cp.async.cg")
BRANCH = re.compile(r"^\s*\$?\w+:\s*$|^.*\bbra\b.*$", re.M)
"""A label or a branch: the end of a basic block of PTX."""

PTX_LINE = re.compile(r"^\s*(?:@!?%\w+\s+)?(?:\{\s*)?([a-z][\w.:]*)\s+([^;]*);", re.M)
SASS_LINE = re.compile(r"^\s*/\*[0-9a-f]+\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)", re.M)


class Instruction(NamedTuple):
    """One instruction. opcode: all its parts, split at the dots. bytes: moved by a thread; None if the opcode does not
    tell."""

    opcode: tuple[str, ...]
    bytes: int | None


def code_counters(cubin: bytes, ptx: str) -> tuple[Counter, ...]:
    """Instruction counters of one compiled kernel."""
    text = disassembled(cubin)
    if text is not None:
        return counted(list(sass(text)), "nvdisasm")
    return counted(list(ptx_instructions(ptx)), "ptx")


def disassembled(cubin: bytes) -> str | None:
    """The SASS of a cubin; None without nvdisasm, or if it does not know this architecture."""
    if not NVDISASM.is_file():
        return None
    ended = read_by(NVDISASM, "-c", cubin)
    return ended.stdout if ended.returncode == 0 and SASS_LINE.search(ended.stdout) else None


def read_by(tool: Path, option: str, cubin: bytes) -> subprocess.CompletedProcess[str]:
    """A run of a program of Triton's toolchain that reads a cubin."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        return subprocess.run([str(tool), option, file.name], capture_output=True, text=True, timeout=60)


def sass(text: str) -> Iterator[Instruction]:
    for match in SASS_LINE.finditer(text):
        opcode = tuple(match[1].split("."))
        yield Instruction(opcode, next((SASS_BYTES[part] for part in opcode if part in SASS_BYTES), 4))


def ptx_instructions(text: str) -> Iterator[Instruction]:
    for match in PTX_LINE.finditer(text):
        opcode = tuple(match[1].replace("::", ".").split("."))
        if opcode[:2] == ("cp", "async"):
            size = re.search(r"\],\s*(0x[0-9a-f]+|\d+)", match[2][match[2].find("],") + 1 :])
            yield Instruction(opcode, int(size[1], 0) if size else None)
            continue
        bits = next((int(part[1:]) for part in opcode if re.fullmatch(r"[bufs]\d+", part)), None)
        lanes = next((int(part[1:]) for part in opcode if re.fullmatch(r"v[248]", part)), 1)
        yield Instruction(opcode, bits * lanes // 8 if bits is not None else None)


def moved_bytes(ptx: str) -> int | None:
    """Bytes of global memory that a thread moves in the basic block that moves most; None if no block moves any, as
    with bulk copies, which belong to no single thread."""
    stretches = (ptx_instructions(text) for text in BRANCH.split(ptx))
    moved = (sum(one.bytes or 0 for one in stretch if is_one_of(one.opcode, MOVING)) for stretch in stretches)
    return max(moved) or None


def counted(instructions: list[Instruction], tool: str) -> tuple[Counter, ...]:
    """Counters of all kinds. A kind without instructions has a counter of 0. tool: source of the instructions."""
    found = [Counter(name="code_instructions", value=len(instructions), unit="instructions", tool=tool)]
    for name, opcodes in KINDS.items():
        of_kind = [one for one in instructions if is_one_of(one.opcode, opcodes)]
        found.append(Counter(name=name, value=len(of_kind), unit="instructions", tool=tool))
        widths = [one.bytes for one in of_kind if one.bytes is not None]
        if name in WIDE and widths:
            mean = sum(widths) / len(widths)
            width = name.removesuffix("s") + "_width"
            found.append(Counter(name=width, value=mean, unit="bytes/instruction", tool=tool))
    return tuple(found)


def is_one_of(opcode: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    return any(opcode[: len(name)] == name for name in (tuple(one.split(".")) for one in wanted))
