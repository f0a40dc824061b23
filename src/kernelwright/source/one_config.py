"""Removal of the configs of `triton.autotune` that were not judged: each autotuned kernel keeps one.

Triton's tuner times all configs in the program that uses a kernel. Only one of them was judged, and another one may
change what the kernel does.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from kernelwright.source.edits import Edit, edited
from kernelwright.source.kernels import Kernel, read_kernels
from kernelwright.source.parse import parse
from kernelwright.source.scopes import Reader
from kernelwright.source.tunables import autotune_argument, autotune_list


def with_one_config(source: str, chosen: Mapping[str, int]) -> str:
    """`source` with one config per autotuned kernel. chosen: by kernel, the index of its config; 0 where there is none.
    Raises `SyntaxError`."""
    reader = Reader(parse(source))
    edits = [edit for kernel in read_kernels(reader).values()
             if (edit := _edit(source, reader, kernel, chosen.get(kernel.name, 0))) is not None]  # fmt: skip
    return edited(source, edits)


def _edit(source: str, reader: Reader, kernel: Kernel, index: int) -> Edit | None:
    """None where a kernel is not autotuned, or has only one config."""
    given = autotune_argument(kernel)
    written = autotune_list(reader, kernel)
    if given is None:
        return None
    if written is None:
        return Edit(given, given, f"list({ast.unparse(given)})[{index}:{index + 1}]")
    if len(written.elts) == 1 or index >= len(written.elts):
        return None
    return Edit(given, given, f"[{ast.get_source_segment(source, written.elts[index])}]")
