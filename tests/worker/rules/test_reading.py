"""A text is refused that Python or Triton would read otherwise from a file."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
import triton

from kernelwright.source import parse as syntax
from kernelwright.source.kernels import jit_functions
from kernelwright.worker.rules.reading import misread

HEAD = "import triton\nimport triton.language as tl\n\n\n"


def rules(source: str) -> list[str]:
    return [str(finding) for finding in misread(source, jit_functions(syntax.parse(source)))]


HONEST = {
    "plain": "@triton.jit\ndef k(x):\n    pass\n",
    "a docstring with def": '@triton.jit\ndef k(x):\n    """Text.\n\ndef other(x):\n    """\n    pass\n',
    "configs over several lines": "@triton.autotune(\n    configs=[\n        triton.Config({'B': 1}),\n    ],\n"
                                  "    key=[],\n)\n@triton.jit\ndef k(x, B: tl.constexpr):  # first\n    pass\n# end\n",
    "a computed value": "@triton.heuristics({'B': lambda args: 1})\n@triton.jit\n"
                        "def k(x, B: tl.constexpr):\n    pass\n",
    "arguments over several lines": "@triton.jit\ndef k(\n    x,\n):\n    if x:\n        pass\n\n\nX = 1\n",
    "lines that end otherwise": "@triton.jit\r\ndef k(x):\r\n    pass\r\n\r\n\f\r\nX = 1\r\n",
    "an encoding": "# -*- coding: utf-8 -*-\n",
}  # fmt: skip


@pytest.mark.parametrize("case", HONEST)
def test_a_text_that_is_read_as_it_was_judged_is_not_refused(case: str) -> None:
    assert rules(HEAD + HONEST[case]) == []
    assert rules(HONEST[case]) == []


@pytest.mark.parametrize(
    "line", ["# coding: latin-1", "#coding=utf-7", "# vim: set fileencoding=cp1252 :", "# coding: no"]
)
@pytest.mark.parametrize("before", ["", "\n", "# text\n"])
def test_another_encoding_than_utf_8_is_refused(line: str, before: str) -> None:
    (found,) = rules(before + line + "\n" + HEAD)
    assert "declares the encoding" in found
    assert rules("\n\n" + before + line) == []


def test_a_kernel_in_the_text_of_a_decorator_is_refused_and_triton_does_read_it(tmp_path: Path) -> None:
    """The text begins a second function, whose end is within a text as well."""
    decorator = "@triton.heuristics({'B': lambda args: 1 if \"\"\"\ndef k(x, B: tl.constexpr):\n    return\n    '''\n"
    source = HEAD + decorator + "\"\"\" else 1})\n@triton.jit\ndef k(x, B: tl.constexpr):\n    pass\n    # '''\n"
    (found,) = rules(source)
    assert "Triton would read other lines as the kernel 'k'" in found
    file = tmp_path / "reread.py"
    file.write_text(source)
    spec = importlib.util.spec_from_file_location("reread", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert isinstance(module.k.fn, triton.JITFunction)
    assert module.k.fn.src.startswith("def k(x, B: tl.constexpr):\n    return\n")
