"""The skeleton of a kernel: its loops, its stores and the whole numbers that they depend on, from Triton's IR (TTIR).

A compiler makes it once for all launches with the same code. `work_of` evaluates it for each launch.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any

import msgspec


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One operation. kind: its name in TTIR, or "argument" (text: the parameter), "program" or "programs" (text: the
    axis), "constant" (number: its value), "for" (its value is the index; text: the line of the source), "while",
    "store" (text: the parameter whose memory it changes, "" if that is not known; number: bytes), or "operations" (for
    all of one loop, without inner ones; number: how many).

    operands: positions of other lines, -1 for what is not known; of "for" start, end and step. number: otherwise the
    bits of the result. inside: position of the loop around it; -1 for none.
    """

    kind: str
    operands: tuple[int, ...] = ()
    text: str = ""
    number: Annotated[int, msgspec.Meta(ge=-(1 << 62), le=1 << 62)] = 0
    inside: int = -1


MOST_LINES = 1 << 13
Skeleton = Annotated[tuple[Line, ...], msgspec.Meta(max_length=MOST_LINES)]
"""() for a kernel that may store in a way that is not known here."""

WHOLE = ("addi", "subi", "muli", "divsi", "remsi", "minsi", "maxsi", "extsi", "extui", "trunci", "index_cast", "select")
"""Operations on whole numbers that are evaluated."""

STORES = ("store", "atomic_rmw", "atomic_cas", "descriptor_store", "descriptor_reduce", "descriptor_scatter")
SAME_BASE = ("addptr", "splat", "broadcast", "expand_dims", "reshape", "trans", "bitcast", "make_tensor_descriptor")
HARMLESS = {*SAME_BASE, "load", "descriptor_load", "descriptor_gather", "select", "if", "for", "while", "yield",
            "condition", "func", "return", "ptr_to_int"}  # fmt: skip
"""Operations on pointers that store nothing."""

STEP = re.compile(r"\s*(?:(%\w+)(?::\d+)? = )?\"?(?:\w+\.)*(\w+)(.*?)(?: loc\(.*)?$")
NAMED = re.compile(r"(%\w+)(?::\d+)? =|(%\w+): ")
"""A name of TTIR where it gets its value. Names are used again in other regions."""


def parameters_of(signature: dict[str, Any]) -> list[str]:
    """The parameters of a compiled function in TTIR: those of the kernel that are no constants, "t.0" for the first
    item of a tuple, and "" for the sizes and strides that follow a tensor descriptor."""
    found: list[str] = []
    for name, kind in signature.items():
        if isinstance(kind, tuple | list):
            found += parameters_of({f"{name}.{place}": one for place, one in enumerate(kind)})
        elif kind != "constexpr":
            rank = kind.partition("[")[2].count(",") + 1 if kind.startswith("tensordesc") else 0
            found += [name, *[""] * 2 * rank]
    return found


def named_in(ttir: str, parameters: Sequence[str]) -> dict[str, str]:
    """The parameters by their names in TTIR, which may be those of other variables; {} if their number differs."""
    function = re.search(r"^ *tt\.func public .*", ttir, re.M)
    names = re.findall(r"(%\w+): ", function[0]) if function else []
    return dict(zip(names, parameters, strict=True)) if len(names) == len(parameters) else {}


def skeleton(ttir: str, parameters: Sequence[str], source_of: Callable[[str], str]) -> Skeleton:
    """The skeleton of a compiled kernel. parameters: see `parameters_of`. source_of: the line of the source that a line
    of TTIR was compiled from."""
    reader, named = _Reader(source_of), named_in(ttir, parameters)
    for name, parameter in named.items():
        reader.base[name] = parameter
        reader.add(Line(kind="argument", text=parameter), name)
    is_known = len(named) == len(parameters) and all(reader.read(text) for text in ttir.splitlines())
    reader.lines += [Line(kind="operations", number=count, inside=loop) for loop, count in reader.operations.items()]
    return tuple(_needed(reader.lines)) if is_known and len(reader.lines) <= MOST_LINES else ()


