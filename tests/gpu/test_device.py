"""What only a device can show: faults of real kernels, measured times, and the framework beside them.

Run by hand on a machine with one: `pytest -m gpu`. The test process never initialises CUDA; the workers do.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelwright.evaluator.client import start_worker
from kernelwright.evaluator.protocol import Worker
from kernelwright.model import Candidate, Status
from on_device import KERNEL, doubling, needs_device

GALLERY = Path(__file__).parent.parent.parent / "gallery"
PROBLEMS = sorted(file.parent.name for file in GALLERY.glob("*/problem.py"))

pytestmark = needs_device()

STORE = "    tl.store(out_ptr + at, x * 2, mask=at < n)\n"

BAD = {
    "an illegal address": (STORE, STORE.replace("+ at", "+ at.to(tl.int64) + 100000000000"), Status.RUNTIME_ERROR,
                           "illegal memory access"),
    "an endless kernel": (STORE, "    more = 1.0\n    while more > 0.5:\n        more = more + 1.0\n"
                          "        tl.store(out_ptr + at, x * more, mask=at < n)\n", Status.TIMEOUT,
                          "did not finish in 4 s"),
    "a store past the end": (STORE, STORE.replace(", mask=at < n", ""), Status.WRONG, "outside every buffer"),
    "more memory than there is": ("    out = ", "    more = torch.empty(1 << 42, dtype=torch.uint8, device=x.device)\n"
                                  "    double_kernel[(1,)](x, more, 0, BLOCK=1024)\n    out = ", Status.RUNTIME_ERROR,
                                  "out of memory"),
    "a wrong value": ("x * 2,", "x * 2.001,", Status.WRONG, ""),
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("double")
    (folder / "problem.py").write_text(doubling(1 << 25))
    return folder


@pytest.fixture(scope="module")
def worker(folder: Path) -> Iterator[Worker]:
    with start_worker(limits={"replay_s": 4.0}) as worker:
        worker.load(str(folder))
        yield worker


@pytest.mark.parametrize("what", BAD)
def test_a_fault_on_the_device_has_its_status_and_the_next_candidate_passes(worker: Worker, what: str) -> None:
    place, text, status, because = BAD[what]
    assert place in KERNEL
    found = worker.evaluate(Candidate(source=KERNEL.replace(place, text)), "verify")
    assert found.status is status, found.reason
    assert because in found.reason
    assert worker.evaluate(Candidate(source=KERNEL), "verify").status is Status.PASSED


def test_a_measured_time_has_an_interval_and_the_host_s_times_apart(worker: Worker, folder: Path) -> None:
    info = worker.load(str(folder))
    found = worker.evaluate(Candidate(source=KERNEL), "search")
    assert found.verified_on == "device"
    assert found.timing_kind == "measured"
    timing = next(result.timing for result in found.results if result.case == "large")
    assert timing is not None
    assert timing.ci95_us is not None
    assert timing.ci95_us[0] <= timing.median_us <= timing.ci95_us[1]
    assert timing.call_us is not None
    assert timing.issue_us is not None
    assert timing.call_us > timing.issue_us > 0
    bound_us = next(one.bound.bound_us for one in info.cases if one.case.name == "large")
    assert timing.median_us > 0.95 * bound_us  # no kernel can beat it; how near this one comes is no test's business


def test_bench_has_the_framework_s_rows_and_a_verdict_on_the_candidate(worker: Worker, folder: Path) -> None:
    worker.load(str(folder))
    report = worker.bench({"mine": Candidate(source=KERNEL)}, ("large",))
    rows = {row.name: row for row in report.cases[0].implementations}
    assert list(rows) == ["eager", "compile", "mine"]
    assert all(row.median_us and row.ci95_us and row.samples_us and row.warm_us for row in rows.values())
    assert rows["mine"].verdict in ("faster", "tie", "slower")
    assert rows["eager"].verdict is None
    (case,) = report.cases
    assert case.noise_floor is not None, case.noise_floor_source
    assert case.noise_floor >= 0.005
    assert case.exchanged_after is not None
    assert {len(row.samples_us) for row in rows.values()} == {2 * case.exchanged_after}
    fastest = min(rows["eager"], rows["compile"], key=lambda row: row.median_us or 0.0)
    assert fastest.speedup == pytest.approx(1.0)
    assert report.environment.device


def test_bench_times_a_kernel_beside_one_that_needs_more_memory(worker: Worker, folder: Path) -> None:
    """They share memory: it has to hold the larger one before the smaller one is prepared."""
    worker.load(str(folder))
    launch = "    double_kernel[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), BLOCK=1024, num_warps=4)\n"
    in_two_steps = (
        "    scratch = torch.empty_like(out)\n"
        "    double_kernel[(triton.cdiv(x.numel(), 1024),)](x, scratch, x.numel(), BLOCK=1024, num_warps=4)\n"
        "    copy_kernel[(triton.cdiv(x.numel(), 1024),)](scratch, out, x.numel(), BLOCK=1024, num_warps=4)\n"
    )
    start, end = KERNEL.index("@triton.jit"), KERNEL.index("def kernel_function")
    copy = KERNEL[start:end].replace("double_kernel", "copy_kernel").replace("x * 2,", "x,")
    larger = (KERNEL[:end] + copy + KERNEL[end:]).replace(launch, in_two_steps)
    report = worker.bench(
        {"small": Candidate(source=KERNEL), "large": Candidate(source=larger)}, ("large",), compile=False
    )
    rows = {row.name: row for row in report.cases[0].implementations}
    assert [row.status for row in rows.values()] == [Status.PASSED] * 3, [row.reason for row in rows.values()]
    assert (rows["large"].median_us or 0.0) > (rows["small"].median_us or 0.0)


def test_the_largest_problem_of_the_gallery_is_benched_beside_the_framework() -> None:
    """On 80 GB the reference in float64 finds room only while nothing that is timed holds any."""
    with start_worker() as worker:
        info = worker.load(str(GALLERY / "rmsnorm"))
        assert max(one.bytes for one in info.cases) > 7e9
        report = worker.bench({"best": Candidate(source=(GALLERY / "rmsnorm" / "best.py").read_text())})
    rows = [row for case in report.cases for row in case.implementations]
    assert {row.status for row in rows} == {Status.PASSED}, [row.reason for row in rows]
    assert {row.name for row in rows} == {"eager", "compile", "best"}


@pytest.mark.parametrize("problem", PROBLEMS)
def test_a_problem_of_the_gallery_qualifies_on_every_case(problem: str) -> None:
    """The framework's own error, which decides what a kernel may be off, can be larger here than on a CPU."""
    with start_worker() as worker:
        worker.load(str(GALLERY / problem))
        report = worker.qualify(every=True)
    assert report.qualifies, report.reason
    assert not report.not_judged


