"""Cumulative sums can be judged where the framework adds as on a GPU: in the dtype, from block to block of a row.

Not a verification of a kernel. On a CPU PyTorch adds more precisely than that, so the gallery's own problem qualifies
there whatever its dtype; here a reference of the GPU's way stands in its place.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelwright.model import Case, CaseQualification
from kernelwright.worker.judge.draws import Draws
from kernelwright.worker.judge.trivial import qualification
from kernelwright.worker.reference import load

PROBLEM = Path(__file__).parents[2] / "gallery" / "cumsum" / "problem.py"
ROWS = 3
"""Of each case, so that it is computed in a second; how a row is added depends on the real number of rows."""

SCAN = """
from torch._subclasses.fake_tensor import FakeTensor

def scanned(x, columns):
    \"\"\"Row after row in blocks; within a block, halves of twice the length with each step, all in x's dtype.
    Tensors without values are described by one operator and not by thousands.\"\"\"
    if isinstance(x, FakeTensor):
        return torch.cumsum(x, dim=-1)
    total, blocks = 0, []
    for block in x.split(columns, dim=1):
        length = block.shape[1]
        block = nn.functional.pad(block, (0, columns - length))
        block[:, 0] += total
        half = 1
        while half < columns:
            pairs = block.view(len(x), -1, 2, half)
            pairs[:, :, 1] += pairs[:, :, 0, -1:]
            half *= 2
        total = block[:, -1]
        blocks.append(block[:, :length])
    return torch.cat(blocks, dim=1)
"""


def block_columns(rows: int, columns: int) -> int:
    """How much of a row a block of threads adds at a time: PyTorch 2.11, aten/src/ATen/native/cuda/ScanUtils.cuh,
    get_log_num_threads_x_inner_scan, two elements a thread."""
    threads = (9 + (columns - 1).bit_length() - (rows - 1).bit_length()) // 2
    return int(2 << min(max(4, threads), 9))


def on_a_gpu(folder: Path, dtype: str, rows: int, columns: int) -> CaseQualification:
    """The gallery's problem with one case, its sums made as on a GPU."""
    source = PROBLEM.read_text(encoding="utf-8")
    sums = f"scanned(x, {block_columns(rows, columns)})"
    assert source.count("torch.cumsum(x, dim=-1)") == 1
    case = f'\n\nCASES = [dict(name="one", dtype="{dtype}", rows={ROWS}, cols={columns})]\n'
    file = folder / "problem.py"
    file.write_text(source.replace("torch.cumsum(x, dim=-1)", sums) + SCAN + case)
    problem = load.load_problem(str(file))
    draws = Draws(problem, "cpu").foreseeable()
    draws.draws_for = lambda case: [0]  # the inputs as given: all distributions of rows this long take minutes
    return qualification(draws, "one")


CASES = [case for case in load.load_problem(str(PROBLEM)).cases if not case.small]


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_case_tells_a_sum_from_a_rounded_one(tmp_path: Path, case: Case) -> None:
    found = on_a_gpu(tmp_path, str(case.dtype), int(case.params["rows"]), int(case.params["cols"]))
    assert found.accepted == ()
    assert all(answer.margin is None or answer.margin > 2 for answer in (*found.answers, *found.ignored))


@pytest.mark.parametrize("columns", [2048, 65536])
def test_rows_in_bfloat16_do_too(tmp_path: Path, columns: int) -> None:
    """By the limit of the rms error on the problem's own inputs: PyTorch's own error alone would let it pass."""
    assert on_a_gpu(tmp_path, "bfloat16", 1024, columns).accepted == ()
