"""Inline PTX of kernels: an allow-list of arithmetic instructions, in a straight line that writes every output.

An assembly text may use its operands, registers that it declares, and numbers. Special registers, memory, labels,
calls and branches are refused: a GPU would execute them, and the CPU interpreter cannot check them because it runs no
assembly. A register that is written under a predicate (`@p`) counts as written once another instruction writes it
under the opposite predicate (`@!p`), so that no instruction reads a leftover value.
"""

from __future__ import annotations

import re

_ARITHMETIC = """
abs add bfe bfi bfind bmsk brev clz dp2a dp4a div fns mad mad24 max min mul mul24 neg popc rem sad sub szext
copysign cos ex2 fma lg2 rcp rsqrt sin sqrt tanh testp
selp set setp slct
and cnot lop3 not or shf shl shr xor
cvt mov prmt
"""

ARITHMETIC = frozenset(_ARITHMETIC.split())
"""Instructions whose only effect is their result. PTX ISA 8.7, chapter 9.7, one line for each part: integer arithmetic;
floating point (also half and mixed precision); comparison and selection; logic and shift; data movement and conversion
between registers. Extended-precision arithmetic is missing, because it reads a carry flag of another instruction."""

_MODIFIERS = """
b8 b16 b32 b64 u8 u16 u32 u64 s8 s16 s32 s64 u16x2 s16x2 f16 f16x2 bf16 bf16x2 f32 f32x2 f64 tf32 pred
e4m3 e5m2 e4m3x2 e5m2x2 e4m3x4 e5m2x4 e2m1x2 e2m1x4 e2m3x2 e2m3x4 e3m2x2 e3m2x4 ue8m0x2
rn rna rz rm rp rni rzi rmi rpi rs ftz sat satfinite relu approx full oob hi lo wide
eq ne lt le gt ge ls hs equ neu ltu leu gtu geu num nan NaN xorsign abs and or xor
finite infinite number notanumber normal subnormal l r clamp wrap shiftamt pack f4e b4e rc8 ecl ecr rc16
"""

MODIFIERS = frozenset(_MODIFIERS.split())
"""Allowed suffixes of an instruction: types, rounding, comparisons and modes. `cc` (the carry flag) is missing."""

REGISTERS = frozenset({"pred", "b8", "b16", "b32", "b64", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64",
                       "f16", "f16x2", "f32", "f64"})  # fmt: skip
"""Types of registers that a text may declare."""

CONSTRAINT = re.compile(r"(=&?)?[chrlfdq]|n")
"""The constraint of an operand in a register, or of an input that is a constant number. Memory, symbols, clobbers and
tied operands do not match."""

TOKEN = re.compile(
    r"(?P<space>\s+)|(?P<operand>\$\d{1,4}(?!\d))"
    r"|(?P<number>0[xX][0-9a-fA-F]+U?|0[bB][01]+U?|0[fF][0-9a-fA-F]{8}|0[dD][0-9a-fA-F]{16}"
    r"|\d+\.\d*(?:[eE][+-]?\d+)?|\d+U?)(?![\w.])"
    r"|(?P<word>[A-Za-z_]\w*(?:\.\w+)*)|(?P<directive>\.[a-z]\w*)|(?P<mark>[{}<>,;|!@-])"
    r"|(?P<other>%[%\w.]*|.)"
)


Guard = tuple[str, bool]
"""A predicate register, and the value for which an instruction runs."""


class NotArithmetic(ValueError):
    """Inline assembly, or a call of a library function (`outside`), is not on the allow-list."""


def check_assembly(text: str, constraints: str) -> None:
    """Raise NotArithmetic unless `text` is arithmetic that writes every output in `constraints`."""
    every = [constraint.strip() for constraint in constraints.split(",")]
    for constraint in every:
        if not CONSTRAINT.fullmatch(constraint):
            raise NotArithmetic(_because(f"the constraint {constraint!r}: operands are plain registers and numbers"))
    outputs = sum(constraint.startswith("=") for constraint in every)
    if any(constraint.startswith("=") for constraint in every[outputs:]):
        raise NotArithmetic(_because("constraints with an output behind an input"))
    _Text(_tokens(_without_comments(text)), outputs, len(every)).check()


def _because(what: str) -> str:
    return f"has inline assembly with {what}; only arithmetic on its operands belongs there"


def _without_comments(text: str) -> str:
    text = text.replace("\r\n", "\n")
    for wrong in re.finditer(r"[^\n\t -~]|\\|\$(?!\d)|^[ \t]*#", text, re.M):
        raise NotArithmetic(_because(f"{wrong[0]!r}"))
    return re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.S)


def _tokens(text: str) -> list[tuple[str, str]]:
    """Kind and text of each token."""
    return [(token.lastgroup or "other", token[0]) for token in TOKEN.finditer(text) if token.lastgroup != "space"]


