"""Questions of host code about the machine: which are asked, and what of the answers is written into the source."""

from __future__ import annotations

import ast
import os
import sys
from types import ModuleType
from typing import Any

import pytest

from kernelwright.source import parse as syntax
from kernelwright.worker.rules.normal import normal_form
from kernelwright.worker.rules.questions import ANSWER, LONGEST, answered, asked, indirect, questions
from rule_findings import findings

HEAD = """
import importlib.util, math, os, sys, time
import torch
import triton
import triton.language as tl
from packaging import version
"""

KERNEL = """
def factor(n):
    return sum(range(n)) * 0.5

FACTOR: tl.constexpr = tl.constexpr(factor(3))
SECOND = tl.constexpr(factor(4) / math.sqrt(4))
UNUSED = factor(5)
PLAIN: tl.constexpr = 3

@triton.jit
def scaled(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + lanes, mask=lanes < n)
    tl.store(out_ptr + lanes, x * FACTOR + SECOND * PLAIN, mask=lanes < n)

def kernel_function(x):
    out = torch.empty_like(x)
    scaled[(1,)](x, out, x.numel(), BLOCK=256)
    return out
"""


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What becomes of a source, its answers given by a process with these versions and no environment."""
    for name in ("torch", "triton", "triton.language", "triton.runtime"):
        made: Any = ModuleType(name)
        made.__version__, made.jit, made.constexpr = "3.6.0", lambda function: function, lambda value: value
        monkeypatch.setitem(sys.modules, name, made)
    sys.modules["triton"].language = sys.modules["triton.language"]  # type: ignore[attr-defined]
    monkeypatch.setattr(os, "environ", {})

    def found(source: str) -> str:
        text, names = asked(source)
        space: dict[str, Any] = {}
        exec(text, space)
        return answered(source, {name: repr(space[name]) for name in names if name in space})

    return found


@pytest.mark.parametrize(("written", "computed"), [
    ("int(os.environ.get('BLOCK', '64'))", "(64)"),
    ("os.getenv('DEBUG') == '1'", "(False)"),
    ("os.getenv('DEBUG')", "(None)"),
    ("64 if os.environ.get('A', '0') == '1' else 128", "(128)"),
    ("os.environ.get('A', 'b').upper() in ('B', 'C')", "(True)"),
    ("version.parse(triton.__version__) >= version.parse('3.0')", "(True)"),
    ("version.parse(triton.__version__).major + 1", "(4)"),
    ("version.parse(triton.__version__.split('+')[0]) > version.parse('2')", "(True)"),
    ("tuple(map(int, triton.__version__.split('.')[:2])) >= (2, 0)", None),
    ("tuple(int(one) for one in triton.__version__.split('.')[:2]) >= (99, 0)", None),
    ("[int(one) for one in version.parse('3.0').base_version.split('.')] == [3, 0]", "(True)"),
    ("importlib.util.find_spec('json') is not None", "(True)"),
    ("'no_such_name' in dir(triton.language)", "(False)"), ("1 if hasattr(tl, 'jit') else 2", "(1)"),
    ("tl.jit if hasattr(tl, 'no_such_name') else tl.jit", "tl.jit if (False) else tl.jit"),
    ("hasattr(torch.name(), 'upper')", None), ("importlib.util.find_spec('js' + 'on') is None", "(False)"),
    ("sys.version_info[0] == 3 and torch.compile", "(True) and torch.compile"),
    ("version.parse(triton.__version__)", None), ("os.environ.get(torch.name())", None), ("math.sqrt(4)", None),
    ("os.getenv('A', time.time())", None), ("'a' * 3", None), ("sys.modules", None), ("os.environ.items()", None),
    ("'tf32' if torch.get_float32_matmul_precision() == 'high' else 'ieee'", "('ieee')"),
    ("[os.getenv(one) for one in torch.names()]", None), ("os.getenv('A', 'b').encode()", "('b').encode()"),
])  # fmt: skip
def test_what_only_asks_about_the_machine_is_answered(
    answer: Any, written: str, computed: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = {
        "compile": 1,
        "name": lambda: "A",
        "names": lambda: ["A"],
        "get_float32_matmul_precision": lambda: "highest",
    }
    for name, value in made.items():
        monkeypatch.setattr(sys.modules["torch"], name, value, raising=False)
    assert answer(f"{HEAD}VALUE = {written}\n").splitlines()[-1] == f"VALUE = {computed or written}"


def test_questions_of_functions_are_answered_and_those_about_their_variables_are_not(answer: Any) -> None:
    first = "NEW = version.parse(triton.__version__)\n"
    source = f"{HEAD}{first}def one():\n    return NEW >= version.parse('3.0')\n"
    assert answer(source).splitlines()[-1] == "    return (True)"
    for secret in ("os.getenv('A')", "NAME == 'b'"):
        asks = f"{HEAD}NAME = os.getenv('A')\ndef one():\n    return {secret}\n"
        assert answer(asks).splitlines()[-1] == f"    return {secret}"
    own = f"{HEAD}{first}def one(NEW):\n    return NEW >= version.parse('3.0')\n"
    assert answer(own) == own


NEWER = """\
def newer(package, operator, than):
    "Text."
    try:
        found = importlib.import_module(package)
    except ImportError:
        return False
    if found.__version__ == 'none':
        raise NotImplementedError('none')
    return operator(version.parse(found.__version__), version.parse(than))
