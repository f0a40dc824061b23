"""docs/gallery.md and the results table in README.md, made from gallery/*/results/*.json.

    python benchmarks/gallery_page.py             write both
    python benchmarks/gallery_page.py --check     exit status 1 if either is not what the results say
    python benchmarks/gallery_page.py --from results.json    first put the reports of `bench gallery --json` in place

Not a measurement. The rule: every figure on the page comes out of a results file; words about one problem stand in
its own folder.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from kernelwright.codec import decode, encode
from kernelwright.devices import device_file
from kernelwright.model import BenchCase, BenchReport, BenchSeries
from kernelwright.report.series import LIMIT, TIMED, TUNED, case_cells, our_row, timed_columns
from kernelwright.stats import geometric_mean
from kernelwright.text import markdown

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "gallery.md"
README = ROOT / "README.md"
BEGIN, END = "<!-- results: begin (benchmarks/gallery_page.py) -->", "<!-- results: end -->"


AUTOTUNED = "max-autotune"
"""Folder of results that were measured with `--max-autotune`, beside those without."""

ELSEWHERE = "elsewhere"
"""Folder of results of other GPUs than the one that the gallery was tuned on."""

NOTE = "NOTE.md"
"""Beside a problem's results: what a reader of its rows has to know, such as that a kernel has changed since."""


class Measured(NamedTuple):
    """A case with its problem, the ratio of the best kernel to the framework's fastest one, and the verdict on it."""

    problem: str
    case: BenchCase
    ratio: float
    verdict: str | None

    @property
    def name(self) -> str:
        return f"{self.problem} {self.case.case}"


def read_reports(gallery: Path, within: str = "") -> list[BenchReport]:
    """One report for each file in results, or in the folder `within` them, by problem."""
    files = sorted(gallery.glob(str(Path("*", "results", within, "*.json"))))
    return [decode(file.read_bytes(), BenchReport) for file in files]


def measured(reports: Sequence[BenchReport]) -> Iterator[Measured]:
    """The cases on which a best kernel was benched."""
    for report in reports:
        for case in report.cases:
            row = case.row("best")
            if row is not None and row.speedup is not None:
                yield Measured(report.problem, case, row.speedup, row.verdict)


def table(reports: Sequence[BenchReport], held_out: bool, timed: Sequence[str] = TIMED) -> str:
    """A line for each case; its name leads to its folder."""
    rows = [
        [f"[{report.problem}](../gallery/{report.problem}) {case.case}", *case_cells(case, timed)]
        for report in reports
        for case in report.cases
        if case.held_out == held_out
    ]
    return markdown.table(("case", *timed, *LIMIT), rows)


