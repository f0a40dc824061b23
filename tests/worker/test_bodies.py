"""What a kernel's body may contain: every written kernel of this repository is accepted, and no way out of the language
is, however its names are bound."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from kernelwright.worker.rules import static
from kernelwright.worker.rules.bound_names import looked_up
from kernelwright.worker.rules.extract import extract

ROOT = Path(__file__).parents[2]

HEAD = "import torch\nimport triton\nimport triton.language as tl\n"

JUDGED_IN_A_NORMAL_FORM = ("annotated.py", "with_everything_around.py", "other_spellings.py", "guarded_launch.py",
                           "copied_from_triton.py", "absent_package_flags.py", "fallback_and_profile.py",
                           "imported_by_fallback.py", "kernel_in_a_class.py", "kernel_in_a_function.py")  # fmt: skip
"""Kernels of tests/honest as people publish them, whose text breaks a rule; what is judged of them does not."""

HONEST = sorted(
    path
    for pattern in ("tests/honest/kernels/**/*.py", "tests/exploits/subjects/*/kernel.py", "gallery/*/*.py",
                    "gallery/*/runs/**/kernel.py", "benchmarks/**/*.py")
    for path in ROOT.glob(pattern)
    if "triton.jit" in path.read_text(encoding="utf-8")
    and not (path.parent.name == "kernelbench_kernels" and path.name != "prelude.py")
    and not path.name.startswith("wrong_")
    and path.name not in ("trust.py", "pace.py", "copies.py", *JUDGED_IN_A_NORMAL_FORM)
)  # fmt: skip
"""Kernels as people and models wrote them. trust.py holds attacks, the others make their kernels' text.
Files of kernelbench_kernels are modules only with prelude.py before them (tests/test_kernelbench_verdicts.py)."""


def kernel(*lines: str, arguments: str = "x_ptr, y_ptr, n, BLOCK: tl.constexpr", head: str = HEAD) -> str:
    """A candidate whose one kernel has these lines as its body."""
    return head + f"\n@triton.jit\ndef k({arguments}):\n" + "".join(f"    {line}\n" for line in lines)


def rules(source: str) -> list[str]:
    return [str(finding) for finding in extract(source).findings]


def test_there_are_honest_kernels_to_accept() -> None:
    assert len(HONEST) > 100


@pytest.mark.parametrize("path", HONEST, ids=lambda path: str(path.relative_to(ROOT)))
def test_an_honest_kernel_is_accepted(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    found = extract(source)
    assert found.names
    assert found.findings == ()
    assert [str(finding) for finding in static.check(source)] == []
    compile(found.source, str(path), "exec")


@pytest.mark.parametrize(
    "line",
    [
        "tl.static_assert(BLOCK >= 16, f'BLOCK is {BLOCK}, 16 was expected')",
        "assert BLOCK >= 16, f'BLOCK is {BLOCK}, 100 % of what is there'",
        "y = [x + 1 for x in (1, 2)]",
        "y = [[b for b in (a, a)] for a in (1, 2)]",
        "a = [i for i in (1, 2)]\n    b = [i for i in (3, 4)]",
        "helper(*(n, n))",
        "mode: tl.constexpr = 'ieee' if BLOCK > 4 else 'tf32'",
        "sum = tl.sum(tl.load(x_ptr + tl.arange(0, BLOCK)), 0)\n    y = sum",
        "isinstance(n, (tl.tensor, tl.constexpr))",
        "y = tl.inline_asm_elementwise('mov.b32 $0, $1; // 100 %', '=r,r', [n], tl.int32, True, 1)",
        "y = tl.inline_asm_elementwise(asm=ASM, constraints='=r,r', args=[n], dtype=tl.int32, is_pure=True, pack=1)",
        "t = tl.zeros((BLOCK,), tl.dtype('fp32'))",
        "n: tl.constexpr = 3",
        "i: tl.int32 = 3",
        "t = n.to(tl.pointer_type(tl.float32))",
        "x = n[None, :, ...]",
        "if n == 0:\n        return",
        "while tl.condition(n > 0, disable_licm=True):\n        n -= 1",
    ],
)
def test_ordinary_code_of_kernels_is_accepted(line: str) -> None:
    head = HEAD + "ASM: tl.constexpr = 'mov.b32 $0, $1; // %'\n\n@triton.jit\ndef helper(a, b):\n    return a\n"
    assert rules(kernel(line, head=head)) == []


def test_a_message_may_show_a_constant_whose_annotation_has_another_name() -> None:
    head = HEAD + "from triton.language import constexpr as C\n"
    assert rules(kernel("tl.static_assert(BLOCK > 0, f'{BLOCK}')", arguments="x_ptr, BLOCK: C", head=head)) == []


@pytest.mark.parametrize(
    ("lines", "rule"),
    [
        # Names of the language that run text, keep state, print or differ from run to run.
        (("t = tl.str_to_ty('tensordesc<fp32[16],print(1)>', None)",), "evaluates a part of its text"),
        (("f = tl.str_to_ty", "f('fp32', None)"), "evaluates a part of its text"),
        (("t = triton.language.str_to_ty('fp32', None)",), "'str_to_ty'"),
        (("t = tl.core.builtin_max(1, 2)",), "'core'"),
        (("t = tl.standard.sort_impl(n)",), "'sort_impl'"),
        (("t = tl.target_info.is_cuda()",), "'target_info'"),
        (("tl.static_print(n)",), "'static_print'"),
        (("tl.device_print('n', n)",), "'device_print'"),
        (("t = tl.extra.cuda.smid()",), "'smid'"),
        (("t = tl.extra.cuda.globaltimer()",), "'globaltimer'"),
        (("t = tl.extra.spec.loader",), "'spec'"),
        (("t = tl.a_name_of_a_later_triton(n)",), "it is not on the list"),
        (("t = tl.math.wraps(n)",), "'wraps'"),
        # Modules and classes as values.
        (("lang = tl", "lang.core"), "module triton.language"),
        (("lang = tl.math", "lang.T"), "module triton.language.math"),
        (("t = [m.core for m in (tl,)]",), "module triton.language"),
        (("helper(triton)",), "module triton"),
        (("t = tl.tensor(n, tl.pointer_type(tl.float32))",), "isinstance() and in annotations"),
        (("make = tl.tensor", "t = make(n, tl.int32)"), "isinstance() and in annotations"),
        (("t = isinstance(tl.tensor(n, tl.int32), tl.tensor)",), "isinstance() and in annotations"),
        (("t = MAKE(n, tl.int32)",), "'MAKE'"),
        # Stores to anything but a name.
        (("tl.sum = tl.max",), "names only, not to 'tl.sum'"),
        (("tl.sum, t = tl.max, 1",), "names only, not to 'tl.sum'"),
        (("[tl.sum, t] = tl.max, 1",), "names only"),
        (("t, *tl.sum = 1, 2",), "names only"),
        (("t, *s = 1, 2",), "names only"),
        (("tl.pi32_t += 1",), "names only"),
        (("tl.sum: tl.constexpr = 3",), "names only"),
        (("for tl.sum in range(2):", "    pass"), "names only"),
        (("t = [0 for tl.sum in (1,)]",), "names only"),
        (("with n as tl.sum:", "    pass"), "may not contain with"),
        (("n.dtype = tl.int8",), "names only"),
        (("n[0] = 1",), "names only, not to 'n[0]'"),
        (("SIZES[0] += 1",), "names only"),
        (("for n[0] in range(2):", "    pass"), "names only"),
        (("t = [0 for n[0] in (1,)]",), "names only"),
        (("del n",), "may not contain del"),
        (("del tl.sum",), "may not contain del"),
        (("if (t := n) > 0:", "    pass"), "may not contain assignment inside an expression"),
        (("t = [s := i for i in (1,)]",), "may not contain assignment inside an expression"),
        # Names of the interpreter, of Python and of the compiler, through any binding.
        (("t = [0 for np in (1,)]", "np.load('file', allow_pickle=True)"), "the name 'np'"),
        (("t = [np.load('f') for i in (1,)]",), "the name 'np'"),
        (("t = [0 for i in np]",), "the name 'np'"),
        (("t = [np for np in np]",), "the name 'np'"),
        (("t = [[0 for inspect in (1,)] for i in (1,)]", "inspect.os"), "the name 'inspect'"),
        (("t = [partial for i in (1,)]", "u = [0 for partial in (1,)]"), "the name 'partial'"),
        (("partial(n)",), "the name 'partial'"),
        (("interpreter_builder.set_grid_dim(1)",), "the name 'interpreter_builder'"),
        (("interpreter_semantic = n", "t = 1"), "'interpreter_semantic'"),
        (("t = [0 for interpreter_semantic in (1,)]",), "'interpreter_semantic'"),
        (("t = [0 for max in (1,)]",), "'max'"),
        (("t = [0 for n in (1,)]",), "'n'"),
        (("t = 5", "u = [0 for t in (1, 2)]"), "'t'"),
        (("t = [[a for a in (1, 2)] for a in (3, 4)]",), "'a'"),
        (("t = [SIZE for i in (1,)]", "u = [0 for SIZE in (1,)]"), "'SIZE'"),
        (("t = SIZE", "if BLOCK < 0:", "    SIZE = 2"), "'SIZE'"),
        (("helper = n",), "'helper'"),
        (("t = print(n)", "if BLOCK < 0:", "    print = 1"), "'print'"),
        (("t = list((1, 2))", "list = 1"), "'list'"),
        (("for getattr in range(2):", "    pass"), "'getattr'"),
        (("t = str(n)",), "the name 'str'"),
        (("t = repr(n)",), "the name 'repr'"),
        (("t = type(n)",), "the name 'type'"),
        (("t = __debug__",), "'__debug__'"),
        # Texts made from values, which hold addresses in the interpreter.
        (("t = f'{x_ptr}'",), "f-string"),
        (("t = f'{n}'",), "f-string"),
        (("assert n > 0, f'{n}'",), "f-string"),
        (("tl.static_assert(BLOCK > 0, f'{BLOCK!r}')",), "f-string"),
        (("tl.static_assert(BLOCK > 0, f'{BLOCK:>9}')",), "f-string"),
        (("tl.static_assert(BLOCK > 0, f'{BLOCK + n}')",), "f-string"),
        (("helper(f'{BLOCK}')",), "f-string"),
        (("t = '%s' % x_ptr",), "percent sign"),
        (("t: tl.constexpr = '%s'", "u = t % x_ptr"), "percent sign"),
        (("t = PATTERN % x_ptr",), "percent sign"),
        (("t = LATER % x_ptr",), "percent sign"),
        (("t = '\\x25s' % x_ptr",), "percent sign"),
        (("t = '{}'.format(x_ptr)",), "'format'"),
        (("t = ''.join(('a', 'b'))",), "'join'"),
        (("t = b'%s' % n",), "bytes"),
        # Calls that say more than the language takes.
        (("t = tl.load(x_ptr, _semantic=n)",), "'_semantic'"),
        (("t = tl.load(x_ptr, **n)",), "**"),
        # Annotations, which the compiler evaluates and the interpreter does not.
        (("t: tl.store(y_ptr, 1) = 0",), "annotate"),
        (("t: helper(n) = 0",), "annotate"),
        # What the compiler leaves out or does otherwise.
        (("t = [i for i in (1, 2) if i > 1]",), "has no if"),
        (("t = [i + j for i in (1, 2) for j in (3, 4)]",), "one for"),
        (("for i in tl.static_range(2):", "    pass", "else:", "    n = 1"), "has no else"),
        (("while n > 0:", "    n -= 1", "else:", "    n = 1"), "has no else"),
        (("t = {1: 2}",), "may not contain dict"),
        (("t = {1, 2}",), "may not contain set"),
        (("for i in range(2):", "    break"), "may not contain break"),
    ],
)
def test_a_body_does_not_leave_the_language(lines: tuple[str, ...], rule: str) -> None:
    head = HEAD + (
        "SIZE: tl.constexpr = 4\nSIZES = (1, 2)\nMAKE = tl.tensor\nPATTERN: tl.constexpr = '%s'\n"
        "LATER: tl.constexpr = 'a' + PATTERN\n\n@triton.jit\ndef helper(a):\n    return a + SIZE\n"
    )
    found = rules(kernel(*lines, head=head))
    assert any(rule in text for text in found), found


@pytest.mark.parametrize(
    ("imports", "line", "name"),
    [
        ("from triton.language import str_to_ty", "t = str_to_ty('fp32', None)", "'str_to_ty'"),
        ("from triton.language import str_to_ty as zeros", "t = zeros('fp32', None)", "'zeros'"),
        ("from triton.language import core", "t = core.builtins", "'core'"),
        ("from triton.language.math import core as m", "t = m.builtins", "'m'"),
        ("from triton.language import tensor", "t = tensor(n, tl.int32)", "isinstance()"),
        ("from triton.language.extra import libdevice", "t = libdevice.core", "'core'"),
        ("from triton.language.extra.cuda import smid", "t = smid()", "differs from run to run"),
        ("from triton import knobs", "t = knobs", "'knobs'"),
        ("import math", "t = math.__loader__", "'__loader__'"),
        ("import triton.language as interpreter_semantic", "t = 1", "interpreter"),
        ("import triton.language.core as c", "t = c.builtins", "'c'"),
    ],
)
def test_an_imported_name_follows_the_same_rules(imports: str, line: str, name: str) -> None:
    found = rules(kernel(line, head=f"{HEAD}{imports}\n"))
    assert any(name in text for text in found), found


@pytest.mark.parametrize(
    "arguments",
    ["x, *, getattr=None", "x, *getattr", "x, **getattr", "getattr, /, x", "x, *tl", "x, *, print=1",
     "x, interpreter_semantic", "x, FORM: tl.constexpr = '%s'"],
)  # fmt: skip
def test_an_argument_is_no_second_meaning_of_a_name(arguments: str) -> None:
    """Triton's compiler binds plain arguments only, and then looks for a name among its builtins."""
    assert rules(kernel("y = x", arguments=arguments))


