"""Instrumented kernels as text: what is compared, and what the text does in place of Python."""

from __future__ import annotations

import ast
import textwrap

import pytest

from kernelwright.worker.compile.instrument import RESERVED, NotInstrumented, instrument, position_of

HEAD = "import triton\nimport triton.language as tl\n\n"


def kernel(*body: str, arguments: str = "x, n, BLOCK: tl.constexpr") -> str:
    return f"{HEAD}@triton.jit\ndef k({arguments}):\n" + textwrap.indent("\n".join(body), "    ") + "\n"


def compared(*body: str) -> list[str]:
    return instrument(kernel(*body)).sites["k"].text


def test_every_expression_is_compared_but_names_and_literals() -> None:
    assert compared("a = tl.load(x + n * 2)") == ["n * 2", "x + n * 2", "tl.load(x + n * 2)"]


@pytest.mark.parametrize("statement", ["if n: pass", "while n: pass", "a = n", "return n", "a = 1 if n else 2"])
def test_a_name_that_decides_is_compared(statement: str) -> None:
    assert "n" in compared(statement)


def test_a_name_with_two_bindings_is_compared_wherever_it_is_read() -> None:
    assert "c" in compared("for c in range(2):", "    pass", "for c in range(3):", "    pass", "tl.store(x, c * 2)")
    assert "c" not in compared("for c in range(2):", "    tl.store(x, c * 2)")


def test_positions_are_those_of_the_function_alone() -> None:
    """As the compiler has them: it parses each function by itself, from its `def` on."""
    source = kernel("a = n * 2")
    sites = instrument(source).sites["k"].index
    alone = ast.parse(source[source.index("def k") :])
    assert [position_of(node, 1) for node in ast.walk(alone) if isinstance(node, ast.BinOp)] == list(sites)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("a = n and BLOCK", "both"),
        ("a = n or BLOCK", "either"),
        ("a = not n", "negated"),
        ("n += 1", "assigned"),
        ("for c in tl.range(n): pass", "loop"),
        ("while n > 0: pass", "turn"),
        ("a = [c for c in (1, 2)]", "each"),
        ("for c in range(2):\n    pass\nelse:\n    pass", "refused"),
        ("a = [c for c in (1, 2) if c > 1]", "refused"),
        ("a = f'{n + 1}'", "refused"),
        ("a = b = n", "refused"),
        ("for c in range(*n): pass", "refused"),
    ],
)
def test_what_python_reads_otherwise_is_called_instead(body: str, text: str) -> None:
    made = instrument(kernel(*body.split("\n"))).source
    assert f"__activation.{text}(" in made
    compile(made, "made", "exec")


def test_a_constant_of_the_compilers_stays_one() -> None:
    """Triton's own rewriting makes tensors of what plain assignments assign."""
    assert "C: 'constexpr' = " in instrument(kernel("C: tl.constexpr = BLOCK * 2")).source


def test_an_assertion_is_what_it_computes() -> None:
    assert "assert" not in instrument(kernel("assert n > 3, 'no'")).source
    assert compared("assert n > 3, 'no'") == ["n > 3"]


@pytest.mark.parametrize("name", sorted(RESERVED))
@pytest.mark.parametrize("text", ["{0} = 3", "@triton.jit\ndef {0}(x):\n    pass", "import triton as {0}",
                                  "@triton.jit\ndef k({0}):\n    pass"])  # fmt: skip
def test_no_source_uses_the_names_that_are_added(name: str, text: str) -> None:
    with pytest.raises(NotInstrumented, match=name):
        instrument(HEAD + text.format(name) + "\n")
    with pytest.raises(NotInstrumented, match=name):  # a wide letter, which Python reads as the plain one
        instrument(HEAD + text.format(name[:2] + chr(ord(name[2]) + 0xFEE0) + name[3:]) + "\n")
