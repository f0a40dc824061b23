"""What a profiler says on a device of kernels whose character is known. Needs Nsight Compute with its rights."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kernelwright.diagnosis import diagnose
from kernelwright.evaluator.client import ProcessWorker, start_worker
from kernelwright.model import Candidate, CaseInfo, Limit, Profile
from on_device import KERNEL, doubling, needs_device

pytestmark = needs_device()

SCATTERED = KERNEL.replace(
    "    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n",
    "    at = tl.arange(0, BLOCK) * tl.num_programs(0) + tl.program_id(0)  # neighbours lie far apart\n",
)
FEW = KERNEL.replace("(triton.cdiv(x.numel(), 1024),)", "(8,)").replace(
    """    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(out_ptr + at, x * 2, mask=at < n)
""",
    """    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at, mask=at < n)
        tl.store(out_ptr + at, x * 2, mask=at < n)
""",
)

CASE_BYTES = 2 * 4 * (1 << 27)


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProcessWorker]:
    with start_worker() as worker:
        yield worker


@pytest.fixture(scope="module")
def info(worker: ProcessWorker, tmp_path_factory: pytest.TempPathFactory) -> CaseInfo:
    path = tmp_path_factory.mktemp("problem") / "problem.py"
    path.write_text(doubling(1 << 27))
    return next(info for info in worker.load(str(path)).cases if info.case.timed)


def counted(worker: ProcessWorker, implementation: Candidate | str) -> Profile:
    found = worker.profile(implementation, "large")
    if found.tool != "ncu":
        pytest.skip(f"Nsight Compute reads nothing here: {found.not_used['ncu']}")
    return found


def test_a_copy_moves_what_it_must_and_is_at_the_bound(worker: ProcessWorker, info: CaseInfo) -> None:
    found = counted(worker, Candidate(source=KERNEL))
    (launch,) = found.launches
    read, written = launch.value("dram_read"), launch.value("dram_write")
    assert read == pytest.approx(CASE_BYTES / 2, rel=0.02)
    assert written == pytest.approx(CASE_BYTES / 2, rel=0.15)  # the last of it still lies in L2
    assert launch.value("spills") == 0
    assert diagnose(info, None, found, worker.environment().peaks).bottleneck.limit in (Limit.NONE, Limit.DRAM)


def test_scattered_accesses_are_found(worker: ProcessWorker, info: CaseInfo) -> None:
    found = counted(worker, Candidate(source=SCATTERED))
    assert diagnose(info, None, found, worker.environment().peaks).bottleneck.limit is Limit.UNCOALESCED


def test_a_grid_of_eight_blocks_is_found(worker: ProcessWorker, info: CaseInfo) -> None:
    found = counted(worker, Candidate(source=FEW))
    assert diagnose(info, None, found, worker.environment().peaks).bottleneck.limit is Limit.GRID


@pytest.mark.parametrize("name", ["eager", "compile"])
def test_the_frameworks_own_is_seen_too(worker: ProcessWorker, info: CaseInfo, name: str) -> None:
    found = counted(worker, name)
    assert len(found.launches) == 1
    assert found.launches[0].value("dram_read") == pytest.approx(CASE_BYTES / 2, rel=0.02)
