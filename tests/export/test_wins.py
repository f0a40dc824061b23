"""Where an exported kernel is used: the package's rule on measured sizes and between them, and maps from a bench."""

from __future__ import annotations

import types
from importlib import resources
from typing import Any

import msgspec
import pytest

from exported import softmax_case, win
from fakes import ENVIRONMENT
from kernelwright.export.wins import MARGINS, USES, WHY
from kernelwright.export.wins import wins_document as document_of
from kernelwright.model import BenchCase, BenchReport, CaseInfo, Implementation, Status, TensorSpec


@pytest.fixture(scope="module")
def wins() -> Any:
    """The module that every package has; it needs no torch."""
    text = (resources.files("kernelwright.export") / "package" / "wins.py.txt").read_text(encoding="utf-8")
    module = types.ModuleType("wins")
    module.__file__ = __file__
    exec(compile(text, "wins.py", "exec"), vars(module))
    return module


def wins_document(
    results: tuple[BenchReport, str] | None, cases: tuple[CaseInfo, ...], is_pair: bool = False
) -> dict[str, Any]:
    return document_of(results, cases, "none", is_pair)


def verdict(wins: Any, cases: list[dict[str, Any]], *sizes: int, dtype: str = "float32", use: str = "calls") -> bool:
    answer, why = wins.verdict(cases, ((dtype, len(sizes)),), sizes, "eager", use)
    assert why
    return bool(answer)


def test_a_measured_size_goes_by_its_own_figures(wins: Any) -> None:
    cases = [win([[64, 64]], 10.0, 20.0), win([[8, 64]], 20.0, 10.0)]
    assert verdict(wins, cases, 64, 64)
    assert not verdict(wins, cases, 8, 64)


def test_a_gain_within_the_margin_is_no_win(wins: Any) -> None:
    assert not verdict(wins, [win([[64, 64]], 9.1, 10.0)], 64, 64)
    assert verdict(wins, [win([[64, 64]], 8.9, 10.0)], 64, 64)


def timed(kernel: tuple[float, ...], torch: tuple[float, ...]) -> dict[str, Any]:
    names = ("call_us", "stream_us", "device_us", "issue_us")
    figures = [dict(zip(names, one, strict=True)) for one in (kernel, torch)]
    return win([[64, 64]], 1.0, 1.0, kernel=figures[0], eager=figures[1])


def test_a_gain_that_a_slower_host_would_turn_into_a_loss_is_no_win(wins: Any) -> None:
    held_by_the_host = timed((45.0, 24.0, 18.0, 24.0), (60.0, 50.0, 49.0, 8.0))
    assert not verdict(wins, [held_by_the_host], 64, 64)
    assert wins.reason(held_by_the_host, "eager", "calls") == "not faster by enough in call_us on a slower host"
    in_a_row = timed((30.0, 24.0, 18.0, 24.0), (90.0, 45.0, 39.0, 8.0))
    assert wins.reason(in_a_row, "eager", "calls") == "not faster by enough in stream_us on a slower host"
    as_short = timed((30.0, 18.0, 18.0, 12.0), (52.0, 40.0, 39.0, 12.0))
    assert verdict(wins, [as_short], 64, 64)
    assert wins.reason(as_short, "eager", "calls") == "faster"


def test_what_a_call_takes_of_the_host_is_no_time_to_win_in(wins: Any) -> None:
    long = timed((300.0, 268.0, 267.0, 24.0), (564.0, 554.0, 554.0, 8.0))
    assert verdict(wins, [long], 64, 64)


def test_one_figure_that_is_slower_is_enough_to_lose(wins: Any) -> None:
    case = win([[64, 64]], 10.0, 20.0)
    case["kernel"] = {"call_us": 10.0, "stream_us": 30.0}
    case["eager"] = {"call_us": 20.0, "stream_us": 20.0}
    assert not verdict(wins, [case], 64, 64)


def test_between_two_sizes_the_kernel_at_the_larger_has_to_beat_pytorch_at_the_smaller(wins: Any) -> None:
    near = [win([[64, 64]], 10.0, 20.0), win([[128, 64]], 15.0, 30.0)]
    far = [win([[64, 64]], 10.0, 20.0), win([[128, 64]], 20.0, 40.0)]
    assert verdict(wins, near, 96, 64)
    assert not verdict(wins, far, 96, 64)


