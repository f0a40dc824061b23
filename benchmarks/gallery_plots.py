"""docs/gallery.svg, the share of the limit that each timed case reaches; gallery/NAME/variants.svg, every measured
variant of a kernel in the order in which they were measured; gallery/NAME/roofline.svg, what the implementations of its
first timed case reach under the roof; and gallery/NAME/convergence.svg, the trials of a run that is kept there.

    python benchmarks/gallery_plots.py                  draw from gallery/*/experiments.json and results/*.json
    python benchmarks/gallery_plots.py --keep FOLDER N  first keep what gallery_round.py wrote to FOLDER, as round N

Not a measurement. Bytes and FLOP of a case are what its problem says now, asked of a worker; a roof is refused where
the limit that follows is not the one in the results. A kept record leaves out what a compiler would say again:
registers, seconds, logs. Times are geometric means over the cases that a search scores.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kernelwright.codec import decode
from kernelwright.errors import ProblemError
from kernelwright.evaluator.client import start_worker
from kernelwright.evaluator.protocol import Worker
from kernelwright.journal import Journal
from kernelwright.model import BenchCase, BenchReport, Bound, CaseInfo, Implementation, Status
from kernelwright.report.plots import convergence, drawing, roofline
from kernelwright.report.view import read_run
from kernelwright.roofline import Point, bound
from kernelwright.stats import geometric_mean

ROOT = Path(__file__).resolve().parents[1]
KEPT = ("file", "constants", "status", "reason", "score_us", "kind", "cases")
EXPERIMENTS = "experiments.json"
LOG_FROM = 8.0
"""Slowest over fastest from which the time axis is logarithmic."""


def keep(folder: Path, number: int) -> None:
    """Each PROBLEM.json of a round into gallery/PROBLEM/experiments.json, in place of one with that number."""
    for file in sorted(folder.glob("*.json")):
        record = json.loads(file.read_text(encoding="utf-8"))
        record["outcomes"] = [{key: one[key] for key in KEPT if key in one} for one in record["outcomes"]]
        record["environment"].pop("peaks", None)
        target = ROOT / "gallery" / record.pop("problem") / EXPERIMENTS
        known = json.loads(target.read_text(encoding="utf-8")) if target.is_file() else {"variants": {}, "rounds": []}
        others = [one for one in known["rounds"] if one["number"] != number]
        known["rounds"] = sorted([*others, {"number": number, **record}], key=lambda one: one["number"])
        target.write_text(written(known), encoding="utf-8")


def written(experiments: dict[str, Any]) -> str:
    """As JSON with one line for each outcome."""
    rounds = []
    for one in experiments["rounds"]:
        lines = ",\n".join(json.dumps(outcome) for outcome in one["outcomes"])
        head = {key: value for key, value in one.items() if key != "outcomes"}
        rounds.append(f'{json.dumps(head)[:-1]}, "outcomes": [\n{lines}\n]}}')
    head = {key: value for key, value in experiments.items() if key != "rounds"}
    text = json.dumps(head, indent=1, ensure_ascii=False).removesuffix("\n}")
    return text + ',\n "rounds": [\n' + ",\n".join(rounds) + "\n]}\n"


def scored_us(record: dict[str, Any], timed: set[str]) -> list[tuple[str, float]]:
    """File and time of every variant that passed, over the cases that a search scores."""
    found = []
    for one in record["outcomes"]:
        times = [time for case, (time, _) in one.get("cases", {}).items() if case in timed]
        if one["status"] == "passed" and times:
            found.append((Path(one["file"]).stem, geometric_mean(times)))
    return found


def draw(folder: Path) -> None:
    """The picture of one problem; nothing where no round was kept."""
    reports = [decode(file.read_bytes(), BenchReport) for file in sorted((folder / "results").glob("*.json"))]
    kept = folder / EXPERIMENTS
    if not reports or not kept.is_file():
        return
    rounds = json.loads(kept.read_text(encoding="utf-8"))["rounds"]
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
        level = geometric_mean(times)
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


def shown(case: BenchCase) -> list[Implementation]:
    """Of what passed: eager, compile, the starter and `best`, or the fastest of our others where none is called so."""
    timed = {row.name: row for row in case.implementations if row.median_us is not None and row.status is Status.PASSED}
    common = ("eager", "compile", "starter")
    ours = [row for name, row in timed.items() if name not in (*common, "compile_max_autotune")]
    best = timed.get("best") or min(ours, key=lambda row: row.median_us or math.inf, default=None)
    return [row for row in (*map(timed.get, common), best) if row is not None]


def limit_of(info: CaseInfo, peaks: dict[str, float], source: str) -> Bound:
    """The limit of a case under other peaks than those it was loaded with, made as a worker makes it."""
    least = info.bound
    return bound(least.bytes, least.written_bytes, least.flop_by_dtype, peaks, source, least.stated)


def reached(case: BenchCase, limit: Bound) -> dict[str, list[Point]]:
    """A point for each implementation shown; raises `ProblemError` where `limit` is not the one of the results."""
    # A bound that counts the rows which drawn indices name differs by a tenth of a percent from draw to draw.
    exact = 1e-6 if limit.stated else 0.005
    if not math.isclose(limit.bound_us, case.bound_us, rel_tol=exact) or limit.bound_by != case.bound_by:
        raise ProblemError(
            f"the limit of {case.case} is {limit.bound_us:.6g} µs by {limit.bound_by}, and {case.bound_us:.6g} µs by "
            f"{case.bound_by} in its results",
            "the problem has changed since; bench it again",
        )
    return {
        row.name: [Point(name=row.name, case=case.case, bound=limit, time_us=row.median_us, kind="measured")]
        for row in shown(case)
        if row.median_us is not None
    }


def draw_roofline(folder: Path, worker: Worker) -> None:
    """The roof over the first timed case; nothing where no results are kept."""
    for file in sorted((folder / "results").glob("*.json"))[:1]:
        report = decode(file.read_bytes(), BenchReport)
        case = next(case for case in report.cases if not case.held_out)
        loaded = worker.load(str(folder / "problem.py")).cases
        info = next(info for info in loaded if info.case.name == case.case)
        limit = limit_of(info, report.environment.peaks, report.environment.peaks_source)
        figure = roofline.draw_groups(reached(case, limit), one_case=True)
        title = f"Roofline of {folder.name}: what its implementations reach of what the device allows"
        svg = drawing.inline_svg(figure, f"{folder.name}-roofline", title)
        (folder / "roofline.svg").write_text(drawing.standalone_svg(svg), encoding="utf-8")
        print(f"drawn: {(folder / 'roofline.svg').relative_to(ROOT)}")


def draw_convergence(folder: Path) -> None:
    """Of the first run that is kept; nothing where none is. It reads a copy: SQLite may write beside what it reads."""
    for run in sorted(journal.parent for journal in (folder / "runs").glob("*/journal.db"))[:1]:
        with tempfile.TemporaryDirectory() as kept:
            copy = Path(shutil.copytree(run, Path(kept, run.name)))
            with Journal.open(copy) as journal:
                view = read_run(journal)
        figure = convergence.draw(view)
        assert figure is not None, f"nothing passed in {run}"
        svg = drawing.inline_svg(
            figure, f"{folder.name}-convergence", f"Convergence of {folder.name}: every trial's time"
        )
        (folder / "convergence.svg").write_text(drawing.standalone_svg(svg), encoding="utf-8")
        print(f"drawn: {(folder / 'convergence.svg').relative_to(ROOT)}")


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
        keep(Path(given.keep[0]), int(given.keep[1]))
    with start_worker() as worker:
        for folder in sorted((ROOT / "gallery").iterdir()):
            if folder.is_dir():
                draw(folder)
                draw_roofline(folder, worker)
                draw_convergence(folder)
    results = sorted((ROOT / "gallery").glob("*/results/*.json"))
    draw_shares([decode(file.read_bytes(), BenchReport) for file in results])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
