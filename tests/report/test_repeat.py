"""Reports of several processes as one."""

from __future__ import annotations

from msgspec.structs import replace

from kernelwright.model import BenchCase, BenchReport, Environment, Implementation, Status
from kernelwright.report.bench import bench_text, repeated

ENVIRONMENT = Environment(device="NVIDIA H200", target="sm_90", python="3.12.3", torch="2.11.0", triton="3.6.0")


def report(*rows: Implementation) -> BenchReport:
    case = BenchCase(case="64x64", held_out=False, bound_us=1.0, bound_by="bytes", implementations=rows)
    return BenchReport(problem="toy", environment=ENVIRONMENT, cases=(case,))


def row(median_us: float | None, status: Status = Status.PASSED) -> Implementation:
    return Implementation(name="best", status=status, median_us=median_us, samples_us=(median_us or 0.0,))


def test_the_row_of_the_middle_process_stands_with_the_spread_of_all() -> None:
    together = repeated([report(row(11.0)), report(row(10.0)), report(row(10.4))])
    (found,) = together.cases[0].implementations
    assert found.median_us == 10.4
    assert found.samples_us == (10.4,)
    assert found.repeats_us == (11.0, 10.0, 10.4)
    assert found.spread is not None
    assert abs(found.spread - 1.0 / 10.4) < 1e-12
    assert "9.6% over 3" in bench_text(together)


def test_one_process_has_no_spread_and_no_column_for_it() -> None:
    alone = repeated([report(row(11.0))])
    assert alone.cases[0].implementations[0].spread is None
    assert "between processes" not in bench_text(alone)


def test_a_row_that_failed_in_any_process_stands_as_failed() -> None:
    together = repeated([report(row(11.0)), report(row(None, Status.WRONG))])
    assert together.cases[0].implementations[0].status is Status.WRONG


def test_rows_of_several_processes_have_the_largest_noise_floor_and_no_order_in_common() -> None:
    reports = []
    for floor in (0.005, 0.012, 0.007):
        (case,) = report(row(10.0)).cases
        case = replace(case, order_seed=7, exchanged_after=12, noise_floor=floor, noise_floor_source=f"{floor}")
        reports.append(replace(report(), cases=(case,)))
    (together,) = repeated(reports).cases
    assert (together.noise_floor, together.noise_floor_source) == (0.012, "0.012")
    assert (together.order_seed, together.exchanged_after) == (None, None)
    assert repeated(reports[:1]).cases[0].order_seed == 7