@pytest.mark.parametrize("sizes", [(32, 64), (256, 64), (96, 128), (96, 32)])
def test_outside_of_what_was_measured_nothing_is_taken(wins: Any, sizes: tuple[int, int]) -> None:
    cases = [win([[64, 64]], 10.0, 20.0), win([[128, 64]], 11.0, 30.0)]
    assert not verdict(wins, cases, *sizes)


def test_a_kernel_that_is_wrong_at_some_sizes_serves_measured_ones_only(wins: Any) -> None:
    cases = [win([[64, 64]], 10.0, 20.0), win([[256, 64]], 10.0, 20.0)]
    place = (("float32", 2),), (128, 64), "eager", "calls"
    assert wins.verdict(cases, *place)[0]
    assert wins.verdict(cases, *place, True) == (False, "not measured, and the kernel is wrong at some sizes")
    assert wins.verdict(cases, place[0], (64, 64), "eager", "calls", True)[0]


def test_an_odd_size_between_multiples_of_sixteen_is_not_taken(wins: Any) -> None:
    even = [win([[64, 64]], 10.0, 20.0), win([[128, 64]], 11.0, 30.0)]
    odd = [win([[63, 64]], 10.0, 20.0), win([[127, 64]], 11.0, 30.0)]
    assert not verdict(wins, even, 100, 64)
    assert verdict(wins, even, 112, 64)
    assert verdict(wins, odd, 100, 64)


def test_a_loss_between_two_wins_parts_them(wins: Any) -> None:
    cases = [win([[64, 64]], 10.0, 20.0), win([[96, 64]], 30.0, 20.0), win([[128, 64]], 11.0, 30.0)]
    assert not verdict(wins, cases, 80, 64)
    assert not verdict(wins, cases, 112, 64)


@pytest.mark.parametrize("use", ["calls", "graphs"])
def test_a_size_at_which_the_kernel_failed_is_a_loss(wins: Any, use: str) -> None:
    failed = win([[96, 64]], 10.0, 20.0)
    for name in ("kernel", "eager", "kernel_compiled", "compile"):
        del failed[name]
    cases = [win([[64, 64]], 10.0, 20.0), failed, win([[128, 64]], 11.0, 30.0)]
    assert not any(verdict(wins, cases, rows, 64, use=use) for rows in (80, 96, 112))
    assert verdict(wins, [cases[0], cases[2]], 96, 64, use=use)


def test_another_dtype_number_of_dimensions_or_argument_is_not_alike(wins: Any) -> None:
    cases = [win([[64, 64]], 10.0, 20.0)]
    assert not verdict(wins, cases, 64, 64, dtype="bfloat16")
    assert not verdict(wins, cases, 1, 64, 64)
    case = win([[64, 64]], 10.0, 20.0)
    case["inputs"].append(0.5)
    kinds = ("float32", 2)
    assert wins.verdict([case], (kinds, 0.5), (64, 64), "eager", "calls")[0]
    assert not wins.verdict([case], (kinds, 0.25), (64, 64), "eager", "calls")[0]


def test_what_was_not_measured_compiled_is_not_taken_compiled(wins: Any) -> None:
    case = win([[64, 64]], 10.0, 20.0)
    del case["kernel_compiled"]
    assert not wins.verdict([case], (("float32", 2),), (64, 64), "compiled", "calls")[0]


def test_below_the_smallest_size_that_wins_in_any_dtype_nothing_wins(wins: Any) -> None:
    lost, large = win([[4, 4]], 20.0, 10.0), win([[64, 64]], 10.0, 20.0)
    half = win([[32, 64]], 10.0, 20.0)
    half["inputs"][0]["dtype"] = "float16"
    unmeasured = win([[2, 2]], 10.0, 20.0)
    del unmeasured["kernel"]
    assert wins.least_elements([lost, large, half, unmeasured], "calls") == 32 * 64
    assert wins.least_elements([lost, large], "calls") == 64 * 64
    assert wins.least_elements([lost], "calls") > 10**15


