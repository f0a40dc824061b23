"""A bench report as text."""

from __future__ import annotations

import msgspec

from kernelwright.model import BenchCase, BenchReport, BenchSeries, Clocks, Implementation, Status
from kernelwright.report.bench import NO_DEVICE, UNTUNED, bench_text
from kernelwright.report.series import series_text
from samples import environment


def _report(device: str | None, *rows: Implementation) -> BenchReport:
    case = BenchCase(case="square", held_out=True, bound_us=16.0, bound_by="bytes", implementations=rows)
    return BenchReport(problem="softmax", environment=environment(device), cases=(case,))


def _row(text: str, name: str) -> list[str]:
    return next(line for line in text.splitlines() if line.startswith(name)).split()


def test_a_measured_row_shows_interval_verdict_and_share() -> None:
    text = bench_text(
        _report(
            "NVIDIA H200",
            Implementation(name="eager", status=Status.PASSED, median_us=40.0, ci95_us=(39.5, 40.5), call_us=46.0),
            Implementation(
                name="best",
                status=Status.PASSED,
                median_us=20.0,
                ci95_us=(19.9, 20.1),
                call_us=25.0,
                warm_us=18.0,
                speedup=2.0,
                speedup_ci95=(1.97, 2.03),
                verdict="faster",
                fraction_of_bound=0.8,
            ),
        )
    )
    assert "square, held out: no kernel can beat 16.00 µs (limit: bytes)" in text
    assert " ".join(_row(text, "best")) == "best 20.00 19.90 to 20.10 18.00 25.00 2.00x 1.97 to 2.03 faster 80 %"
    assert "estimate" not in text
    assert "NVIDIA H200" in text


def test_a_row_below_the_bound_is_explained_and_a_derived_bound_is_called_one() -> None:
    remark = "below the derived bound of 16 µs: state work()"
    row = Implementation(
        name="best", status=Status.PASSED, median_us=12.0, fraction_of_bound=16 / 12, below_bound=remark
    )
    report = _report("NVIDIA H200", row)
    case = msgspec.structs.replace(report.cases[0], bound_kind="derived")
    text = bench_text(msgspec.structs.replace(report, cases=(case,)))
    assert "square, held out: what the reference does takes 16.00 µs or more (limit: bytes, derived)" in text
    assert f"  best: {remark}" in text.splitlines()
    assert f"  softmax square best: {remark}" in series_text(BenchSeries(reports=(report,))).splitlines()
    stated = msgspec.structs.replace(case, bound_kind="stated")
    stated_text = bench_text(msgspec.structs.replace(report, cases=(stated,)))
    assert "no kernel can beat 16.00 µs (limit: bytes, stated)" in stated_text


def test_a_race_without_max_autotune_says_so() -> None:
    compiled, tuned = (
        Implementation(name=name, status=Status.PASSED, median_us=30.0) for name in ("compile", "compile_max_autotune")
    )
    guess = Implementation(name="compile", status=Status.NOT_VERIFIED, median_us=30.0, kind="estimate")
    assert UNTUNED in bench_text(_report("NVIDIA H200", compiled))
    assert UNTUNED not in bench_text(_report("NVIDIA H200", compiled, tuned))
    assert UNTUNED not in bench_text(_report("NVIDIA H200"))
    assert UNTUNED not in bench_text(_report(None, guess))
    assert UNTUNED in series_text(BenchSeries(reports=(_report("NVIDIA H200", compiled),)))


def test_without_a_device_every_time_is_marked_and_said_in_one_line() -> None:
    text = bench_text(
        _report(
            None,
            Implementation(name="eager", status=Status.NOT_VERIFIED, reason="nothing to time it on", kind="estimate"),
            Implementation(name="starter", status=Status.PASSED, median_us=20.0, kind="estimate", speedup=1.5),
        )
    )
    assert NO_DEVICE in text
    assert "20.00 (estimate)" in text
    assert "1.50x (estimate)" in text
    assert "  eager: not_verified: nothing to time it on" in text


def test_a_failed_row_gives_its_reason_instead_of_a_time() -> None:
    text = bench_text(_report("NVIDIA H200", Implementation(name="mine", status=Status.WRONG, reason="off by 0.5")))
    assert _row(text, "mine") == ["mine", "-", "-", "-", "-", "-", "-", "-", "-"]
    assert "  mine: wrong: off by 0.5" in text


def test_a_slowdown_is_said_below_the_table_and_a_gain_that_it_cost_in_the_verdict_s_cell() -> None:
    clocks = Clocks(sm_mhz=1500, power_w=689.6, temperature_c=80, throttle=("application_clocks", "hardware_thermal"))
    eager = Implementation(name="eager", status=Status.PASSED, median_us=40.0, clocks=clocks)
    best = msgspec.structs.replace(eager, name="best", throttled="throttled: not confirmed (hardware_thermal)")
    text = bench_text(_report("NVIDIA H200", eager, best))
    assert _row(text, "best")[-2:] == ["throttled", "-"]
    lines = text.splitlines()
    assert "  eager, best: throttled while it was timed: hardware_thermal (SM clock 1500 MHz, 690 W, 80 °C)" in lines
    assert "  best: throttled: not confirmed (hardware_thermal)" in lines
    series = series_text(BenchSeries(reports=(_report("NVIDIA H200", eager, best),)))
    assert "  softmax square best: throttled: not confirmed (hardware_thermal)" in series.splitlines()
    steady = msgspec.structs.replace(eager, clocks=Clocks(sm_mhz=1980, throttle=("application_clocks",)))
    assert "throttled" not in bench_text(_report("NVIDIA H200", steady))
