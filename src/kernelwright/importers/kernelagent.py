"""Importer for KernelAgent's optimisation artifacts: a problem's folder, its trace, or one round of it.

    input_kernel.py, optimized_kernel_beam_search.py, optimization_trace/round_N/kernel.py and benchmark_results.json

as published in kaiming-cheng/kernelagent-optimization-artifacts. The time of a round belongs to the round's kernel; the
final kernel has a time only if it equals the kernel of a round.
"""

from __future__ import annotations

from pathlib import Path

from kernelwright.importers.seed import Found, Gathering, is_number, object_of, scalars, text_of
from kernelwright.model import Candidate

INPUT, FINAL, TRACE = "input_kernel.py", "optimized_kernel_beam_search.py", "optimization_trace"
KERNEL, TIMES = "kernel.py", "benchmark_results.json"
SAID = ("dtype", "device", "size")


def claims(path: Path) -> bool:
    return path.is_dir() and bool(rounds(path) or (path / INPUT).is_file() or (path / FINAL).is_file())


def read(path: Path, starter: Candidate | None) -> Found:
    gathering = Gathering()
    for folder in rounds(path):
        results = object_of(folder / TIMES)
        said = scalars(results, SAID)
        gathering.add(folder.name, text_of(folder / KERNEL), folder / KERNEL, said, time_us(results))
    for name in (FINAL, INPUT):
        if (path / name).is_file():
            gathering.add(name.removesuffix(".py"), text_of(path / name), path / name, {})
    return gathering.found()


def rounds(path: Path) -> list[Path]:
    """The folders of rounds that have a kernel, in the order of rounds."""
    homes = [path] if (path / TIMES).is_file() else [*path.glob("round_*"), *(path / TRACE).glob("round_*")]
    whole = [home for home in homes if (home / KERNEL).is_file()]
    return sorted(whole, key=lambda home: (len(home.name), home.name))


def time_us(results: dict[str, object]) -> float | None:
    """The shortest time of the kernels in a round's results, which are in milliseconds; None if there is none."""
    kernels = results.get("kernels")
    timed = (
        [one.get("time_ms") for one in kernels.values() if isinstance(one, dict)] if isinstance(kernels, dict) else []
    )
    times = [float(one) for one in timed if is_number(one) and one > 0]
    return 1000 * min(times) if times else None