def test_only_cases_of_the_same_module_apply(wins: Any) -> None:
    case = win([[64, 64]], 10.0, 20.0, init=[3], parameters={"weight": {"shape": [3], "dtype": "float32"}})
    read = wins.Wins({"device": "cpu", "cases": [case]})
    assert read.matching([3], [["weight", [3]]]) == [case]
    assert read.matching([4], [["weight", [3]]]) == []
    assert read.matching([3], [["weight", [4]]]) == []


# --- in graphs, where device time alone counts ------------------------------------------------------------------


def on_the_device(rows: int, kernel_us: float | None, torch_us: float) -> dict[str, Any]:
    """Called, the kernel loses by far. kernel_us: None where no graph of it could be captured."""
    pair = [{"call_us": call, "stream_us": call, "issue_us": call} for call in (30.0, 10.0)]
    if kernel_us is not None:
        pair = [one | {"device_us": found} for one, found in zip(pair, (kernel_us, torch_us), strict=True)]
    return win([[rows, 64]], 1.0, 1.0, kernel=pair[0], eager=pair[1])


def test_in_graphs_device_time_alone_has_to_win_by_its_margin(wins: Any) -> None:
    cases = [on_the_device(64, 5.0, 10.0), on_the_device(8, 9.8, 10.0), on_the_device(16, 9.6, 10.0)]
    taken = {rows: [verdict(wins, cases, rows, 64, use=use) for use in ("calls", "graphs")] for rows in (64, 8, 16)}
    assert taken == {64: [False, True], 8: [False, False], 16: [False, True]}
    assert wins.reason(cases[0], "eager", "graphs") == "faster"
    assert wins.reason(cases[1], "eager", "graphs") == "not faster by enough in device_us"


def test_in_graphs_a_size_between_goes_by_device_times(wins: Any) -> None:
    near = [on_the_device(64, 5.0, 10.0), on_the_device(128, 9.0, 20.0)]
    far = [on_the_device(64, 5.0, 10.0), on_the_device(128, 10.0, 20.0)]
    parted = [*near, on_the_device(96, 20.0, 15.0)]
    assert [verdict(wins, cases, 80, 64, use="graphs") for cases in (near, far, parted)] == [True, False, False]


def test_what_could_not_be_captured_is_not_taken_in_graphs_and_parts_what_is(wins: Any) -> None:
    cases = [on_the_device(64, 5.0, 10.0), on_the_device(96, None, 0.0), on_the_device(128, 6.0, 20.0)]
    assert not verdict(wins, cases, 96, 64, use="graphs")
    assert not verdict(wins, cases, 80, 64, use="graphs")
    assert wins.reason(cases[1], "eager", "graphs") == "not measured"


def test_below_the_smallest_size_that_wins_in_graphs_nothing_wins_there(wins: Any) -> None:
    cases = [on_the_device(8, 5.0, 10.0), on_the_device(4, 20.0, 10.0), win([[64, 64]], 10.0, 20.0)]
    assert [wins.least_elements(cases, use) for use in ("calls", "graphs")] == [64 * 64, 8 * 64]


def test_compiled_graphs_go_by_the_compiled_figures(wins: Any) -> None:
    case = on_the_device(64, 5.0, 10.0) | {"kernel_compiled": {"device_us": 5.0}, "compile": {"device_us": 4.0}}
    place = (("float32", 2),), (64, 64)
    assert not wins.verdict([case], *place, "compiled", "graphs")[0]
    case["compile"]["device_us"] = 10.0
    assert wins.verdict([case], *place, "compiled", "graphs")[0]
    assert not wins.verdict([case], *place, "compiled", "calls")[0]


# --- from a bench report --------------------------------------------------------------------------------------


def bench(kernel: dict[str, Any], eager: dict[str, Any], **more: dict[str, Any]) -> tuple[BenchReport, str]:
    rows = tuple(
        Implementation(name=name, status=Status.PASSED, **figures)
        for name, figures in {"best": kernel, "eager": eager, **more}.items()
    )
    case = BenchCase(case="64x64", held_out=False, bound_us=1.0, bound_by="bytes", implementations=rows)
    return BenchReport(problem="softmax", environment=ENVIRONMENT, cases=(case,)), "best"


