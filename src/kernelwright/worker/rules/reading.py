"""Whether Python and Triton read from a file what was judged: the text ships, and each of them reads it again.

Python decodes a file by the encoding that its first lines declare. Triton looks for a kernel's text in the lines that
begin with its first decorator, from the first of them that begins with `def`. Pure syntax.
"""

from __future__ import annotations

import ast
import codecs
import inspect
import re
import textwrap

from kernelwright.source import parse as syntax
from kernelwright.source.kernels import JitFunction
from kernelwright.worker.rules.imports import Finding

DECLARED = re.compile(r"#.*?coding[:=][ \t]*([-\w.]+)")
"""A declaration of an encoding (PEP 263), in the first two lines."""

TRITON_BEGINS = re.compile(r"^def\s+\w+\s*\(", re.MULTILINE)
"""Where Triton takes a kernel to begin (`JITCallable.__init__` in triton/runtime/jit.py, 3.5 to 3.8)."""


def misread(source: str, kernels: list[JitFunction]) -> list[Finding]:
    """Where Python or Triton would find another text in a file that holds `source`."""
    lines = [line + "\n" for line in re.split("\r\n|\r|\n", source)]
    return [*_encodings(source)] + [
        Finding(kernel.node.lineno, f"Triton would read another text than that of the kernel {kernel.name!r}: write "
                                    "its decorators without texts of several lines")
        for kernel in kernels if _as_triton_reads(lines, kernel) != _plain(kernel.node)
    ]  # fmt: skip


def _encodings(source: str) -> list[Finding]:
    names = DECLARED.findall("\n".join(source.split("\n")[:2]))
    return [Finding(1, f"declares the encoding {name}; write UTF-8") for name in names if not _is_utf_8(name)]


def _is_utf_8(name: str) -> bool:
    try:
        return codecs.lookup(name).name in ("utf-8", "ascii")
    except LookupError:
        return False


def _as_triton_reads(lines: list[str], kernel: JitFunction) -> str:
    """What Triton would compile, "" where it would read no single function."""
    first = min(decorator.node.lineno for decorator in kernel.decorators)
    try:
        block = textwrap.dedent("".join(inspect.getblock(lines[first - 1 :])))
        begin = TRITON_BEGINS.search(block)
        read = syntax.parse(block[begin.start() :]).body if begin else []
    except (SyntaxError, ValueError):
        return ""
    return _plain(read[0]) if len(read) == 1 and isinstance(read[0], ast.FunctionDef) else ""


def _plain(function: ast.FunctionDef) -> str:
    """The function without its decorators and without lines and columns."""
    return ast.dump(ast.FunctionDef(function.name, function.args, function.body, [], function.returns))
