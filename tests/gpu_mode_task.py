"""A task in the layout of GPU MODE, with texts of our own."""

from __future__ import annotations

from pathlib import Path

TASK = """
description: |
  Each row times its own weight, written into a given tensor.
files:
  - {"name": "submission.py", "source": "@SUBMISSION@"}
  - {"name": "task.py", "source": "task.py"}
  - {"name": "shapes.py", "source": "../shared/shapes.py"}
  - {"name": "reference.py", "source": "reference.py"}
config: {"main": "eval.py"}
tests:
  - {"rows": 8, "width": 40, "scale": 0.5, "seed": 3}
benchmarks:
  - {"rows": 512, "width": 256, "scale": 0.5, "seed": 11}
  - {"rows": 2048, "width": 256, "scale": 2.0, "seed": 12}
"""

REFERENCE = """
import torch
from shapes import normal
from task import Data


def generate_input(rows: int, width: int, scale: float, seed: int) -> Data:
    made = torch.Generator(device="cuda")
    made.manual_seed(seed)
    out = torch.empty(rows, width, device="cuda")
    return normal(rows, width, made), normal(rows, 1, made) * scale, out


def ref_kernel(data: Data) -> torch.Tensor:
    x, weight, out = data
    out[...] = x * weight
    return out
"""

SHAPES = """
import torch


def normal(rows, width, made):
    return torch.randn(rows, width, generator=made, device=made.device)
"""

KERNEL = """
import torch
import triton
import triton.language as tl
from task import Data


@triton.jit
def scale_rows(x, weight, out, width, x_row, x_column, weight_row, out_row, out_column, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    inside = columns < width
    values = tl.load(x + row * x_row + columns * x_column, mask=inside, other=0.0)
    values *= tl.load(weight + row * weight_row)
    tl.store(out + row * out_row + columns * out_column, values, mask=inside)


def custom_kernel(data: Data) -> torch.Tensor:
    x, weight, out = data
    rows, width = x.shape
    strides = (*x.stride(), weight.stride(0), *out.stride())
    scale_rows[(rows,)](x, weight, out, width, *strides, BLOCK=triton.next_power_of_2(width))
    return out
"""


def write_task(root: Path, task: str = TASK, reference: str = REFERENCE) -> Path:
    """Give the task's folder, `root`/rows."""
    folder = root / "rows"
    folder.mkdir(parents=True)
    (root / "shared").mkdir()
    (root / "shared" / "shapes.py").write_text(SHAPES)
    (folder / "task.py").write_text("import torch\n\nData = tuple[torch.Tensor, torch.Tensor, torch.Tensor]\n")
    (folder / "task.yml").write_text(task)
    (folder / "reference.py").write_text(reference)
    return folder
