"""Branches of host code: what is marked when it is taken, and what stands where none was."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from kernelwright.source import parse as syntax
from kernelwright.source.branches import MARK, branches, marked, without_untaken

HOST = '''\
def helper(x):
    return x


def choose(n, other=None):
    """Says what is chosen."""
    size = 128 if n < 10 else (256 if n < 20 else
                               512)
    if n == 1:
        return "one"
    elif n == 2:
        return helper("two")
    elif n == 3:
        raise ValueError("three")
    else: size += 1
    for number in range(n - 8):
        size += number
    return size, other is not None and other.start
'''


def run(source: str, *calls: tuple[Any, ...]) -> set[int]:
    """The branches that calls of `choose` take."""
    taken: set[int] = set()
    space: dict[str, Any] = {MARK: taken.add}
    exec(compile(marked(syntax.parse(source)), "host", "exec"), space)
    for arguments in calls:
        space["choose"](*arguments)
    return taken


def shipped(source: str, *calls: tuple[Any, ...]) -> tuple[Any, tuple[str, ...]]:
    text, conditions = without_untaken(source, run(source, *calls))
    assert text.splitlines()[-1].strip()
    space: dict[str, Any] = {}
    exec(compile(text, "host", "exec"), space)
    return space["choose"], conditions


@pytest.mark.parametrize("judged", [1, 2, 5, 9, 15, 30])
def test_what_was_judged_gives_the_same_and_everything_else_refuses(judged: int) -> None:
    space: dict[str, Any] = {}
    exec(HOST, space)
    choose, conditions = shipped(HOST, (judged,))
    assert choose(judged) == space["choose"](judged)
    for other in (1, 2, 5, 9, 15, 30):
        if run(HOST, (other,)) <= run(HOST, (judged,)):
            assert choose(other) == space["choose"](other)
        else:
            with pytest.raises(NotImplementedError, match="not judged: line"):
                choose(other)
    assert conditions


def test_a_refusal_names_its_condition_and_its_line_and_keeps_the_lines() -> None:
    text, conditions = without_untaken(HOST, run(HOST, (5,)))
    assert "line 9: n == 1" not in conditions
    assert "line 10: n == 1" in conditions
    assert "line 2: helper() is called" in conditions
    assert "raise NotImplementedError('not judged: line 10, where n == 1')" in text.splitlines()[9]
    assert text.splitlines()[13] == '        raise ValueError("three")', "what refuses already stays"
    assert text.splitlines()[14] == HOST.splitlines()[14]


def test_where_everything_was_taken_nothing_changes() -> None:
    calls = [(n, other) for n in (1, 2, 5, 9, 15, 30) for other in (None, slice(1))]
    taken = run(HOST, *calls)
    text, conditions = without_untaken(HOST, taken)
    assert (text, conditions) == (HOST, ())


@pytest.mark.parametrize("host", [
    "def choose(n):\n    if n > 1: return 1\n    return 2\n",
    "def choose(n):\n    try:\n        pass\n    finally:\n        n += 1\n    return n\n",
    "def choose(n):\n    match n:\n        case 1:\n            return 5\n        case _:\n            return 6\n",
    "def choose(n):\n    grid = lambda meta: (n, meta)\n    while n > 4:\n        n -= 1\n    return n\n",
    "class F:\n    @staticmethod\n    def backward(g):\n        return g\n\n\ndef choose(n):\n    return F and n\n",
    "def choose(n):\n    def inner():\n        return n\n    return inner() if n else 0\n",
])  # fmt: skip
@pytest.mark.parametrize("judged", [0, 1, 7])
def test_every_kind_of_statement_can_be_left_out(host: str, judged: int) -> None:
    space: dict[str, Any] = {}
    exec(host, space)
    choose, _ = shipped(host, (judged,))
    assert choose(judged) == space["choose"](judged)


def test_kernels_test_scripts_and_expressions_at_import_have_no_branches() -> None:
    kernel = "@triton.jit\ndef k(x):\n    if x:\n        return\n"
    script = "if __name__ == '__main__':\n    k(1)\n"
    tree = syntax.parse(f"import triton\nSIZE = 1 if triton else 2\n{kernel}{script}")
    assert branches(tree) == []
    assert ast.dump(marked(tree)) == ast.dump(tree)
    inner = syntax.parse("if triton:\n" + kernel.replace("@", "    @").replace("\n", "\n    "))
    assert [str(branch) for branch in branches(inner)] == ["line 3: triton"]


AT_IMPORT = """\
SIZES = [1]
if len(SIZES) > 1:
    SIZES += [2]
elif SIZES == [1]:
    SIZES += [3]
else:
    SIZES += [4]
try:
    one = missing
    two = 2
except NameError:
    pass
except ValueError:
    pass
def choose(n):
    return SIZES[n]
"""


def test_what_did_not_run_at_import_refuses_too() -> None:
    taken = run(AT_IMPORT, (0,))
    assert without_untaken(AT_IMPORT, taken) == (AT_IMPORT, ())
    text, conditions = without_untaken(AT_IMPORT, taken, at_import=True)
    assert conditions == ("line 3: len(SIZES) > 1", "line 7: not (SIZES == [1])", "line 10: line 9 does not fail",
                          "line 14: line 8 fails")  # fmt: skip
    assert [number for number, line in enumerate(text.splitlines(), 1) if "raise Not" in line] == [3, 7, 10, 14]
    choose, _ = shipped(AT_IMPORT, (0,))
    assert choose(1) == 3
