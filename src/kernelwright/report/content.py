"""The content of a run's report, part by part: text.py, page/ and markdown only lay it out.

Every number comes with its kind, and all renderers take it from here, so two views of a run never differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kernelwright.diagnosis import diagnoses
from kernelwright.model import CaseInfo, CaseResult, Timing
from kernelwright.report.chosen import FEW, reasons_section
from kernelwright.report.commands import repeat_commands
from kernelwright.report.control_arm import control_text, read_control
from kernelwright.report.convergence import convergence_text
from kernelwright.report.cost import cost_sections
from kernelwright.report.evaluation import environment_settings, kernels_grid
from kernelwright.report.framework import side_report, times_grid
from kernelwright.report.kernel import kernel_text
from kernelwright.report.lanes import lanes_section
from kernelwright.report.profile_table import profile_section
from kernelwright.report.profiled import finding_section
from kernelwright.report.stated import stated_section
from kernelwright.report.trials import tally
from kernelwright.report.verdict import remarks, verdict_sentence
from kernelwright.report.view import RunView
from kernelwright.text.table import NO_GRID, Grid, Section
from kernelwright.text.units import Unit, interval_text, label, number_text, share_text, times_text, unit_for

ESTIMATES = (
    "No GPU took part. Every time on this page is an estimate: a formula over the work and the compiled resources, "
    "which orders variants of a kernel at best."
)
TIMES = "Measured after the search, in alternation: µs on the device, cold cache. Ratio: to the fastest of PyTorch."
ERRORS = "Errors are relative to the output's own scale."
REPLAYED = "The candidates were replayed from an earlier run; they were judged and timed again."

BRIEF = (
    "A long run: the way to the best kernel and the best others are shown whole, the rest on a line each; "
    "kernelwright show {run} N and trace/ have everything."
)


@dataclass(frozen=True)
class Content:
    """The parts of a report. first: what a reader asks first: times beside PyTorch, else the cases, and what holds the
    kernel back; of a run without a kernel why. rounds: the convergence table. tally: trials by status. kernel: its
    source, ready to use. control: the control arm, "" where there is none. repeat: command lines."""

    view: RunView
    title: str
    subtitle: str
    verdict: str
    remarks: list[str]
    warnings: list[str]
    first: list[Section]
    kernel_title: str
    kernel: str | None
    rounds: str
    tally: Mapping[str, int]
    further: list[Section]
    cost: tuple[Section, ...]
    control: str
    environment: Mapping[str, str]
    repeat: list[str]


def content_of(view: RunView) -> Content:
    """All parts but the tree of candidates (`tree.tree_of`), which not every report has."""
    settings, info, shown = view.info.settings, view.info, view.shown
    where = info.environment.device or f"no GPU, compiled for {info.environment.target}"
    title = "Best kernel" if view.best is not None else "Leading kernel, not confirmed"
    times, cases = times_section(view), cases_section(view)
    reasons, finding = reasons_section(view), _finding(view)
    first = [one for one in ((times or cases, finding) if shown is not None else (reasons,)) if one is not None]
    further = (_resources(view, title), cases, lanes_section(view.lanes, view.at_work_s), profile_section(view),
               reasons, stated_section(view))  # fmt: skip
    control = read_control(view)
    return Content(
        view=view,
        title=info.problem.title,
        subtitle=f"{settings.strategy} search, written by {settings.proposer}, {where}, {info.created[:10]}",
        verdict=verdict_sentence(view),
        remarks=remarks(view),
        warnings=_warnings(view),
        first=first,
        kernel_title=title,
        kernel=kernel_text(shown, view) if shown is not None and shown.proposal.candidate is not None else None,
        rounds=convergence_text(view),
        tally=tally(view.trials),
        further=[one for one in further if one is not None and one not in first],
        cost=cost_sections(view),
        control=control_text(view, control) if control is not None else "",
        environment=environment_settings(info.environment),
        repeat=repeat_commands(view),
    )


def _resources(view: RunView, title: str) -> Section | None:
    """Config of the shown kernel, and what the compiler says of it."""
    shown, evaluation = view.shown, view.figure(view.shown)
    if shown is None or evaluation is None or shown.proposal.candidate is None:
        return None
    given = shown.proposal.candidate.config.items()
    config = ", ".join(f"{key}={value}" for key, value in given) or "as its source has it"
    kernels = kernels_grid(evaluation.kernels) if evaluation.kernels else NO_GRID
    return Section("resources", f"{title}: trial {shown.number}", kernels, (f"config: {config}",))


def times_section(view: RunView) -> Section | None:
    """The shown kernel beside PyTorch, a row per timed case; None where that was not measured."""
    report = side_report(view) if view.timing_kind == "measured" else None
    return Section("times", "Beside PyTorch", times_grid(report), (TIMES,)) if report is not None else None


def _finding(view: RunView) -> Section | None:
    """What holds the shown kernel back, on the case that is furthest from its bound; None where nothing was timed."""
    evaluation = view.figure(view.shown)
    if view.shown is None or evaluation is None:
        return None
    profiles, info = view.profiles.get(view.shown.number, ()), view.info
    found = next(iter(diagnoses(evaluation, profiles, info.problem, info.environment.peaks)), None)
    return finding_section(found) if found is not None else None


def _warnings(view: RunView) -> list[str]:
    found = [ESTIMATES] if view.info.environment.device is None else []
    if len(view.trials) > FEW:
        found.append(BRIEF.format(run=view.folder))
    return found + ([REPLAYED] if view.info.settings.proposer == "replay" else [])


def cases_section(view: RunView) -> Section | None:
    """One row per case: the reported kernel beside the run's first kernel."""
    seed, evaluation = view.seed, view.figure(view.shown)
    if evaluation is None or not evaluation.results:
        return None
    seed_times = {r.case: r.timing for r in seed.evaluation.results} if seed and seed.evaluation else {}
    times = [r.timing.median_us for r in evaluation.results if r.timing] + [
        t.median_us for t in seed_times.values() if t
    ]
    unit, kind = unit_for(times), view.timing_kind
    name = label(unit, kind)
    is_measured = kind == "measured"
    apart = seed is not view.shown and is_measured
    header = ["case", "", "status", "error / allowed", f"time ({name})", "95 % interval"]
    header += [view.seed_name, "ratio"] if apart else []
    header += ["bound", "of the bound"] if is_measured else []
    known = {info.case.name: info for info in view.info.problem.cases}
    rows = []
    for result in evaluation.results:
        row = _case_start(result, known.get(result.case), unit)
        if apart:
            row += _against(seed_times.get(result.case), result.timing, unit)
        if is_measured:
            row += _case_bound(result.timing, known.get(result.case), unit)
        rows.append(tuple(row))
    peaks = next((f"Bounds: {info.bound.peaks}. " for info in view.info.problem.cases), "")
    grid = Grid(tuple(header), tuple(rows), frozenset({"", "status"})).filled()
    return Section("cases", "Cases", grid, (f"{peaks}{ERRORS}",))


def _case_start(result: CaseResult, info: CaseInfo | None, unit: Unit) -> list[str]:
    role = "" if info is None else "held out" if info.case.held_out else "small" if info.case.small else ""
    error = "-"
    if result.max_rel_error is not None and result.allowed_rel_error is not None:
        error = f"{result.max_rel_error:.1e} / {result.allowed_rel_error:.1e}"
    timing = result.timing
    time = number_text(timing.median_us if timing else None, unit)
    interval = interval_text(timing.ci95_us if timing else None, unit)
    return [result.case, role, result.status.value, error, time, interval]


def _against(before: Timing | None, timing: Timing | None, unit: Unit) -> list[str]:
    ratio = times_text(before.median_us / timing.median_us) if before and timing and timing.median_us else "-"
    return [number_text(before.median_us if before else None, unit), ratio]


def _case_bound(timing: Timing | None, info: CaseInfo | None, unit: Unit) -> list[str]:
    if timing is None or info is None or timing.median_us <= 0:
        return ["-", "-"]
    return [number_text(info.bound.bound_us, unit), share_text(info.bound.bound_us / timing.median_us)]
