"""The problems of a gallery, one line each: what it computes, and how fast its best kernel was, as recorded."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelwright.codec import decode
from kernelwright.journal import NAME
from kernelwright.model import BenchReport, LibraryMode
from kernelwright.source import parse as syntax
from kernelwright.stats import geometric_mean
from kernelwright.text.table import table
from kernelwright.text.units import share_text, times_text
from kernelwright.textfile import read_text

RESULTS = "nvidia-h200.json"
"""The gallery was tuned on this GPU."""
AUTOTUNED = "max-autotune"
"""Folder of results with `--max-autotune`."""

MEANING = """\
ratio: time of the faster of eager and torch.compile over that of the best kernel on an NVIDIA H200, as recorded there;
geometric mean over the timed cases. max-autotune: the same with torch.compile's max-autotune mode among the framework's
own; measured apart (docs/gallery.md has intervals and every case)."""


@dataclass(frozen=True)
class GalleryLine:
    """A problem. file: its problem.py. computes: the first line of its docstring. best: whether it has a best kernel.
    ratio, autotuned_ratio, share: geometric means over the timed cases of recorded benches; None where there is none.
    library: the mode of the figures. runs: folders of recorded runs."""

    name: str
    file: str
    computes: str
    best: bool
    cases: int = 0
    library: LibraryMode = "none"
    ratio: float | None = None
    autotuned_ratio: float | None = None
    share: float | None = None
    runs: tuple[str, ...] = ()


def gallery_line(file: Path) -> GalleryLine:
    """The line of a problem file."""
    folder = file.parent
    report, again = recorded(folder / "results" / RESULTS), recorded(folder / "results" / AUTOTUNED / RESULTS)
    ratios, shares = best_figures(report)
    autotuned, _ = best_figures(again)
    return GalleryLine(
        name=folder.name,
        file=str(file),
        computes=computes(file),
        best=(folder / "best.py").is_file(),
        cases=len(ratios),
        library=report.library if report is not None else "none",
        ratio=geometric_mean(ratios) if ratios else None,
        autotuned_ratio=geometric_mean(autotuned) if autotuned else None,
        share=geometric_mean(shares) if shares else None,
        runs=tuple(sorted(str(journal.parent) for journal in folder.glob(f"runs/*/{NAME}"))),
    )


def recorded(results: Path) -> BenchReport | None:
    return decode(read_text(results), BenchReport) if results.is_file() else None


def best_figures(report: BenchReport | None) -> tuple[list[float], list[float]]:
    """Of the best kernel on each timed case: ratio to the framework's fastest, share of the bound."""
    if report is None:
        return [], []
    rows = [case.row("best") for case in report.cases if not case.held_out]
    timed = [row for row in rows if row is not None and row.speedup is not None]
    return (
        [row.speedup for row in timed if row.speedup is not None],
        [row.fraction_of_bound for row in timed if row.fraction_of_bound is not None],
    )


def computes(file: Path) -> str:
    """The first line of a problem's docstring; "" where it has none or cannot be read. The file is not run."""
    try:
        text = ast.get_docstring(syntax.parse(read_text(file))) or ""
    except (OSError, SyntaxError, ValueError):
        return ""
    return text.partition("\n")[0]


def gallery_text(lines: Sequence[GalleryLine]) -> str:
    """The table, what its columns mean, and where recorded runs are."""
    header = ("problem", "ratio", "max-autotune", "share of bound", "computes")
    rows = [
        [named(line), _times(line.ratio), _times(line.autotuned_ratio), share_text(line.share), line.computes]
        for line in lines
    ]
    parts = [table(header, rows, left=("computes",)), MEANING]
    if runs := [run for line in lines for run in line.runs]:
        parts.append("\n".join(["recorded runs (kernelwright report RUN):", *(f"  {run}" for run in runs)]))
    return "\n\n".join(parts)


def named(line: GalleryLine) -> str:
    """The name, with the library mode of the figures where steps of the framework were allowed."""
    return line.name if line.library == "none" else f"{line.name} (library: {line.library})"


def _times(ratio: float | None) -> str:
    return "-" if ratio is None else times_text(ratio)