def assessment(cases: Sequence[Measured]) -> str:
    """Best, typical and worst case, where the framework stays ahead, and where nobody does."""
    if not cases:
        return "No best kernel was benched on these."
    ordered = sorted(cases, key=lambda one: one.ratio)
    worst, middle, best = ordered[0], ordered[(len(ordered) - 1) // 2], ordered[-1]
    lines = [
        "Of the cases on which a best kernel was benched:",
        "",
        f"- best: {best.name}, {best.ratio:.2f} times the framework's fastest one",
        f"- typical: the middle case is {middle.name}, {middle.ratio:.2f} times; the geometric mean of all "
        f"{len(ordered)} cases is {geometric_mean([one.ratio for one in ordered]):.2f}",
        f"- worst: {worst.name}, {worst.ratio:.2f} times",
        f"- the framework is ahead in {counted(ordered, 'slower')}",
        f"- a tie in {counted(ordered, 'tie')}",
    ]
    return "\n".join(lines)


def counted(cases: Sequence[Measured], verdict: str) -> str:
    """How many of the cases have that verdict, and which."""
    those = [one for one in cases if one.verdict == verdict]
    named = ": " + ", ".join(f"{one.name} ({one.ratio:.2f})" for one in those) if those else ""
    return f"{len(those)} of {len(cases)} cases{named}"


def overhead(cases: Sequence[Measured]) -> str:
    """Host time of a synchronised call beside device time, for the cases that a launch dwarfs."""
    rows = []
    for one in cases:
        ours, eager = our_row(one.case), one.case.row("eager")
        if ours is None or eager is None or ours.median_us is None or eager.median_us is None:
            continue
        if ours.call_us is None or eager.call_us is None or min(ours.median_us, eager.median_us) > 20:
            continue
        rows.append(
            [one.name, f"{eager.median_us:.1f}", f"{ours.median_us:.1f}", f"{eager.call_us:.1f}", f"{ours.call_us:.1f}"]
        )
    return markdown.table(["case", "eager, device", "ours, device", "eager, call", "ours, call"], rows)


def notes(reports: Sequence[BenchReport], gallery: Path) -> str:
    """A line for each problem that was not benched, or of whose bench its folder says something."""
    benched = {report.problem for report in reports}
    lines = []
    for folder in sorted(file.parent for file in gallery.glob("*/problem.py")):
        note = folder / "results" / NOTE
        said = " ".join(note.read_text(encoding="utf-8").split()) if note.is_file() else ""
        if said or folder.name not in benched:
            lines.append(f"- **{folder.name}**: {said if folder.name in benched else f'not benched. {said}'}".rstrip())
    return "\n".join(lines)


def autotuned(reports: Sequence[BenchReport]) -> str:
    """The part on max-autotune, and how each of its benches was called; nothing where there was none."""
    if not reports:
        return ""
    held_out = [one for one in measured(reports) if one.case.held_out]
    called = "\n".join(f"- **{report.problem}**: `{report.command}`" for report in reports)
    return f"""## With max-autotune beside it

Separate benches (`results/{AUTOTUNED}/`), in which `torch.compile` also tunes what it calls. *ratio*: the fastest
of the three over `best`.

{table(reports, held_out=False, timed=TUNED)}

{assessment([one for one in measured(reports) if not one.case.held_out])}
{autotuned_held_out(reports, held_out) if held_out else ""}
{called}

"""


def autotuned_held_out(reports: Sequence[BenchReport], cases: Sequence[Measured]) -> str:
    return f"""
Held-out cases, where they were benched with it:

{table(reports, held_out=True, timed=TUNED)}

{assessment(cases)}
"""


def elsewhere(reports: Sequence[BenchReport]) -> str:
    """The timed cases on other GPUs, a part for each; nothing where there is none."""
    devices = sorted({str(report.environment.device) for report in reports})
    return "".join(
        on_device(device, [one for one in reports if one.environment.device == device]) for device in devices
    )


def on_device(device: str, reports: Sequence[BenchReport]) -> str:
    cases, environment = list(measured(reports)), reports[0].environment
    return f"""## On an {device}

The same kernels, where the notes above say nothing else, tuned for the GPU above alone (torch
{environment.torch}, Triton {environment.triton},
driver {environment.driver}; `results/{ELSEWHERE}/`). Its limits are its own.

{table(reports, held_out=False)}

{assessment([one for one in cases if not one.case.held_out])}

Held-out cases, which are in the results and not shown here. {assessment([one for one in cases if one.case.held_out])}

"""


def page(
    reports: Sequence[BenchReport], tuned: Sequence[BenchReport], others: Sequence[BenchReport], gallery: Path
) -> str:
    """The whole of docs/gallery.md."""
    cases = list(measured(reports))
    environments = sorted({f"{one.environment.device}, torch {one.environment.torch}, Triton {one.environment.triton}"
                           for one in reports})  # fmt: skip
    return f"""# The gallery, measured

Made by `python benchmarks/gallery_page.py` from `gallery/*/results/*.json`; `kernelwright bench gallery --json
results.json` measures it all again on the GPU at hand. Each name leads to the folder with the problem, the kernels and
a page on what worked and what did not.

Device time in µs, cold cache, medians ([how](evaluation.md)). *limit*: the least time on this device for this
work; where arithmetic sets it, that is the fastest product that was measured there, and a time can lie a few percent
below it as the GPU's clock drifts. *share*: limit over the time of `best`, or of `starter` where there is no best.
*ratio*: the faster of eager and `torch.compile` over that time, with its 95 % interval; above 1 is faster than the
framework. The max-autotune mode of `torch.compile`, which is much faster on some of these, has a separate table.

Measured on: {"; ".join(environments)}.

## Timed cases

![share of the limit](gallery.svg)

{table(reports, held_out=False)}

{assessment([one for one in cases if not one.case.held_out])}

{autotuned(tuned)}## Held-out cases

Sizes and dtypes that no search saw, odd ones among them; kernels have to be right here and are timed all the same.

{table(reports, held_out=True)}

{assessment([one for one in cases if one.case.held_out])}

## Notes on these rows

{notes(reports, gallery)}

{elsewhere(others)}## Launch overhead

Cases of at most 20 µs, where the host decides: device time beside the host time of one synchronised call, µs. Ours is
a replay of the recorded launches from Python; a program that captures a CUDA graph pays device time only.

{overhead(cases)}
"""


def readme_table(reports: Sequence[BenchReport], tuned: Sequence[BenchReport]) -> str:
    """The first timed case of every problem, short: of its bench with max-autotune where there is one."""
    beside = {report.problem: report for report in tuned}
    rows = []
    for report in [beside.get(report.problem, report) for report in reports]:
        case = next(case for case in report.cases if not case.held_out)
        eager, compiled, autotune, _, best, limit, share, ratio, _, verdict = case_cells(case, TUNED)
        rows.append([f"{report.problem} {case.case}", eager, compiled, autotune, best, limit, share, ratio, verdict])
    header = ["µs", "eager", "compile", "max-autotune", "ours", "limit", "share of limit", "ratio", "verdict"]
    return markdown.table(header, rows)


def with_table(readme: str, reports: Sequence[BenchReport], tuned: Sequence[BenchReport]) -> str:
    """`readme` with what stands between the marks replaced."""
    pattern = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.S)
    if len(pattern.findall(readme)) != 1:
        raise SystemExit(f"README.md has to hold {BEGIN} and {END} once, in this order")
    return pattern.sub(lambda _: f"{BEGIN}\n\n{readme_table(reports, tuned)}\n\n{END}", readme)


