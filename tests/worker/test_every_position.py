"""Code that writes a file, in the place of every expression and statement of a kernel: it never leaves the source."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from kernelwright.worker.rules.extract import extract

KERNEL = '''
import triton
import triton.language as tl

SCALE: tl.constexpr = 2.0


@triton.jit
def helper(a, b):
    return a + b


@triton.autotune(configs=[triton.Config({"BLOCK": 64})], key=["n"])
@triton.jit(do_not_specialize=["n"])
def k(x_ptr, y_ptr, n: "i32", BLOCK: tl.constexpr, FLAG: tl.constexpr = True):
    """A docstring."""
    tl.static_assert(BLOCK > 1, f"BLOCK is {BLOCK}")
    offsets: tl.int32 = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    pair = [v + 1 for v in (1, 2)]
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for i in tl.range(0, n, BLOCK, num_stages=2):
        x = tl.load(x_ptr + offsets + i, mask=offsets < n, other=0.0)
        total += helper(x, *pair) if FLAG else -x
    while n > 0 and not FLAG:
        n -= 1
    if FLAG:
        total = total[:, None][:, 0] * SCALE
    else:
        assert BLOCK > 2, "small"
    tl.store(y_ptr + offsets, total.to(tl.float32), mask=offsets < n)
'''

PAYLOADS = {
    "import": "__import__('pathlib').Path('FORBIDDEN').write_text('x')",
    "open": "open('FORBIDDEN', 'w')",
    "text that is evaluated": "tl.str_to_ty('FORBIDDEN', None)",
    "the interpreter's numpy": "np.save('FORBIDDEN', 1)",
    "a comprehension's numpy": "[np.save('FORBIDDEN', np) for np in (np,)]",
    "getattr": "getattr(tl, 'FORBIDDEN')",
    "a lambda": "(lambda: FORBIDDEN)()",
    "an assignment": "(tl := FORBIDDEN)",
    "a module": "tl.core.FORBIDDEN",
    "an attribute of a value": "x_ptr.FORBIDDEN()",
    "an f-string": "f'{x_ptr.FORBIDDEN}'",
}

STATEMENTS = ("import FORBIDDEN", "tl.sum = FORBIDDEN", "del tl.FORBIDDEN", "def FORBIDDEN():\n    pass",
              "with FORBIDDEN as tl.sum:\n    pass", "try:\n    FORBIDDEN\nexcept:\n    pass", "global FORBIDDEN",
              "class FORBIDDEN:\n    pass", "'''\ndef k(FORBIDDEN):\n    open(1)\n    #'''",
              "for tl.FORBIDDEN in (1,):\n    pass", "x_ptr: tl.store(FORBIDDEN) = 1")  # fmt: skip


def places(tree: ast.AST) -> Iterator[tuple[ast.AST, str, int | None]]:
    """Node, field and index of every expression that is read, in all functions."""
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        for node in ast.walk(function):
            for field, value in ast.iter_fields(node):
                for index, item in enumerate(value) if isinstance(value, list) else [(None, value)]:
                    if isinstance(item, ast.expr) and isinstance(getattr(item, "ctx", ast.Load()), ast.Load):
                        yield node, field, index


def put(node: ast.AST, field: str, index: int | None, new: ast.AST) -> None:
    if index is None:
        setattr(node, field, new)
    else:
        getattr(node, field)[index] = new


def check(tree: ast.Module) -> None:
    source = ast.unparse(ast.fix_missing_locations(tree))
    found = extract(source)
    assert found.findings or "FORBIDDEN" not in found.source, source


def test_the_kernel_itself_is_accepted() -> None:
    assert extract(KERNEL).findings == ()


@pytest.mark.parametrize(
    "payload", ["import", "text that is evaluated", "a comprehension's numpy", "an attribute of a value"]
)
def test_an_expression_in_any_place_is_refused_or_left_behind(payload: str) -> None:
    tree = ast.parse(KERNEL)
    found = list(places(tree))
    assert len(found) > 100
    for node, field, index in found:
        if isinstance(node, ast.JoinedStr):
            continue  # its parts are not expressions of their own
        before = getattr(node, field) if index is None else getattr(node, field)[index]
        put(node, field, index, ast.parse(PAYLOADS[payload], mode="eval").body)
        check(tree)
        put(node, field, index, before)
    assert ast.dump(tree) == ast.dump(ast.parse(KERNEL))


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_statement_in_any_place_is_refused_or_left_behind(statement: str) -> None:
    tree = ast.parse(KERNEL)
    bodies = [n for f in ast.walk(tree) if isinstance(f, ast.FunctionDef) for n in ast.walk(f) if hasattr(n, "body")]
    for body in bodies:
        for place in range(len(body.body) + 1 if isinstance(body.body, list) else 0):
            body.body.insert(place, ast.parse(statement).body[0])
            check(tree)
            del body.body[place]


@pytest.mark.parametrize("constant", ["SCALE = {}", "SCALE: {} = 1", "SCALE = tl.constexpr({})", "SCALE = 1 + {}"])
@pytest.mark.parametrize("payload", PAYLOADS)
def test_a_constant_of_the_module_holds_no_code(payload: str, constant: str) -> None:
    source = KERNEL.replace("SCALE: tl.constexpr = 2.0", constant.format(PAYLOADS[payload]))
    found = extract(source)
    assert found.findings or "FORBIDDEN" not in found.source
