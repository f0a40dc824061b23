"""The bound of each case as text: what has to be read, written and multiplied, at which rates, and what was assumed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kernelwright.codec import plain
from kernelwright.model import BenchReport, CaseInfo, Implementation, TensorRead
from kernelwright.text.units import bytes_text, time_text

ASSUMES = (
    "a derived bound counts each byte that the outputs depend on once, and the products of forward itself: a kernel\n"
    "that needs fewer of them (known zeros, another algorithm) may be faster, and work() can state them"
)

FEW_TENSORS = 12
"""If there are more tensors, they share one line with their total."""


def bounds_text(cases: Sequence[CaseInfo], eager: Mapping[str, Implementation]) -> str:
    """All cases. eager: the framework's own measured row by case, empty where nothing can be measured."""
    peaks = next((info.bound.peaks for info in cases), "")
    return "\n".join([f"bounds (peaks: {peaks}):", *(_case_text(info, eager.get(info.case.name)) for info in cases),
                      ASSUMES])  # fmt: skip


def _case_text(info: CaseInfo, eager: Implementation | None) -> str:
    least = info.bound
    kind = "stated" if least.bound_by in least.stated else "derived"
    lines = [f"  {info.case.name}: {time_text(least.bound_us, None)} or more, set by {least.bound_by} ({kind})"]
    rate = f" at {least.bytes_per_s / 1e12:.3g} TB/s" if least.bytes_per_s else ""
    if "bytes" in least.stated:
        lines.append(f"    moves {bytes_text(least.bytes)}, as work() states{rate}")
    else:
        lines.append(f"    moves {bytes_text(least.bytes)}{rate}: {bytes_text(least.written_bytes)} written, and read")
        lines += [f"      {line}" for line in _reads(info.reads)]
    by_dtype = ", ".join(f"{count / 1e9:.3g} GFLOP in {dtype}" for dtype, count in least.flop_by_dtype.items())
    if by_dtype:
        stated = ", as work() states" if "flop" in least.stated else ""
        rate = f" at {least.flop_per_s / 1e12:.3g} TFLOP/s" if least.flop_per_s else ""
        lines.append(f"    computes {by_dtype}{stated}{rate}")
    lines += [f"    assumed: {text}" for text in info.assumed]
    if eager is not None and eager.median_us is not None and eager.below_bound:
        lines.append(f"    eager PyTorch takes {time_text(eager.median_us, None)}, {eager.below_bound}")
    return "\n".join(lines)


def _reads(reads: Sequence[TensorRead]) -> list[str]:
    if len(reads) <= FEW_TENSORS:
        return [_read(read) for read in reads]
    partial = [read for read in reads if 0 < read.bytes < read.of_bytes]
    whole, unread = (
        [read for read in reads if read not in partial and bool(read.bytes) is kind] for kind in (True, False)
    )
    lines = (
        [f"{bytes_text(sum(read.bytes for read in whole))} of {len(whole)} tensors, each of them whole"]
        if whole
        else []
    )
    return [*lines, *map(_read, partial), *([f"nothing of {len(unread)} tensors"] if unread else [])]


def _read(read: TensorRead) -> str:
    if not read.bytes:
        return f"nothing of {read.name}"
    if read.bytes >= read.of_bytes:
        return f"{bytes_text(read.bytes)} of {read.name}: all of it"
    rows = f"{read.rows} of its rows, " if read.rows is not None else ""
    return f"{bytes_text(read.bytes)} of {read.name}: {rows}{bytes_text(read.of_bytes)} in all"


def eager_rows(report: BenchReport) -> dict[str, Implementation]:
    """The row of eager PyTorch by case."""
    rows = {case.case: row for case in report.cases if (row := case.row("eager")) is not None}
    return {case: row for case, row in rows.items() if row.kind == "measured" and row.median_us is not None}


def bounds_document(cases: Sequence[CaseInfo], eager: Mapping[str, Implementation]) -> list[dict[str, Any]]:
    """The same for `check --json`."""
    return [
        {
            "case": info.case.name, "bound": plain(info.bound), "reads": plain(info.reads), "assumed": info.assumed,
            "eager_us": row.median_us if row is not None else None,
            "eager_below_bound": row.below_bound if row is not None else "",
        }
        for info in cases for row in [eager.get(info.case.name)]
    ]  # fmt: skip
