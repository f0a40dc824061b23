"""Kernels are easier to read, and compute the same."""

from __future__ import annotations

import ast

import pytest

from kernelwright.inductor.tidy import tidy


def tidied(body: str) -> str:
    kernel = ast.parse("def kernel(x_ptr, n, B):\n" + "\n".join(f"    {line}" for line in body.splitlines())).body[0]
    assert isinstance(kernel, ast.FunctionDef)
    tidy(kernel)
    return ast.unparse(ast.fix_missing_locations(ast.Module(kernel.body, [])))


def test_a_name_that_repeats_another_is_replaced_by_it() -> None:
    assert tidied("i = tl.arange(0, B)[:]\nx0 = i\nuse(x0 + n)") == "i = tl.arange(0, B)\nuse(i + n)"
    loops = "for k in range(0, n, B):\n    i = k + B\n    r0 = i\n    use(r0)"
    assert tidied(f"{loops}\n{loops}").count("use(i)") == 2
    assert "r0" not in tidied(f"{loops}\n{loops}")


@pytest.mark.parametrize(
    "body",
    [
        "a = f(n)\nb = a\na = f(b)\nuse(b)",
        "b = a\na = f(n)\nuse(b)",
        "a = f(n)\nb = a\nb = f(b)\nuse(b)",
        "a = f(n)\nfor k in range(0, n):\n    b = a\n    a = f(k)\nuse(b)",
    ],
)
def test_a_name_whose_value_differs_at_some_time_stays(body: str) -> None:
    assert tidied(body) == body


def test_a_constant_stands_where_another_operand_decides_the_dtype() -> None:
    half = "c = tl.full([1], 0.5, tl.float32)\n"
    assert tidied(half + "use(x * c, c - x)").endswith("use(x * 0.5, 0.5 - x)")
    assert tidied("c = tl.full([1], n, tl.int64)\nuse(x < c)").endswith("use(x < n)")
    for kept in ("use(c)", "use(f(c))", "use(tl.where(m, c, x))", "use(c.dtype)", "use(c * c)", "use(c < c)"):
        assert tidied(half + kept).endswith(kept)
    assert tidied("c = tl.full([1], 3, tl.int64)\nuse(x * c)").endswith("use(x * c)"), "it makes x one of 64 bits"
    assert tidied("c = tl.full([1], 3.0, tl.float64)\nuse(x * c)").endswith("use(x * c)")
    assert tidied(half + "c = f(c)\nuse(x * c)").endswith("use(x * c)")


def test_an_operand_that_changes_nothing_is_left_out() -> None:
    assert tidied("use((x * 1 + 0) % 2, x - x // (1 * 1) + -3)") == "use(x % 2, x - x - 3)"
    for kept in ("use(x * 1.0, x + 0.0, x + -1.0, x - 0.0)", "use(x * True)", "use(x * 2 + 1)", "use(1 // x)"):
        assert tidied(kept) == kept