def test_arguments_may_be_called_like_constants_and_builtins() -> None:
    head = HEAD + "BLOCK = 128\n"
    assert rules(kernel("y = input + sum + BLOCK", arguments="input, sum, BLOCK: tl.constexpr", head=head)) == []


def test_what_stands_above_a_kernel_binds_nothing_in_it() -> None:
    configs = "@triton.autotune(configs=[triton.Config({'B': BLOCK}) for BLOCK in (16, 32) for n in (1, 2)], key=[])\n"
    assert rules(kernel("m = n + BLOCK").replace("@triton.jit", f"{configs}@triton.jit")) == []


def test_a_constant_that_only_host_code_uses_is_left_behind() -> None:
    found = extract(kernel("size = n", "y = size", head=HEAD + "size = 4\n"))
    assert found.findings == ()
    assert "size = 4" not in found.source


@pytest.mark.parametrize(
    "text",
    [
        '"""\ndef k(x_ptr):\n    open("file")\n    #"""',
        'y = n\n    """\ndef k(x_ptr):\n    open("file")\n    #"""',
        "if n > 0:\n        '''\ndef k(x_ptr):\n    open(1)\n    '''",
    ],
)
def test_no_line_of_a_text_begins_a_function(text: str) -> None:
    """The interpreter runs what follows the last line that begins with `def`."""
    found = extract(kernel(text, "tl.store(y_ptr, 1)"))
    assert found.findings == ()
    assert "open" not in found.source
    (function,) = [node for node in ast.parse(found.source).body if isinstance(node, ast.FunctionDef)]
    assert function.name == "k"


