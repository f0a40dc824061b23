"""Bound, share of it and diagnosis for eager, compile, the starter and the best kernel of the five seed problems.

    PYTHONPATH=src python3 benchmarks/diagnose.py OUT [PROBLEM[=KERNEL.py] ...]

Needs a GPU. PROBLEM: names in the gallery, all five where none is given; KERNEL.py: the best kernel, where the gallery
has none or another is meant. Writes OUT/PROBLEM.json (the document of `profile --json`) as each is done, and
OUT/diagnose.md with all rows that it prints. Nsight Compute's DRAM bytes stand beside the compulsory ones, and its
duration beside the clock's; where bytes differ by more than 5 %, the row says on which side. About 90 s a problem on an
H200.
"""

from __future__ import annotations

import sys
from pathlib import Path

from kernelwright.codec import document_text
from kernelwright.errors import KernelwrightError
from kernelwright.evaluator.client import start_worker
from kernelwright.model import Candidate, CaseInfo
from kernelwright.problems import find_problem
from kernelwright.report.profiled import Profiled, document, profiled
from kernelwright.text import markdown

ROOT = Path(__file__).parent.parent
SEED = ("matvec", "rmsnorm", "max_pool3d", "conv_transpose3d", "depthwise_conv2d")
DISAGREE = 0.05

HEADER = (
    "problem", "implementation", "time µs", "bound µs", "share", "bottleneck", "busiest part", "DRAM MB (ncu)",
    "compulsory MB", "ratio", "DRAM TB/s (ncu)", "TB/s (ours)", "µs (ncu)", "why they differ",
)  # fmt: skip


def main(out: Path, wanted: list[str]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    told: list[list[str]] = []
    for text in wanted or SEED:
        name, _, kernel = text.partition("=")
        try:
            rows = [cells(name, row) for row in of_problem(name, kernel, out)]
        except KernelwrightError as error:
            print(f"{name}: {error}", file=sys.stderr, flush=True)
            continue
        print(markdown.table(HEADER, rows), flush=True)
        told += rows
    (out / "diagnose.md").write_text(markdown.table(HEADER, told) + "\n")


def of_problem(name: str, kernel: str, out: Path) -> list[Profiled]:
    """On the problem's first timed case."""
    found = find_problem(str(ROOT / "gallery" / name))
    places = {"starter": found.starter, "best": Path(kernel) if kernel else found.best}
    own = {label: Candidate(source=place.read_text()) for label, place in places.items() if place is not None}
    rows = []
    with start_worker() as worker:
        problem = worker.load(str(found.file))
        info = next(info for info in problem.cases if info.case.timed)
        environment = worker.environment()
        report = worker.bench(own, (info.case.name,))
        for row in report.cases[0].implementations:
            timing = row.timing
            if timing is None:
                print(f"{name}: {row.name} failed: {row.reason}", file=sys.stderr)
                continue
            seen = worker.profile(own.get(row.name, row.name), info.case.name)
            rows.append(profiled(row.name, info, timing, seen, environment))
    (out / f"{name}.json").write_text(document_text(document(problem, environment, rows, None)))
    return rows


def cells(problem: str, row: Profiled) -> list[str]:
    moved, durations = total(row, "dram_read", "dram_write"), total(row, "duration")
    point, bound = row.point, row.case.bound
    assert point is not None
    return [
        problem,
        row.name,
        f"{point.time_us:.1f}",
        f"{bound.bound_us:.1f}",
        f"{100 * point.share:.1f} %",
        row.diagnosis.bottleneck.limit.value,
        busiest(row),
        "-" if moved is None else f"{moved / 1e6:.1f}",
        f"{bound.bytes / 1e6:.1f}",
        "-" if moved is None else f"{moved / bound.bytes:.3f}",
        "-" if moved is None or not durations else f"{moved / durations / 1e6:.2f}",
        f"{point.bytes_per_s / 1e12:.2f}",
        "-" if durations is None else f"{durations:.1f}",
        difference(row),
    ]


def busiest(row: Profiled) -> str:
    """Of the longest launch."""
    launch = max(row.profile.launches, key=lambda launch: launch.value("duration") or 0.0)
    parts = ("dram_throughput", "l2_throughput", "l1_throughput", "issue_active", "tensor_pipe")
    known = {name: value for name in parts if (value := launch.value(name)) is not None}
    most = max(known, key=lambda name: known[name], default=None)
    return f"{most.removesuffix('_throughput')} {100 * known[most]:.0f} %" if most else "-"


def difference(row: Profiled) -> str:
    """On which side DRAM's bytes differ from the compulsory ones, where they do by more than DISAGREE in all."""
    read, written = total(row, "dram_read"), total(row, "dram_write")
    if read is None or written is None or abs((read + written) / row.case.bound.bytes - 1) <= DISAGREE:
        return ""
    to_write = output_bytes(row.case)
    to_read = row.case.bound.bytes - to_write
    launches = len(row.profile.launches)
    return (
        f"read {read / max(to_read, 1):.2f} times, wrote {written / max(to_write, 1):.2f} times what it must, "
        f"in {launches} launch{'es' if launches > 1 else ''}"
    )


def output_bytes(info: CaseInfo) -> int:
    widths = {"float64": 8, "int64": 8, "float32": 4, "int32": 4, "float16": 2, "bfloat16": 2}
    specs = info.outputs
    sizes = []
    for spec in specs:
        elements = 1
        for size in spec.shape:
            elements *= size
        sizes.append(elements * widths.get(spec.dtype, 1))
    return sum(sizes)


def total(row: Profiled, *names: str) -> float | None:
    """Over all launches; None where one lacks one."""
    values = [launch.value(name) for launch in row.profile.launches for name in names]
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
