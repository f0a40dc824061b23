"""Kernels taken out of a candidate by syntax: what they keep, and what no kernel may contain."""

from __future__ import annotations

import ast

import pytest

from kernelwright.worker.rules import extract
from kernelwright.worker.rules.extract import Kernels
from kernelwright.worker.rules.language import VALUE_ATTRIBUTES

HEAD = """import torch
import triton
import triton.language as tl
"""

COPY = """
@triton.jit
def copy_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets, mask=offsets < n), mask=offsets < n)
"""


def kernel(*lines: str, arguments: str = "x_ptr, y_ptr, n, BLOCK: tl.constexpr", head: str = HEAD) -> str:
    """A candidate whose one kernel has these lines as its body."""
    return head + f"\n@triton.jit\ndef k({arguments}):\n" + "".join(f"    {line}\n" for line in lines)


def rules(source: str) -> list[str]:
    return [str(finding) for finding in extract.extract(source).findings]


def accepted(source: str) -> Kernels:
    found = extract.extract(source)
    assert found.findings == ()
    ast.parse(found.source)
    return found


def defined(found: Kernels) -> list[str]:
    """Names bound at the top of the extracted module, in order."""
    names: list[str] = []
    for node in ast.parse(found.source).body:
        match node:
            case ast.FunctionDef(name=name):
                names.append(name)
            case ast.Assign(targets=targets):
                names += [t.id for t in targets if isinstance(t, ast.Name)]
            case ast.AnnAssign(target=ast.Name(id=name)):
                names.append(name)
    return names


# --- what is kept -------------------------------------------------------------------------------------------


def test_kernels_come_out_and_host_code_stays_behind() -> None:
    host = "\ndef kernel_function(x):\n    return torch.empty_like(x)\n\nclass ModelNew(torch.nn.Module):\n    pass\n"
    found = accepted(HEAD + COPY + host)
    assert found.names == ("copy_kernel",)
    assert defined(found) == ["copy_kernel"]
    assert "torch" not in found.source


def test_constants_that_kernels_use_come_along_and_others_do_not() -> None:
    source = kernel("tl.store(y_ptr, tl.exp2(tl.load(x_ptr) * SCALE) + EPS)").replace(
        "\n@triton", "\nLOG2E: tl.constexpr = 1.4426950408889634\nSCALE = tl.constexpr(LOG2E * 2)\n"
        "EPS = tl.constexpr(-1e-6)\nUNUSED = 17\nSIZES = (64, 128)\n@triton", 1
    )  # fmt: skip
    assert defined(accepted(source)) == ["LOG2E", "SCALE", "EPS", "k"]


def test_an_alias_of_a_triton_dtype_is_a_constant() -> None:
    source = kernel("tl.store(y_ptr, tl.load(x_ptr).to(ACC))").replace("\n@", "\nACC = tl.float32\n@", 1)
    assert defined(accepted(source)) == ["ACC", "k"]


def test_the_alias_of_triton_language_may_have_any_name() -> None:
    source = kernel("y = t.load(x_ptr).to(ACC)", arguments="x_ptr, B: t.constexpr").replace(
        "import triton.language as tl", "import triton.language as t\nACC = t.float32\nC = t.constexpr(3)"
    )  # fmt: skip
    assert defined(accepted(source)) == ["ACC", "k"]


def test_kernels_may_call_each_other() -> None:
    source = HEAD + "\n@triton.jit\ndef helper(x):\n    return x * 2\n" + COPY.replace(
        "tl.load(x_ptr + offsets, mask=offsets < n)", "helper(tl.load(x_ptr + offsets, mask=offsets < n))"
    )  # fmt: skip
    assert accepted(source).names == ("helper", "copy_kernel")


def test_autotune_and_heuristics_are_left_to_the_trusted_side() -> None:
    decorated = COPY.replace(
        "@triton.jit",
        "@triton.autotune(configs=[triton.Config({'BLOCK': 64})], key=['n'])\n"
        "@triton.heuristics({'EVEN': lambda a: a['n'] % 2 == 0})\n@triton.jit(do_not_specialize=['n'])",
    )
    found = accepted(HEAD + decorated)
    (function,) = [node for node in ast.parse(found.source).body if isinstance(node, ast.FunctionDef)]
    assert [ast.unparse(d) for d in function.decorator_list] == ["triton.jit(do_not_specialize=['n'])"]


