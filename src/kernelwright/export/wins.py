"""`wins.json` of an exported package from a bench report: where to use the kernel before the package has timed itself.

Host times of a bench are corrected, because the bench replays the kernel's launches without the candidate's host code.
That code can cost as much again (19 to 76 µs direct against 13 to 42 replayed, on an H200), so the time to issue a call
is counted twice. The bench has no times of calls from compiled code. Its device times are used unchanged.
"""

from __future__ import annotations

from typing import Any

from kernelwright.codec import plain
from kernelwright.model import BenchReport, CaseInfo, Implementation, LibraryMode, Status, TensorSpec, dense_stride

NOTHING = "nothing was measured"
MARGINS = {"call_us": 0.10, "stream_us": 0.03, "device_us": 0.03}
USES = {"calls": ("call_us", "stream_us", "device_us"), "graphs": ("device_us",)}
WHY = {"calls": "why", "graphs": "why_in_graphs"}
"""These tables are the same as in `package/wins.py.txt`. MARGINS: by how much a kernel has to be faster, as a fraction,
in each figure. USES: the figures that count in calls and in CUDA graphs. WHY: the key in `wins.json` with the result
for each use."""
PLAIN, COMPILED = ("kernel", "eager"), ("kernel_compiled", "compile")
"""Names of the two times that are compared, for eager calls and for compiled code."""
TRAINING, TRAINING_COMPILED = ("kernel_training", "eager_training"), ("kernel_compiled_training", "compile_training")
"""The same for a forward with its backward, which a bench times if the problem states GRADIENTS."""
ABSENT = {"eager": "not in the bench report", "compiled": "not measured"}
ABSENT_OF_A_PAIR = {
    "eager": "the bench times it with its backward",
    "compiled": "not measured",
    "training": "not in the bench report",
    "training_compiled": "not measured",
}


def wins_document(
    results: tuple[BenchReport, str] | None, cases: tuple[CaseInfo, ...], library: LibraryMode, is_pair: bool = False
) -> dict[str, Any]:
    """The content of `wins.json`. cases: the cases that the package can run. library: the library steps that the kernel
    was allowed. is_pair: whether the candidate has a backward. results None: no device is named, and PyTorch runs every
    call."""
    if results is None:
        return {"schema_version": 1, "source": NOTHING, "library": library, "device": None, "cases": []}
    report, row = results
    timed = {case.case: case.implementations for case in report.cases}
    known = [(info, timed[info.case.name]) for info in cases if info.case.name in timed]
    return {
        "schema_version": 1,
        "source": f"bench: {report.command or report.problem}",
        "library": library,
        "device": report.environment.device,
        "torch": report.environment.torch,
        "triton": report.environment.triton,
        "date": report.environment.date,
        "cases": [entry(info, rows, row, is_pair) for info, rows in known if dense(info)],
    }


def entry(info: CaseInfo, rows: tuple[Implementation, ...], row: str, is_pair: bool) -> dict[str, Any]:
    found: dict[str, Any] = {
        "case": info.case.name,
        "params": info.case.params,
        "dtype": info.case.dtype,
        "init": plain(info.init),
        "inputs": [spec(value) if isinstance(value, TensorSpec) else value for value in info.inputs],
        "parameters": {name: spec(value) for name, value in info.parameters.items()},
    }
    by_name = {one.name: one for one in rows}
    kernel, eager, compiled = (by_name.get(name) for name in (row, "eager", "compile"))
    called, in_graphs = (TRAINING, TRAINING_COMPILED) if is_pair else (PLAIN, COMPILED)
    for (name, other), mine, theirs in (
        (called, figures(kernel, issued=2), figures(eager, issued=1)),
        (in_graphs, device_time(kernel), device_time(compiled)),
    ):
        if mine and theirs:
            found |= {name: mine, other: theirs}
    sides = {"eager": PLAIN, "compiled": COMPILED, "training": TRAINING, "training_compiled": TRAINING_COMPILED}
    for use, why in WHY.items():
        absent = ABSENT_OF_A_PAIR if is_pair else ABSENT
        found[why] = {regime: reason(found, sides[regime], use) or text for regime, text in absent.items()}
    return found


def reason(case: dict[str, Any], pair: tuple[str, str], use: str) -> str | None:
    """ "faster" if the kernel is faster in every figure of `use`, else the reason; None if it was not measured."""
    mine, other = (case.get(name, {}) for name in pair)
    if USES[use][0] not in mine or USES[use][0] not in other:
        return None
    behind = [name for name in USES[use] if mine[name] > (1 - MARGINS[name]) * other[name]]
    return f"not faster by enough in {', '.join(behind)}" if behind else "faster"


def figures(row: Implementation | None, issued: int) -> dict[str, float] | None:
    """The figures of a row in microseconds; None if one was not measured. issued: weight of the issue time."""
    device = device_time(row)
    if row is None or device is None or row.call_us is None or row.issue_us is None:
        return None
    call_us = row.call_us + (issued - 1) * row.issue_us
    return {"call_us": call_us, "stream_us": max(device["device_us"], issued * row.issue_us), **device}


def device_time(row: Implementation | None) -> dict[str, float] | None:
    if row is None or row.status is not Status.PASSED or row.kind != "measured" or row.median_us is None:
        return None
    return {"device_us": row.median_us}


def spec(tensor: TensorSpec) -> dict[str, Any]:
    return {"shape": list(tensor.shape), "dtype": tensor.dtype}


def dense(info: CaseInfo) -> bool:
    """Whether all inputs are contiguous (row-major); for others the dispatcher does not use the kernel."""
    tensors = [value for value in info.inputs if isinstance(value, TensorSpec)]
    sizes = [
        (size, *strides)
        for one in tensors
        for size, *strides in zip(one.shape, one.stride, dense_stride(one.shape), strict=True)
    ]
    return all(size <= 1 or stride == dense for size, stride, dense in sizes)
