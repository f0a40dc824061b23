"""`wins.json` of an exported package, from a bench report: where the kernel may be used before the package has measured
itself.

The one rule: figures of a bench count less than the package's own. The bench replays a kernel's launches without the
candidate's host code, which costs up to as much again (19 to 76 µs direct against 13 to 42 replayed, on an H200), so
what issuing took is counted twice; and it says nothing of a compiled graph.
"""

from __future__ import annotations

from typing import Any

from kernelwright.codec import plain
from kernelwright.model import BenchReport, CaseInfo, Implementation, Status, TensorSpec

NOTHING = "nothing was measured"
MARGINS = {"call_us": 0.10, "stream_us": 0.03, "device_us": 0.03}
"""As the packages have it (`package/wins.py.txt`): how much faster a kernel has to be to be used."""


def wins_document(results: tuple[BenchReport, str] | None, cases: tuple[CaseInfo, ...]) -> dict[str, Any]:
    """cases: those that the package may be used for. Without results no device is named and PyTorch serves all."""
    if results is None:
        return {"schema_version": 1, "source": NOTHING, "device": None, "cases": []}
    report, row = results
    timed = {case.case: case.implementations for case in report.cases}
    known = [(info, timed[info.case.name]) for info in cases if info.case.name in timed]
    return {
        "schema_version": 1,
        "source": f"bench: {report.command or report.problem}",
        "device": report.environment.device,
        "torch": report.environment.torch,
        "triton": report.environment.triton,
        "date": report.environment.date,
        "cases": [entry(info, rows, row) for info, rows in known if dense(info)],
    }


def entry(info: CaseInfo, rows: tuple[Implementation, ...], row: str) -> dict[str, Any]:
    found: dict[str, Any] = {
        "case": info.case.name,
        "params": info.case.params,
        "dtype": info.case.dtype,
        "init": plain(info.init),
        "inputs": [spec(value) if isinstance(value, TensorSpec) else value for value in info.inputs],
        "parameters": {name: spec(value) for name, value in info.parameters.items()},
        "why": {"eager": "not in the bench report", "compiled": "not measured"},
    }
    kernel = next((one for one in rows if one.name == row), None)
    eager = next((one for one in rows if one.name == "eager"), None)
    mine, other = figures(kernel, issued=2), figures(eager, issued=1)
    if mine and other:
        found |= {"kernel": mine, "eager": other}
        behind = [name for name, margin in MARGINS.items() if mine[name] > (1 - margin) * other[name]]
        found["why"]["eager"] = f"not faster by enough in {', '.join(behind)}" if behind else "faster"
    return found


def figures(row: Implementation | None, issued: int) -> dict[str, float] | None:
    """Microseconds; None where something was not measured. issued: how often the time of issuing counts."""
    if row is None or row.status is not Status.PASSED or row.kind != "measured":
        return None
    if row.median_us is None or row.call_us is None or row.issue_us is None:
        return None
    return {
        "call_us": row.call_us + (issued - 1) * row.issue_us,
        "stream_us": max(row.median_us, issued * row.issue_us),
        "device_us": row.median_us,
    }


def spec(tensor: TensorSpec) -> dict[str, Any]:
    return {"shape": list(tensor.shape), "dtype": tensor.dtype}


def dense(info: CaseInfo) -> bool:
    """Whether all inputs lie in memory row by row: the dispatcher takes no others."""
    return all(row_by_row(value) for value in info.inputs if isinstance(value, TensorSpec))


def row_by_row(tensor: TensorSpec) -> bool:
    expected, strides = 1, []
    for size in reversed(tensor.shape):
        strides.append(expected)
        expected *= max(size, 1)
    pairs = zip(tensor.shape, tensor.stride, reversed(strides), strict=True)
    return all(size <= 1 or stride == wanted for size, stride, wanted in pairs)