@pytest.mark.parametrize(
    "head",
    [
        "import triton\nimport triton.language as tl\nfrom triton import jit, cdiv\n",
        "import triton\nfrom triton import language as tl\nfrom triton import jit\n",
        "from __future__ import annotations\nimport math\nfrom triton import jit\nimport triton.language as tl\n",
    ],
)
def test_triton_may_be_imported_in_every_usual_way(head: str) -> None:
    assert accepted(head + COPY.replace("@triton.jit", "@jit")).names == ("copy_kernel",)


@pytest.mark.parametrize(
    "line",
    [
        "a, b = tl.load(x_ptr), 2.0",
        "for i in tl.static_range(4):\n        acc = i",
        "for i in range(0, n, BLOCK):\n        pass",
        "if BLOCK > 4:\n        pass\n    elif n == 0:\n        return\n    else:\n        pass",
        "while n > 0:\n        n -= 1",
        "y = x_ptr.dtype.element_ty",
        "w: tl.constexpr = tl.float32.primitive_bitwidth",
        "sum = tl.sum(tl.load(x_ptr + tl.arange(0, BLOCK)), axis=0)",
        "max = tl.max(tl.load(x_ptr + tl.arange(0, BLOCK)), axis=0)",
        "y = tl.maximum(n, 0, propagate_nan=tl.PropagateNan.ALL)",
        "tl.static_assert(BLOCK % 2 == 0, 'BLOCK must be even')",
        "assert BLOCK > 1",
        "y = float('-inf')",
        "y = tl.math.rsqrt(tl.load(x_ptr))",
        "y = tl.extra.cuda.libdevice.tanh(tl.load(x_ptr))",
        "'''a docstring'''",
        "y = tl.reduce(tl.load(x_ptr + tl.arange(0, BLOCK)), 0, combine)",
        "n_blocks = triton.cdiv(n, BLOCK)",
        "y = triton.language.load(x_ptr)",
        "r = tl.rand(seed=1, offset=tl.arange(0, BLOCK))",
        "shape: tl.constexpr = [BLOCK, BLOCK]",
        "d = tl.make_tensor_descriptor(x_ptr, shape=[n], strides=[1], block_shape=[BLOCK])",
        "d = tl.make_block_ptr(x_ptr, (n,), (1,), (0,), (BLOCK,), order=(0,))",
        "t = tl.load(x_ptr).to(tl.float32, bitcast=True).trans().T",
    ],
)
def test_ordinary_kernel_code_raises_no_alarm(line: str) -> None:
    accepted(kernel(line) + "\n@triton.jit\ndef combine(a, b):\n    return a + b\n")


def test_arguments_may_be_named_like_builtins() -> None:
    accepted(kernel("y = input + id + type + sum", arguments="input, id, type, sum, max"))


def test_annotations_and_defaults_of_arguments_raise_no_alarm() -> None:
    arguments = (
        "x_ptr: torch.Tensor, n: int, m: 'i32', p: tl.pointer_type, BLOCK: tl.constexpr = SIZE, EPS=-1e-5, act=None"
    )
    source = kernel("pass", arguments=arguments).replace("\n@", "\nSIZE = tl.constexpr(64)\n@", 1)
    found = accepted(source)
    assert defined(found) == ["SIZE", "k"]
    assert "torch" not in found.source


@pytest.mark.parametrize(
    ("imports", "annotation"),
    [
        ("", "'tl.constexpr'"),
        ("", "triton.language.constexpr"),
        ("from triton import language\n", "language.constexpr"),
        ("import triton.language as T\n", "T.constexpr"),
        ("from triton.language import constexpr as C\n", "C"),
    ],
)
def test_a_constexpr_spelled_otherwise_is_one_for_the_interpreter_too(imports: str, annotation: str) -> None:
    found = accepted(kernel("pass", arguments=f"x, n: 'tl.int32', BLOCK: {annotation}", head=HEAD + imports))
    assert "from triton.language import constexpr\n" in found.source
    assert "def k(x, n: 'tl.int32', BLOCK: constexpr):" in found.source
    assert found.parameters["k"] == {"x": False, "n": False, "BLOCK": True}


def test_a_source_that_does_not_parse_says_so() -> None:
    with pytest.raises(SyntaxError):
        extract.extract("def (")


def test_parameters_are_told_with_what_is_a_constexpr() -> None:
    source = kernel("pass", arguments="x, n, BLOCK: tl.constexpr, *, EVEN: 'tl.constexpr' = True")
    assert extract.extract(source).parameters == {"k": {"x": False, "n": False, "BLOCK": True, "EVEN": True}}