"""


def test_a_function_that_only_asks_is_answered(answer: Any) -> None:
    for package, answered_as in (("triton", "(True)"), ("no_such_package", "(False)")):
        source = f"{HEAD}import operator\n{NEWER}NEW = newer('{package}', operator.ge, '3.0')\n"
        assert answer(source).splitlines()[-1] == f"NEW = {answered_as}"
        assert [one.line for one in indirect(source)] == [source.count("\n")]


@pytest.mark.parametrize(("use", "lines"), [
    ("if SHOWS:\n    print('shown')\n", []), ("def one():\n    if SHOWS:\n        print('shown')\n", []),
    ("if SHOWS or os.getenv('B'):\n    print('shown')\nelse:\n    pass\n", []), ("ONE = SHOWS\n", [11]),
    ("def one():\n    if SHOWS:\n        return 1\n", [11]), ("if SHOWS:\n    print('shown')\nONE = SHOWS\n", [11]),
])  # fmt: skip
def test_a_question_that_only_decides_what_is_printed_is_not_named(use: str, lines: list[int]) -> None:
    head = HEAD.rstrip("\n") + "\n" * (11 - len(HEAD.rstrip("\n").split("\n")))
    assert [one.line for one in indirect(f"{head}SHOWS = os.getenv('A')\n{use}")] == lines


@pytest.mark.parametrize("body", [
    "return time.time() > 1", "import time as os\n    return os.getenv('A')", "return late()",
    "from time import time as ONE\n    return ONE", "torch.one = 1\n    return 1",
    "raise (KeyError if time.time() > 1 else ValueError)",
    "for one in ():\n        pass\n    return 1", "return [time.time() for os in ('A',)]", "global ONE\n    return ONE",
    "try:\n        return True\n    except time.one:\n        return False", "ONE: int = time.time()\n    return ONE",
    "try:\n        return True\n    except ImportError as ONE:\n        return ONE", "return str(importlib)",
])  # fmt: skip
def test_a_function_that_does_more_is_not_asked(body: str) -> None:
    source = f"{HEAD}ONE = 1\ndef late():\n    {body}\nVALUE = late() or os.getenv('A')\n"
    assert "os.getenv('A')" in [ast.unparse(one) for one in questions(syntax.parse(source))]


CONFIGS = """\
def configs():
    return [triton.Config({}, num_warps=1 if os.getenv('A') else 2)]

@triton.autotune(configs(), [])
@triton.jit
def one(x_ptr):
    pass