class _Reader:
    """lines: what was read. known: by the name of a value, its line; base: by that of a pointer, its parameter. around:
    for each open region, the loop in which it lies. operations: how many there are, by loop."""

    def __init__(self, source_of: Callable[[str], str]) -> None:
        self.source_of = source_of
        self.lines: list[Line] = []
        self.known: dict[str, int] = {}
        self.base: dict[str, str] = {}
        self.around: list[int] = []
        self.operations = Counter[int]()

    def read(self, text: str) -> bool:
        """Read a line of TTIR; returns whether all that it may store is known."""
        loop, opens = self.around[-1] if self.around else -1, text.endswith("{")
        step = STEP.match(text)
        if text.lstrip().startswith("}"):
            self._close(text, opens)
        elif text.lstrip().startswith("^"):
            self._forget(text)
        elif text.startswith("#") or step is None:
            pass
        elif step[2] == "func":
            self.around.append(-1)
        else:
            is_known, inner = self._step(step[1] or "", step[2], step[3], text, loop)
            if not is_known:
                return False
            self.around += [inner] * opens
        return True

    def _close(self, text: str, opens: bool) -> None:
        """The end of a region. That of a loop has its place in the source."""
        inner = self.around.pop() if self.around else -1
        outer = self.around[-1] if self.around else -1
        if opens:  # `} else {`, `} do {`
            self.around.append(inner)
        elif inner != outer and self.lines[inner].kind == "for":
            self.lines[inner] = msgspec.structs.replace(self.lines[inner], text=self.source_of(text)[:200])

    def _step(self, name: str, kind: str, rest: str, text: str, loop: int) -> tuple[bool, int]:
        """Read an operation. Returns whether it is known, and the loop in which its regions lie."""
        self.operations[loop] += 1
        names = re.findall(r"%\w+", rest)
        operands = tuple(self.known.get(one, -1) for one in names)
        base = self.base.get(names[0], "") if names and kind in (*SAME_BASE, *STORES) else ""
        self._forget(text)
        if kind in STORES:
            self.add(Line(kind="store", text=base, number=_bytes(kind, rest), inside=loop))
        elif kind == "call" or (re.search(r"!tt\.(?:ptr|tensordesc)", rest) and kind not in HARMLESS):
            return False, loop
        elif kind == "for":
            return True, self.add(Line(kind=kind, operands=operands[1:4], inside=loop), names[0])
        elif kind == "while":
            return True, self.add(Line(kind=kind, inside=loop))
        elif kind in ("get_program_id", "get_num_programs"):
            self.add(Line(kind="program" if kind == "get_program_id" else "programs", text=rest.split()[0]), name)
        elif kind == "constant" and (number := re.match(r" (-?\d+) : i\d+$", rest)):
            self.add(Line(kind=kind, number=int(number[1])), name)
        elif kind in WHOLE and (bits := re.search(r" i(\d+)$", rest)):
            self.add(Line(kind=kind, operands=operands, number=int(bits[1])), name)
        self.base |= {name: base} if base and name else {}
        return True, loop

    def _forget(self, text: str) -> None:
        """Forget what the names were before that get a value here."""
        for one in NAMED.findall(text):
            self.known.pop(one[0] or one[1], None)
            self.base.pop(one[0] or one[1], None)

    def add(self, line: Line, name: str = "") -> int:
        self.lines.append(line)
        self.known |= {name: len(self.lines) - 1} if name else {}
        return len(self.lines) - 1


def _bytes(kind: str, rest: str) -> int:
    """Bytes of a store, from the type of its pointers, or of the value that goes through a descriptor."""
    types = re.findall(r"tensor<((?:\d+x)+)[a-z]+(\d+)", rest)[-1:] if "descriptor" in kind else []
    types = types or re.findall(r"(?:tensor<((?:\d+x)+))?!tt\.ptr<[a-z]+(\d+)", rest)
    if not types:
        return 1 << 60
    lanes, bits = types[0]
    return math.prod(int(one) for one in lanes.split("x") if one) * max(int(bits) // 8, 1)


def _needed(lines: list[Line]) -> Iterator[Line]:
    """Loops, stores and numbers of operations, and the lines that they depend on."""
    kept, roots = set[int](), ("for", "while", "store", "operations")
    waiting = [at for at, line in enumerate(lines) if line.kind in roots]
    while waiting:
        at = waiting.pop()
        if at >= 0 and at not in kept:
            kept.add(at)
            waiting += [*lines[at].operands, lines[at].inside]
    place = {old: new for new, old in enumerate(sorted(kept))}
    for old in sorted(kept):
        operands = tuple(place.get(one, -1) for one in lines[old].operands)
        yield msgspec.structs.replace(lines[old], operands=operands, inside=place.get(lines[old].inside, -1))