# --- what no kernel may contain -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("import os", "import"),
        ("from os import system", "import"),
        ("global n", "global"),
        ("f = lambda a: a", "lambda"),
        ("try:\n        pass\n    finally:\n        pass", "try"),
        ("raise ValueError", "raise"),
        ("class A:\n        pass", "class"),
        ("def inner():\n        pass", "nested function"),
        ("yield 1", "yield"),
        ("del n", "del"),
        ("y = {i: i for i in range(3)}", "dict comprehension"),
        ("y = tuple(i for i in range(3))", "generator"),
        ("y = x_ptr.__class__", "'__class__'"),
        ("y = x_ptr._type", "'_type'"),
        ("y = tl.core.builtins", "'core'"),
        ("y = f'{x_ptr.__class__}'", "'__class__'"),
        ("open('secret')", "'open'"),
        ("y = torch.softmax(x_ptr, 0)", "'torch'"),
        ("y = __builtins__", "'__builtins__'"),
        ("y = undefined_anywhere", "'undefined_anywhere'"),
        ("tl = 3", "rebinds the module name 'tl'"),
        ("x_ptr.handle.data.tofile('out')", "'handle'"),
    ],
)
def test_a_kernel_may_not_leave_the_language(line: str, rule: str) -> None:
    found = rules(kernel("n += 1", line))
    assert any(rule in text for text in found), found
    assert any(text.startswith("line 8: ") for text in found) or "rebinds" in rule, found


@pytest.mark.parametrize(
    "path",
    [
        "triton.testing.os.system('true')",
        "triton.testing.subprocess.run(['true'])",
        "triton.backends.os.system('true')",
        "triton.compile(n)",
        "triton.set_allocator(n)",
        "triton.runtime.jit",
        "triton.language.random.tl.inspect.os.system('true')",
        "tl.random.tl.inspect.os",
        "tl.extra.pkgutil.os",
        "tl.extra.module_from_spec",
        "tl.extra.hip",
        "tl.extra.cuda.libdevice.core",
        "tl.math.wraps(n)",
        "tl.sum.fn",
        "tl.cdiv.run",
        "k.fn",
        "k.src",
        "LANGUAGE.inspect",
        "FLOAT.inspect.os",
    ],
)
def test_no_python_module_can_be_reached_through_triton(path: str) -> None:
    source = kernel(f"y = {path}").replace("\n@", "\nLANGUAGE = tl.random\nFLOAT = tl.float32\n@", 1)
    assert rules(source), "nothing was found"


@pytest.mark.parametrize(
    ("lines", "name"),
    [
        # In the interpreter a comprehension's variable is not the function's; on a GPU Triton looks names up itself.
        (("y = [exec for exec in (1,)]", "exec('1')"), "exec"),
        (("y = [__builtins__ for __builtins__ in (1,)]", "__builtins__['exec']('1')"), "__builtins__"),
        (("y = getattr(tl, 'co' + 're')", "getattr = 1"), "getattr"),
        (("y = hasattr(tl, 'x')", "hasattr = 1"), "hasattr"),
        (("y = eval('1')", "if BLOCK < 0:\n        eval = 1"), "eval"),
    ],
)
def test_a_name_does_not_become_harmless_by_being_bound_somewhere(lines: tuple[str, ...], name: str) -> None:
    assert any(repr(name) in text for text in rules(kernel(*lines)))


@pytest.mark.parametrize(
    "arguments",
    ["x, n=tl.device_print('d')", "x, n=[1, 2]", "x, n=triton.testing.os", "x, *, n=[].append(1)", "x, n=(n := 1)"],
)
def test_a_default_of_a_kernels_argument_is_a_constant(arguments: str) -> None:
    assert any("default" in text for text in rules(kernel("pass", arguments=arguments)))


@pytest.mark.parametrize("annotation", ["tl.device_print('now')", "f'{print()}'", "triton.testing.os", "[now]"])
def test_an_annotation_that_is_not_tritons_is_left_behind(annotation: str) -> None:
    found = accepted(kernel("y = n", arguments=f"x, n: {annotation} = 1, B: tl.constexpr = 2"))
    (function,) = [node for node in ast.parse(found.source).body if isinstance(node, ast.FunctionDef)]
    assert ast.unparse(function.args) == "x, n=1, B: tl.constexpr=2"


def test_a_constants_annotation_is_left_behind_unless_it_is_tritons() -> None:
    source = kernel("y = A + B").replace("\n@", "\nA: print('now') = 1\nB: tl.constexpr = 2\n@", 1)
    assert accepted(source).source.splitlines()[3:5] == ["A = 1", "B: tl.constexpr = 2"]


