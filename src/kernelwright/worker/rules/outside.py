"""Checks of inline assembly and library functions in a compiled kernel's Triton IR.

The IR contains them however the kernel's body wrote them (by another name, in pieces, by a helper). `assembly` checks
the assembly texts. Library functions have to be those of NVIDIA's libdevice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kernelwright.worker.rules.assembly import NotArithmetic, check_assembly

INLINE = "tt.elementwise_inline_asm"
EXTERN = "tt.extern_elementwise"


def unfair_calls(ttir: str) -> str:
    """Why a kernel's IR is refused for its inline assembly or a library function; "" if it is not."""
    try:
        for line in ttir.split("\n"):
            for text, constraints in _inline(line):
                check_assembly(text, constraints)
            _check_extern(line)
    except NotArithmetic as error:
        return str(error)
    return ""


def _pieces(line: str) -> list[str]:
    """A line of IR, split at its strings: text outside of strings at even positions, their contents at odd ones."""
    return re.split(r'"((?:[^"\\]|\\.)*)"', line)


def _inline(line: str) -> Iterator[tuple[str, str]]:
    """Text and constraints of each inline assembly in a line of IR."""
    pieces = _pieces(line)
    for place, piece in enumerate(pieces):
        if INLINE not in piece or (place % 2 and piece != INLINE):
            continue
        constraints = _attribute(pieces, place + 1, "constraints")
        if place % 2 or not piece.endswith(f"{INLINE} ") or piece.count(INLINE) != 1 or constraints is None:
            raise NotArithmetic("has inline assembly in a form that is not known")
        yield _decoded(pieces[place + 1]), _decoded(constraints)


def outside_functions(line: str) -> Iterator[str | None]:
    """The symbol of each library function that a line of IR calls; None if the call has another form than expected."""
    pieces = _pieces(line)
    for place, piece in enumerate(pieces):
        if EXTERN not in piece or (place % 2 and piece != EXTERN):
            continue
        symbol, path = (_attribute(pieces, place, name) for name in ("symbol", "libpath"))
        yield symbol if piece.count(EXTERN) == 1 and path == "" else None


def _check_extern(line: str) -> None:
    for symbol in outside_functions(line):
        if not re.fullmatch(r"__nv_[a-z0-9_]+", symbol or ""):
            raise NotArithmetic(f"calls the outside function {symbol!r}; only those of libdevice belong in a kernel")


def _attribute(pieces: list[str], start: int, name: str) -> str | None:
    """The first string after `start` that is the value of the attribute `name`."""
    for place in range(start, len(pieces) - 1):
        if place % 2 == 0 and re.search(rf"\b{name} = $", pieces[place]):
            return pieces[place + 1]
    return None


def _decoded(text: str) -> str:
    """An MLIR string with resolved escapes: a backslash before two hexadecimal digits, a quote, a backslash, n or t."""
    plain = {"n": "\n", "t": "\t"}

    def byte(found: re.Match[str]) -> str:
        return chr(int(found[1], 16)) if found[1] else plain.get(found[2], found[2])

    return re.sub(r"\\(?:([0-9A-Fa-f]{2})|(.))", byte, text)