class _Text:
    """Parser of one assembly text. It tracks which registers have been written."""

    def __init__(self, tokens: list[tuple[str, str]], outputs: int, operands: int) -> None:
        self.tokens, self.outputs, self.operands = tokens, outputs, operands
        self.at = 0
        self.declared: set[str] = set()
        self.in_block = False
        self.written = {f"${number}" for number in range(outputs, operands)}
        self.partly: dict[str, set[Guard]] = {}
        self.guard: Guard | None = None

    def check(self) -> None:
        while self.at < len(self.tokens):
            if self._accepts("{"):
                self.in_block = True
                while not self._accepts("}"):
                    self._statement()
                self.in_block = False
                self.written -= self.declared
                self.partly = {name: guards for name, guards in self.partly.items() if name not in self.declared}
                self._forget_guards(self.declared)
                self.declared = set()
            else:
                self._statement()
        for number in range(self.outputs):
            if f"${number}" not in self.written:
                raise NotArithmetic(_because(f"an output, ${number}, that it does not write"))

    def _peek(self) -> tuple[str, str]:
        return self.tokens[self.at] if self.at < len(self.tokens) else ("end", "the end of the text")

    def _next(self, kind: str, what: str) -> str:
        found, text = self._peek()
        if found != kind:
            raise NotArithmetic(_because(f"{text!r} where {what} was expected"))
        self.at += 1
        return text

    def _accepts(self, mark: str) -> bool:
        if self._peek() != ("mark", mark):
            return False
        self.at += 1
        return True

    def _expects(self, mark: str) -> None:
        if not self._accepts(mark):
            raise NotArithmetic(_because(f"{self._peek()[1]!r} where {mark!r} was expected"))

    def _statement(self) -> None:
        if self._peek()[0] == "directive":
            self._declaration()
        elif not self._accepts(";"):
            self._instruction()

    def _declaration(self) -> None:
        directive = self._next("directive", "a declaration")
        kind = self._next("directive", "a type") if directive == ".reg" else ""
        if kind[1:] not in REGISTERS:
            raise NotArithmetic(_because(f"{directive} {kind}".strip() + ": it may declare registers of plain types"))
        if not self.in_block:
            raise NotArithmetic(_because("a declaration outside of braces, which the code around it would see"))
        while True:
            name = self._next("word", "a name")
            names = {name}
            if self._accepts("<"):
                count = self._next("number", "a number")
                if not re.fullmatch(r"[0-9]{1,3}", count):
                    raise NotArithmetic(_because(f"{count} registers called {name!r}"))
                names = {f"{name}{number}" for number in range(int(count))}
                self._expects(">")
            if not re.fullmatch(r"[A-Za-z]\w*", name) or names & self.declared:
                raise NotArithmetic(_because(f"the declaration of {name!r}"))
            self.declared |= names
            if not self._accepts(","):
                break
        self._expects(";")

    def _instruction(self) -> None:
        self.guard = self._predicate() if self._accepts("@") else None
        instruction = self._next("word", "an instruction")
        name, *modifiers = instruction.split(".")
        if name not in ARITHMETIC or not MODIFIERS.issuperset(modifiers):
            raise NotArithmetic(_because(f"{instruction!r}, which is not on the list of arithmetic instructions"))
        written = self._destination()
        self._expects(",")
        self._source()
        while self._accepts(","):
            self._source()
        self._expects(";")
        self._note(written)

    def _predicate(self) -> Guard:
        """The predicate register of an instruction, and the value for which the instruction runs."""
        wanted = not self._accepts("!")
        name = self._register()
        if name not in self.written:
            raise NotArithmetic(_because(f"{name!r} read before it is written"))
        return name, wanted

    def _note(self, written: set[str]) -> None:
        """Record the written registers. A write under a predicate counts once the opposite predicate has one, too."""
        for name in written - self.written:
            guards = self.partly.setdefault(name, set())
            if self.guard is not None:
                guards.add(self.guard)
            if self.guard is None or (self.guard[0], not self.guard[1]) in guards:
                self.written.add(name)
        self._forget_guards(written)

    def _forget_guards(self, changed: set[str]) -> None:
        """Drop the writes under predicates in `changed`: these registers have a new value."""
        for name, guards in self.partly.items():
            self.partly[name] = {guard for guard in guards if guard[0] not in changed}

    def _destination(self) -> set[str]:
        """Parse `d`, `p|q` or `{a, b}`, where `_` discards an element; return the names of the registers."""
        found = set()
        vector = self._accepts("{")
        while True:
            if self._peek() == ("word", "_"):
                self.at += 1
            else:
                name = self._register()
                if name.startswith("$") and int(name[1:]) >= self.outputs:
                    raise NotArithmetic(_because(f"a write to its input {name}"))
                found.add(name)
            if not self._accepts("," if vector else "|"):
                break
        if vector:
            self._expects("}")
        return found

    def _source(self) -> None:
        if self._accepts("{"):
            self._value()
            while self._accepts(","):
                self._value()
            self._expects("}")
        else:
            self._value()

    def _value(self) -> None:
        """Parse a number, or a register that has been written."""
        negated = self._accepts("!")
        if not negated and (self._accepts("-") or self._peek()[0] == "number"):
            self._next("number", "a number")
            return
        name = self._register()
        if name not in self.written and self.guard not in self.partly.get(name, ()):
            raise NotArithmetic(_because(f"{name!r} read before it is written"))

    def _register(self) -> str:
        kind, text = self._peek()
        known = int(text[1:]) < self.operands if kind == "operand" else kind == "word" and text in self.declared
        if not known:
            raise NotArithmetic(_because(f"{text!r}, which is none of its operands and registers"))
        self.at += 1
        return text if kind == "word" else f"${int(text[1:])}"
