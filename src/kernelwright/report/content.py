"""The content of a run's report, part by part: text.py, page/ and markdown only lay it out.

Every number comes with its kind, and all renderers take it from here, so two views of a run never differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from kernelwright.diagnosis import diagnoses
from kernelwright.model import CaseInfo, CaseResult, Evaluation, Timing, Trial
from kernelwright.report.chosen import FEW
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
from kernelwright.report.reasons import reasons_section
from kernelwright.report.stated import stated_section
from kernelwright.report.tree import Node, tree_of
from kernelwright.report.trials import tally
from kernelwright.report.verdict import remarks, verdict_sentence
from kernelwright.report.view import RunView
from kernelwright.text.grid import NO_GRID, Grid, Section
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
    """The parts of a report, one property each, computed when a renderer first asks for it."""

    view: RunView

    @property
    def title(self) -> str:
        return self.view.info.problem.title

    @property
    def subtitle(self) -> str:
        settings, info = self.view.info.settings, self.view.info
        where = info.environment.device or f"no GPU, compiled for {info.environment.target}"
        return f"{settings.strategy} search, written by {settings.proposer}, {where}, {info.created[:10]}"

    @cached_property
    def shown(self) -> Trial | None:
        return self.view.shown

    @cached_property
    def evaluation(self) -> Evaluation | None:
        return self.view.figure(self.shown)

    @cached_property
    def verdict(self) -> str:
        return verdict_sentence(self.view)

    @property
    def remarks(self) -> tuple[str, ...]:
        return tuple(remarks(self.view))

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(_warnings(self.view))

    @cached_property
    def tree(self) -> tuple[Node, ...]:
        return tree_of(self.view)

    @cached_property
    def rounds(self) -> str:
        """The convergence table."""
        return convergence_text(self.view)

    @property
    def tally(self) -> Mapping[str, int]:
        """Trials by status."""
        return tally(self.view.trials)

    @property
    def kernel_title(self) -> str:
        return "Best kernel" if self.view.best is not None else "Leading kernel, not confirmed"

    @cached_property
    def kernel(self) -> str | None:
        """Its source, ready to use."""
        shown = self.shown
        return kernel_text(shown, self.view) if shown is not None and shown.proposal.candidate is not None else None

    @cached_property
    def resources(self) -> Section | None:
        """Config of the shown kernel, and what the compiler says of it."""
        if self.shown is None or self.evaluation is None or self.shown.proposal.candidate is None:
            return None
        given = self.shown.proposal.candidate.config.items()
        config = ", ".join(f"{key}={value}" for key, value in given) or "as its source has it"
        kernels = kernels_grid(self.evaluation.kernels) if self.evaluation.kernels else NO_GRID
        return Section("resources", f"{self.kernel_title}: trial {self.shown.number}", kernels, (f"config: {config}",))

    @cached_property
    def times(self) -> Section | None:
        """The shown kernel beside PyTorch, a row per timed case; None where that was not measured."""
        report = side_report(self.view) if self.view.timing_kind == "measured" else None
        return Section("times", "Beside PyTorch", times_grid(report), (TIMES,)) if report is not None else None

    @cached_property
    def finding(self) -> Section | None:
        """What holds the shown kernel back, on the case that is furthest from its bound; None where nothing was
        timed."""
        if self.shown is None or self.evaluation is None:
            return None
        profiles, info = self.view.profiles.get(self.shown.number, ()), self.view.info
        found = next(iter(diagnoses(self.evaluation, profiles, info.problem, info.environment.peaks)), None)
        return finding_section(found) if found is not None else None

    @cached_property
    def cases(self) -> Section | None:
        """One row per case: the shown kernel beside the run's first kernel."""
        evaluation = self.evaluation
        if evaluation is None or not evaluation.results:
            return None
        peaks = next((f"Bounds: {info.bound.peaks}. " for info in self.view.info.problem.cases), "")
        return Section("cases", "Cases", _cases(self.view, evaluation).filled(), (f"{peaks}{ERRORS}",))

    @property
    def first(self) -> tuple[Section, ...]:
        """What a reader asks first: times beside PyTorch, else the cases, and what holds the kernel back; of a run
        without a kernel why."""
        found = (self.times or self.cases, self.finding) if self.shown is not None else (reasons_section(self.view),)
        return tuple(one for one in found if one is not None)

    @property
    def further(self) -> tuple[Section, ...]:
        view = self.view
        found = (self.resources, self.cases, self.lanes, profile_section(view), reasons_section(view),
                 stated_section(view))  # fmt: skip
        return tuple(one for one in found if one is not None and one not in self.first)

    @cached_property
    def lanes(self) -> Section | None:
        return lanes_section(self.view.lanes, self.view.at_work_s)

    @property
    def cost(self) -> tuple[Section, ...]:
        return cost_sections(self.view)

    @cached_property
    def control(self) -> str:
        """The control arm; "" where there is none."""
        control = read_control(self.view)
        return control_text(self.view, control) if control is not None else ""

    @property
    def environment(self) -> Mapping[str, str]:
        return environment_settings(self.view.info.environment)

    @property
    def repeat(self) -> tuple[str, ...]:
        """Command lines."""
        return tuple(repeat_commands(self.view))


def _warnings(view: RunView) -> list[str]:
    found = [ESTIMATES] if view.info.environment.device is None else []
    if len(view.trials) > FEW:
        found.append(BRIEF.format(run=view.folder))
    return found + ([REPLAYED] if view.info.settings.proposer == "replay" else [])


def _cases(view: RunView, evaluation: Evaluation) -> Grid:
    """One row per case: the reported kernel beside the run's first kernel."""
    seed = view.seed
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
    return Grid(tuple(header), tuple(rows), frozenset({"", "status"}))


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