def place(series: BenchSeries, gallery: Path) -> None:
    """Each report into gallery/PROBLEM/results/DEVICE.json, or the folder for max-autotune or other GPUs there."""
    for report in series.reports:
        if report.environment.device is None:
            raise SystemExit(f"the report of {report.problem} was made without a GPU: estimates are no results")
        if report.library != "none":
            raise SystemExit(f"the report of {report.problem} allows library steps: the page ranks kernels without any")
        device = device_file(report.environment.device)
        results = gallery / report.problem / "results"
        tuned = timed_columns([report]) == TUNED
        foreign = {known.stem for known in results.glob("*.json")} - {device}
        file = results / (ELSEWHERE if foreign else AUTOTUNED if tuned else "") / f"{device}.json"
        if file.exists() and not tuned:
            left_out = {case.case for case in decode(file.read_bytes(), BenchReport).cases}
            left_out -= {case.case for case in report.cases}
            if left_out:
                raise SystemExit(
                    f"the report of {report.problem} has fewer cases than {file}: {', '.join(sorted(left_out))} would "
                    "be lost; remove the file first if that is meant"
                )
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(msgspec.json.format(encode(report), indent=1) + b"\n")


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing; exit status 1 if something is stale")
    parser.add_argument("--from", dest="series", type=Path, metavar="FILE", help="a document of `bench gallery --json`")
    given = parser.parse_args(arguments)
    gallery = ROOT / "gallery"
    if given.series is not None:
        place(decode(given.series.read_bytes(), BenchSeries), gallery)
    reports, tuned = read_reports(gallery), read_reports(gallery, AUTOTUNED)
    wanted = {
        PAGE: page(reports, tuned, read_reports(gallery, ELSEWHERE), gallery),
        README: with_table(README.read_text(encoding="utf-8"), reports, tuned),
    }
    stale = [file for file, text in wanted.items() if not file.exists() or file.read_text(encoding="utf-8") != text]
    for file in stale:
        print(f"{file.relative_to(ROOT)} is stale; python benchmarks/gallery_page.py writes it" if given.check
              else f"written: {file.relative_to(ROOT)}")  # fmt: skip
        if not given.check:
            file.write_text(wanted[file], encoding="utf-8")
    return 1 if stale and given.check else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