@pytest.mark.parametrize("problem", PROBLEMS)
def test_a_starter_of_the_gallery_is_right_on_every_case(problem: str) -> None:
    with start_worker() as worker:
        worker.load(str(GALLERY / problem))
        found = worker.evaluate(Candidate(source=(GALLERY / problem / "starter.py").read_text()), "verify")
    assert found.status is Status.PASSED, found.reason
    assert {result.status for result in found.results} == {Status.PASSED}


def test_a_time_below_the_physical_bound_is_refused_and_no_record(tmp_path: Path) -> None:
    """The stated work is four times what there is, so an honest kernel looks faster than any kernel can be."""
    overstated = "\n\ndef work(n):\n    return {'bytes': 4 * 8 * n}\n"
    (tmp_path / "problem.py").write_text(doubling(1 << 25) + overstated)
    with start_worker() as worker:
        worker.load(str(tmp_path))
        found = worker.evaluate(Candidate(source=KERNEL), "search")
        rows = {row.name: row for row in worker.bench({"mine": Candidate(source=KERNEL)}, ("large",), compile=False)
                .cases[0].implementations}  # fmt: skip
    assert found.status is Status.REJECTED
    assert "below the stated bound" in found.reason
    assert rows["mine"].status is Status.REJECTED
    assert "below the stated bound" in rows["mine"].reason