"""


@pytest.mark.parametrize(("more", "asked_for"), [
    ("", 1), ("def kernel_function(x):\n    configs()", 0), ("OTHER = configs", 0), ("OTHER = lambda: configs()", 0),
    ("def other():\n    return configs()\nOTHER = other()", 1), ("def other(one=configs()):\n    return one", 1),
    ("class Other:\n    def one(self):\n        return configs()", 0), ("configs.one = 1", 0),
])  # fmt: skip
def test_only_functions_that_nothing_but_an_import_calls_ask_for_variables(more: str, asked_for: int) -> None:
    assert len(questions(syntax.parse(f"{HEAD}{CONFIGS}{more}\n"))) == asked_for
    entry = "def kernel_function(x):\n    return os.getenv('A') or x.one\nkernel_function(1)\n"
    assert questions(syntax.parse(HEAD + entry)) == []


CHOOSES = """\
def kept(configs, named, **meta):
    return configs[:1] if os.getenv('A') else configs

@triton.autotune([], [], prune_configs_by={'early_config_prune': kept})
@triton.jit
def one(x_ptr):
    pass
"""


@pytest.mark.parametrize(("more", "asked_for"), [
    ("", 1), ("def kernel_function(x):\n    kept(x, x)", 0), ("OTHER = kept", 0), ("kept.one = 1", 0),
    ("OTHER = dict(early_config_prune=kept)", 0),
])  # fmt: skip
def test_functions_that_only_choose_among_configs_ask_for_variables(more: str, asked_for: int) -> None:
    assert len(questions(syntax.parse(f"{HEAD}{CHOOSES}{more}\n"))) == asked_for


def test_a_name_of_the_module_is_no_builtin(answer: Any) -> None:
    source = f"{HEAD}def map(one):\n    return time.time()\nVALUE = map(os.getenv('A', 'b'))\n"
    assert answer(source).splitlines()[-1] == "VALUE = map(('b'))"


def test_a_question_is_answered_once_and_names_that_are_bound_twice_are_not_followed(answer: Any) -> None:
    source = f"{HEAD}NEW = os.getenv('A')\nNEW = time.time()\nOTHER = NEW == 1 or os.getenv('B')\n"
    assert answer(source).splitlines()[-1] == "OTHER = NEW == 1 or (None)"


def test_constants_that_functions_compute_are_written_as_literals(answer: Any) -> None:
    source = HEAD + KERNEL
    assert findings(normal_form(source)) != []
    made = normal_form(answer(source))
    assert findings(made) == []
    assert "FACTOR: tl.constexpr = tl.constexpr((1.5))" in made
    assert "SECOND = tl.constexpr((1.5))" in made
    assert "def factor" not in made


@pytest.mark.parametrize("said", [
    "__import__('os')", "[1]", "1 + 1", "tl.float32", "'a' * 3", "nan", "'" + "a" * LONGEST + "'", "",
])  # fmt: skip
def test_what_is_no_number_and_no_text_is_not_taken(said: str) -> None:
    source = HEAD + KERNEL
    assert answered(source, {ANSWER.format(0): said}) == source


def test_an_answer_is_written_as_python_writes_it() -> None:
    assert "tl.constexpr((1.5))" in answered(HEAD + KERNEL, {ANSWER.format(0): "1.50 # and more"})


def test_infinity_is_a_number_and_only_what_was_asked_for_is_replaced() -> None:
    source = HEAD + KERNEL
    assert "tl.constexpr((-1e999))" in answered(source, {ANSWER.format(0): "-inf"})
    assert answered(source, {"PLAIN": "4", "FACTOR": "1", ANSWER.format(9): "2"}) == source


@pytest.mark.parametrize("line", ["FACTOR = 2", "for FACTOR in (1, 2): pass", "import math as FACTOR"])
def test_a_name_that_is_bound_twice_is_not_asked_for(line: str) -> None:
    assert "= factor(3)\n" not in asked(f"{HEAD}{KERNEL}\n{line}\n")[0]


def test_kernels_ask_nothing() -> None:
    source = HEAD + KERNEL.replace("x * FACTOR", "x * FACTOR * int(os.getenv('A', '1'))")
    assert questions(syntax.parse(source)) == []