@pytest.mark.parametrize(
    "decorator",
    [
        "triton.jit(do_not_specialize=[triton.testing.os.system('true')])",
        "triton.jit(noinline=print('x'))",
        "triton.jit(do_not_specialize_on_alignment=NAMES)",
    ],
)
def test_a_decorators_keywords_are_literals(decorator: str) -> None:
    source = kernel("pass").replace("@triton.jit", f"@{decorator}")
    assert any("literal" in text for text in rules(source))


@pytest.mark.parametrize(
    "decorator",
    ["swap", "torch.compile", "triton.testing.perf_report(x)", "staticmethod", "triton.runtime.jit", "make()(1)"],
)
def test_other_decorators_on_a_kernel_are_refused(decorator: str) -> None:
    source = kernel("pass").replace("@triton.jit", f"@{decorator}\n@triton.jit")
    assert any("decorator" in text for text in rules(source))


# --- the kernel that is read must be the kernel that runs ---------------------------------------------------


@pytest.mark.parametrize(
    "later",
    [
        "copy_kernel = other\n",
        "copy_kernel = triton.autotune(configs=[], key=[])(copy_kernel)\n",
        "copy_kernel: object = 1\n",
        COPY,
        "def copy_kernel(x):\n    pass\n",
        "class copy_kernel:\n    pass\n",
        "import math as copy_kernel\n",
        "from triton import cdiv as copy_kernel\n",
        "if True:\n    @triton.jit\n    def copy_kernel(x):\n        pass\n",
        "for copy_kernel in (1, 2):\n    pass\n",
        "with open_it() as copy_kernel:\n    pass\n",
        "if (copy_kernel := 3):\n    pass\n",
        "if True:\n    import math as copy_kernel\n",
        "match 1:\n    case copy_kernel:\n        pass\n",
        "del copy_kernel\n",
        "(copy_kernel, other) = 1, 2\n",
    ],
)
def test_a_kernel_that_is_bound_again_at_module_level_is_refused(later: str) -> None:
    assert any("'copy_kernel'" in text and "more than once" in text for text in rules(HEAD + COPY + later))


@pytest.mark.parametrize(
    "binding",
    [
        "tl = Fake()\n",
        "class triton:\n    pass\n",
        "import torch as tl\n",
        "import torch as triton\n",
        "def jit(f):\n    return f\n",
        "if True:\n    tl = 1\n",
        "tl = tl.core\nLEAK = tl.builtins\n",
    ],
)
def test_the_names_of_triton_mean_triton(binding: str) -> None:
    head = HEAD + "from triton import jit\n"
    for source in (head + binding + COPY, head + COPY + binding):
        assert any("more than once" in text or "does not name" in text for text in rules(source)), source


def test_a_decorator_called_jit_must_be_tritons() -> None:
    source = HEAD + "def jit(f):\n    return f\n" + COPY.replace("@triton.jit", "@jit")
    assert any("'jit'" in text for text in rules(source))


def test_a_constant_that_kernels_use_is_bound_once() -> None:
    twice = kernel("y = SIZE").replace("\n@", "\nSIZE = tl.constexpr(1)\nif True:\n    SIZE = tl.constexpr(2)\n@", 1)
    assert any("'SIZE'" in text and "more than once" in text for text in rules(twice))
    unused = kernel("pass").replace("\n@", "\nSIZE = 1\nif True:\n    SIZE = 2\n@", 1)
    assert rules(unused) == []


@pytest.mark.parametrize("value", ["tl.core", "tl.random", "tl._utils", "triton.testing", "tl.load.fn", "tl.load(1)",
                                   "exec", "[1, 2]", "tl.constexpr(open)", "tl.constexpr(value=1)"])  # fmt: skip
def test_what_is_no_constant_cannot_be_used_as_one(value: str) -> None:
    source = kernel("y = LEAK").replace("\n@", f"\nLEAK = {value}\n@", 1)
    assert any("'LEAK'" in text for text in rules(source))


# --- the lists hold for the installed Triton ----------------------------------------------------------------


def test_a_body_may_ask_a_kernel_for_nothing_behind_which_the_compiler_stands() -> None:
    """A kernel can be an argument, and what an argument holds does not show in the syntax."""
    from triton.runtime.interpreter import InterpretedFunction
    from triton.runtime.jit import JITFunction

    def example() -> None:
        pass

    kernel = JITFunction(example)
    known = {*dir(kernel), *vars(kernel), *dir(InterpretedFunction)}
    assert {name for name in known & VALUE_ATTRIBUTES if callable(getattr(kernel, name, None))} == set()