def test_a_bench_counts_the_time_of_issuing_twice(wins: Any) -> None:
    results = bench(
        {"median_us": 30.0, "call_us": 50.0, "issue_us": 20.0}, {"median_us": 60.0, "call_us": 72.0, "issue_us": 9.0}
    )
    document = wins_document(results, (softmax_case(64, 64),))
    (case,) = document["cases"]
    assert document["device"] == ENVIRONMENT.device
    assert case["kernel"] == {"call_us": 70.0, "stream_us": 40.0, "device_us": 30.0}
    assert case["eager"] == {"call_us": 72.0, "stream_us": 60.0, "device_us": 60.0}
    assert not wins.won(case, case, "eager", "calls")


def test_the_device_times_of_a_bench_count_fully_in_graphs(wins: Any) -> None:
    kernel, eager = (
        {"median_us": 3.0, "call_us": 30.0, "issue_us": 20.0},
        {"median_us": 9.0, "call_us": 20.0, "issue_us": 8.0},
    )
    (case,) = wins_document(bench(kernel, eager, compile={"median_us": 4.0}), (softmax_case(64, 64),))["cases"]
    judged = {use: [wins.won(case, case, regime, use) for regime in wins.REGIMES] for use in wins.USES}
    assert judged == {"calls": [False, False], "graphs": [True, True]}
    assert case["why"] == {
        "eager": "not faster by enough in call_us, stream_us", "compiled": "not measured"}  # fmt: skip
    assert case["why_in_graphs"] == {"eager": "faster", "compiled": "faster"}
    (case,) = wins_document(bench(kernel, eager, compile={"median_us": 3.05}), (softmax_case(64, 64),))["cases"]
    assert case["why_in_graphs"]["compiled"] == "not faster by enough in device_us"
    (case,) = wins_document(bench(kernel, eager), (softmax_case(64, 64),))["cases"]
    assert case["why_in_graphs"] == {"eager": "faster", "compiled": "not measured"}


def test_a_bench_of_a_forward_with_its_backward_says_nothing_of_the_forward_alone(wins: Any) -> None:
    kernel, eager = (
        {"median_us": 30.0, "call_us": 40.0, "issue_us": 5.0},
        {"median_us": 60.0, "call_us": 99.0, "issue_us": 9.0},
    )
    (case,) = wins_document(bench(kernel, eager), (softmax_case(64, 64),), is_pair=True)["cases"]
    assert case["why"] == {
        "eager": "the bench times it with its backward", "compiled": "not measured", "training": "faster",
        "training_compiled": "not measured",
    }  # fmt: skip
    assert [wins.won(case, case, regime, "calls") for regime in wins.PAIRS] == [False, False, True, False]
    place = (("float32", 2),), (64, 64)
    assert wins.verdict([case], *place, "training", "calls")[0]
    assert not wins.verdict([case], *place, "eager", "calls")[0]
    assert wins.least_elements([case], "calls") == 64 * 64


def test_estimates_missing_figures_and_strided_inputs_win_nothing(wins: Any) -> None:
    good = {"median_us": 30.0, "call_us": 40.0, "issue_us": 5.0}
    slow = {"median_us": 60.0, "call_us": 99.0, "issue_us": 9.0}
    known = (softmax_case(64, 64),)
    assert wins.won(*[wins_document(bench(good, slow), known)["cases"][0]] * 2, "eager", "calls")
    for kernel in (good | {"kind": "estimate"}, {"median_us": 30.0, "call_us": 40.0}):
        (case,) = wins_document(bench(kernel, slow), known)["cases"]
        assert wins.figures(case, "eager", "calls") is None
    strided = TensorSpec(shape=(64, 64), dtype="float32", stride=(1, 64))
    assert not wins_document(bench(good, slow), (msgspec.structs.replace(known[0], inputs=(strided,)),))["cases"]


def test_without_results_no_device_is_named() -> None:
    assert wins_document(None, (softmax_case(64, 64),))["device"] is None


def test_figures_of_a_bench_are_judged_by_the_packages_margins(wins: Any) -> None:
    assert (MARGINS, USES, WHY) == (wins.MARGINS, wins.USES, wins.WHY)