def test_a_time_below_a_derived_bound_is_flagged_and_passes(tmp_path: Path) -> None:
    """The reference multiplies by a matrix of zeros and one number, and so counts products that nobody needs."""
    product = (
        "x = x.view(1024, -1)\n        return ((2 * torch.eye(1024, device=x.device, dtype=x.dtype)) @ x).view(-1)"
    )
    assert "return x * 2" in doubling(1 << 25)
    text = doubling(1 << 25).replace("return x * 2", product).replace("n=5000", "n=5120")
    (tmp_path / "problem.py").write_text(text)
    with start_worker() as worker:
        info = worker.load(str(tmp_path))
        found = worker.evaluate(Candidate(source=KERNEL), "search")
        rows = {row.name: row for row in worker.bench({"mine": Candidate(source=KERNEL)}, ("large",), compile=False)
                .cases[0].implementations}  # fmt: skip
    assert info.cases[0].bound.flop_by_dtype == {"float32": 2 * 1024 * (1 << 25)}
    assert found.status is Status.PASSED, found.reason
    assert [result.below_bound != "" for result in found.results if result.case == "large"] == [True]
    assert rows["mine"].status is Status.PASSED, rows["mine"].reason
    assert "below the derived bound" in rows["mine"].below_bound


LOOKUP = """\
import torch

CASES = [dict(name="large", rows=200000, width=512, count=64, dtype="float32"),
         dict(name="small", rows=50, width=64, count=9, dtype="float32", small=True)]


class Model(torch.nn.Module):
    def __init__(self, rows, width):
        super().__init__()
        self.table = torch.nn.Embedding(rows, width)

    def forward(self, ids):
        return self.table(ids)


def get_inputs(rows, count):
    return [torch.randint(0, rows, (count,))]


def get_init_inputs(rows, width):
    return [rows, width]
"""

LOOKED_UP = """\
import torch
import triton
import triton.language as tl


@triton.jit
def lookup_kernel(ids_ptr, table_ptr, out_ptr, width, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.load(ids_ptr + tl.program_id(0))
    x = tl.load(table_ptr + row * width + at, mask=at < width)
    tl.store(out_ptr + tl.program_id(0) * width + at, x, mask=at < width)


def kernel_function(ids, table_weight):
    ids, table_weight = ids.contiguous(), table_weight.contiguous()
    width = table_weight.shape[1]
    out = torch.empty((ids.shape[0], width), dtype=table_weight.dtype, device=ids.device)
    lookup_kernel[(ids.shape[0],)](ids, table_weight, out, width, BLOCK=triton.next_power_of_2(width))
    return out
"""


def test_a_lookup_in_a_large_table_is_bound_by_the_rows_that_it_reads(tmp_path: Path) -> None:
    (tmp_path / "problem.py").write_text(LOOKUP)
    with start_worker() as worker:
        info = worker.load(str(tmp_path)).cases[0]
        found = worker.evaluate(Candidate(source=LOOKED_UP), "search")
        rows = worker.bench({"mine": Candidate(source=LOOKED_UP)}, ("large",), compile=False).cases[0].implementations
    assert info.assumed == ()
    assert 60 * 2048 < info.reads[1].bytes <= 64 * 2048
    assert found.status is Status.PASSED, found.reason
    assert {row.name: (row.status, row.below_bound) for row in rows} == {
        "mine": (Status.PASSED, ""),
        "eager": (Status.PASSED, ""),
    }
