"""Reading the source of a kernel that Inductor generated."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field

from kernelwright.inductor.faults import UnknownText
from kernelwright.inductor.templates import read_template
from kernelwright.inductor.tidy import blocks_of
from kernelwright.model import TritonKernel

GRIDS = ("Grid1D", "Grid2D", "Grid3D", "Grid2DWithYZOverflow")


@dataclass(frozen=True)
class Kernel:
    """A generated kernel.

    name: Inductor's, with a number where its launches differ in sizes. main: the kernel. functions: those beside it,
    for its scans. is_wide: whether its offsets have 64 bits. blocks, grid: of a template.
    """

    name: str
    generated: TritonKernel
    main: ast.FunctionDef
    functions: tuple[ast.FunctionDef, ...]
    is_wide: bool
    blocks: Mapping[str, int] = field(default_factory=dict)
    grid: tuple[str, ...] = ()

    @property
    def runtime(self) -> list[str]:
        """Names of the parameters that are no blocks."""
        return [one.arg for one in self.main.args.args if one.annotation is None]


def read_kernel(generated: TritonKernel) -> Kernel:
    """Raises `UnknownText` for a kernel of a form that is not known."""
    functions = [node for node in ast.parse(generated.source).body if isinstance(node, ast.FunctionDef)]
    main = next((one for one in functions if one.name == generated.name), None)
    if main is None:
        raise UnknownText(f"{generated.name} has no function of that name")
    if generated.grid not in GRIDS and generated.tiles is None:
        raise UnknownText(f"{generated.name} has the grid {generated.grid}")
    for block in blocks_of(main.body):  # an assertion has no effect in a launch
        block[:] = [one for one in block if not ast.unparse(one).startswith("tl.device_assert(")]
    others = tuple(one for one in functions if one is not main)
    if generated.tiles is None:
        return Kernel(generated.name, generated, main, others, "numel': 'i64'" in generated.source)
    main, blocks = read_template(main)
    is_wide = "INDEX_DTYPE : tl.constexpr = tl.int64" in generated.source
    return Kernel(generated.name, generated, main, others, is_wide, blocks)
