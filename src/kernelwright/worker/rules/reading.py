"""Files that Python or Triton would read differently from the judged text. Pure syntax.

The judged text is shipped as a file, which Python and Triton read again. Python decodes it by the encoding that its
first lines declare. Triton looks at the lines from a kernel's first decorator on, and takes the first of them that
begins with `def` for the start of the kernel.
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
"""Triton's search for the start of a kernel (`JITCallable.__init__` in triton/runtime/jit.py, 3.5 to 3.8)."""


def misread(source: str, kernels: list[JitFunction]) -> list[Finding]:
    """Findings for places that Python or Triton would read differently from a file with the text `source`."""
    lines = [line + "\n" for line in re.split("\r\n|\r|\n", source)]
    return [*_encodings(source)] + [
        Finding(kernel.node.lineno, f"Triton would read other lines as the kernel {kernel.name!r}: remove strings "
                                    "with line breaks from its decorators")
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
    """A dump of the function that Triton would compile; "" if Triton would not find exactly one function."""
    first = min(decorator.node.lineno for decorator in kernel.decorators)
    try:
        block = textwrap.dedent("".join(inspect.getblock(lines[first - 1 :])))
        begin = TRITON_BEGINS.search(block)
        read = syntax.parse(block[begin.start() :]).body if begin else []
    except (SyntaxError, ValueError):
        return ""
    return _plain(read[0]) if len(read) == 1 and isinstance(read[0], ast.FunctionDef) else ""


def _plain(function: ast.FunctionDef) -> str:
    """A dump of the function without decorators, lines and columns."""
    return ast.dump(ast.FunctionDef(function.name, function.args, function.body, [], function.returns))