def test_an_f_string_of_several_lines_begins_no_function() -> None:
    text = "tl.static_assert(BLOCK > 0, f'''{BLOCK}\ndef k(x_ptr):\n    open(1)\n    #''')"
    found = extract(kernel(text))
    lines = [line for line in found.source.splitlines() if line.strip().startswith("def ")]
    assert lines == ["def k(x_ptr, y_ptr, n, BLOCK: tl.constexpr):"] or found.findings


@pytest.mark.parametrize(
    "body",
    ["t = [a for a in b]", "t = [b for a in (a, c)]", "t = [[a + b for b in a] for a in c]",
     "c = d\n    t = [c for e in c]", "t = x + y.z[w]", "t = [a for a in b if a > c]",
     "t = [a + d for a in b for d in a]"],
)  # fmt: skip
def test_names_are_looked_up_where_python_looks_them_up(body: str) -> None:
    import symtable

    source = f"def k(x):\n    {body}\n"
    (function,) = ast.parse(source).body
    assert isinstance(function, ast.FunctionDef)
    tables = [symtable.symtable(source, "k", "exec").get_children()[0]]
    expected: set[str] = set()
    while tables:
        table = tables.pop()
        tables += table.get_children()
        expected |= {s.get_name() for s in table.get_symbols() if s.is_global() and s.is_referenced()}
    assert {name.id for name in looked_up(function)} == expected
