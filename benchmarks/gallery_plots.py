"""docs/gallery.svg, the share of the limit that each timed case reaches, and gallery/NAME/variants.svg, every measured
variant of a kernel in the order in which they were measured.

    python benchmarks/gallery_plots.py                  draw from gallery/*/rounds/*.json and gallery/*/results/*.json
    python benchmarks/gallery_plots.py --keep FOLDER N  first keep what gallery_round.py wrote to FOLDER, as round N

Not a measurement. A kept record leaves out what a compiler would say again: registers, seconds, logs. Times are
geometric means over the cases that a search scores.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kernelwright.codec import decode
from kernelwright.model import BenchReport
from kernelwright.report.plots import drawing

ROOT = Path(__file__).resolve().parents[1]
KEPT = ("file", "constants", "status", "reason", "score_us", "kind", "cases")
LOG_FROM = 8.0
"""Slowest over fastest from which the time axis is logarithmic."""


def keep(folder: Path, number: str) -> None:
    """Each PROBLEM.json of a round into gallery/PROBLEM/rounds/NUMBER.json."""
    for file in sorted(folder.glob("*.json")):
        record = json.loads(file.read_text(encoding="utf-8"))
        record["outcomes"] = [{key: one[key] for key in KEPT if key in one} for one in record["outcomes"]]
        record["environment"].pop("peaks", None)
        target = ROOT / "gallery" / record["problem"] / "rounds" / f"{number}.json"
        target.parent.mkdir(exist_ok=True)
        lines = ",\n".join(json.dumps(one) for one in record.pop("outcomes"))
        target.write_text(json.dumps(record)[:-1] + f', "outcomes": [\n{lines}\n]}}\n', encoding="utf-8")


def scored_us(record: dict[str, Any], timed: set[str]) -> list[tuple[str, float]]:
    """File and time of every variant that passed, over the cases that a search scores."""
    found = []
    for one in record["outcomes"]:
        times = [time for case, (time, _) in one.get("cases", {}).items() if case in timed]
        if one["status"] == "passed" and times:
            found.append((Path(one["file"]).stem, math.exp(sum(map(math.log, times)) / len(times))))
    return found


def draw(folder: Path) -> None:
    """The picture of one problem; nothing where no round was kept."""
    reports = [decode(file.read_bytes(), BenchReport) for file in sorted((folder / "results").glob("*.json"))]
    rounds = [json.loads(file.read_text(encoding="utf-8")) for file in sorted((folder / "rounds").glob("*.json"))]
    if not reports or not rounds:
        return
    cases = [case for case in reports[0].cases if not case.held_out]
    timed = {case.case for case in cases}
    points = [point for record in rounds for point in scored_us(record, timed)]
    if not points:
        return
    figure, plot = drawing.axes()
    files = list(dict.fromkeys(name for name, _ in points))
    for name, colour in zip(files, (drawing.OTHER, drawing.PARENT, drawing.STARTER, drawing.BEST), strict=False):
        own = [(number, time) for number, (file, time) in enumerate(points) if file == name]
        plot.scatter([number for number, _ in own], [time for _, time in own], s=22, color=colour, label=f"{name}.py",
                     linewidths=0, zorder=3)  # fmt: skip
    so_far, best = [], math.inf
    for _, time in points:
        best = min(best, time)
        so_far.append(best)
    plot.step(range(len(points)), so_far, where="post", color=drawing.BEST, linewidth=1.4, alpha=0.55,
              label="best so far")  # fmt: skip
    framework = [min(row.median_us for row in case.implementations
                     if row.name in ("eager", "compile") and row.median_us is not None) for case in cases]  # fmt: skip
    for times, name, style in (([case.bound_us for case in cases], "limit", (0, (4, 3))), (framework, "PyTorch", "-")):
        level = math.exp(sum(map(math.log, times)) / len(times))
        plot.axhline(level, color=drawing.BOUND, linewidth=1.2, linestyle=style, label=name)  # type: ignore[arg-type]
    if max(time for _, time in points) / best > LOG_FROM:
        plot.set_yscale("log")
    else:
        plot.set_ylim(bottom=0)
    plot.set_xlabel("variant, in the order measured")
    plot.set_ylabel("µs")
    drawing.legend_above(plot)
    svg = drawing.inline_svg(figure, folder.name, f"Measured variants of {folder.name}")
    (folder / "variants.svg").write_text(drawing.standalone_svg(svg), encoding="utf-8")
    print(f"drawn: {(folder / 'variants.svg').relative_to(ROOT)}")


def draw_shares(reports: Sequence[BenchReport]) -> None:
    """One line a timed case: how much of the limit eager, compile, the starter and the best kernel reach."""
    cases = [(f"{one.problem} {case.case}", case) for one in reports for case in one.cases if not case.held_out][::-1]
    figure, plot = drawing.axes()
    figure.set_size_inches(drawing.WIDTH_IN, 0.9 + 0.26 * len(cases))
    shown = (("eager", drawing.OTHER, "o"), ("compile", drawing.PARENT, "o"), ("starter", drawing.STARTER, "D"),
             ("best", drawing.BEST, "o"))  # fmt: skip
    for name, colour, marker in shown:
        points = [(case.bound_us / row.median_us, line) for line, (_, case) in enumerate(cases)
                  for row in case.implementations if row.name == name and row.median_us is not None]  # fmt: skip
        if points:
            shares, lines = zip(*points, strict=True)
            plot.scatter([100 * share for share in shares], lines, s=46 if name == "best" else 30, color=colour,
                         marker=marker, label=name, linewidths=0, zorder=3)  # fmt: skip
    plot.axvline(100, color=drawing.BOUND, linewidth=1.2, linestyle=(0, (4, 3)), label="limit")
    plot.set_yticks(range(len(cases)), [name for name, _ in cases], fontsize=8)
    plot.set_xlim(0, 105)
    plot.set_xlabel("share of the limit, %")
    drawing.legend_above(plot)
    svg = drawing.inline_svg(figure, "gallery", "Share of the limit that each timed case of the gallery reaches")
    (ROOT / "docs" / "gallery.svg").write_text(drawing.standalone_svg(svg), encoding="utf-8")
    print("drawn: docs/gallery.svg")


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", nargs=2, metavar=("FOLDER", "N"))
    given = parser.parse_args(arguments)
    if given.keep:
        keep(Path(given.keep[0]), given.keep[1])
    for folder in sorted((ROOT / "gallery").iterdir()):
        if folder.is_dir():
            draw(folder)
    results = sorted((ROOT / "gallery").glob("*/results/*.json"))
    draw_shares([decode(file.read_bytes(), BenchReport) for file in results])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
