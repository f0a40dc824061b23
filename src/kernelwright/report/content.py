"""The content of a run's report, part by part: text.py, page/ and markdown only lay it out.

Every number comes with its kind, and all renderers take it from here, so two views of a run never differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from kernelwright.diagnosis import diagnoses
from kernelwright.model import CaseInfo, CaseResult, Diagnosis, Evaluation, Timing, Trial
from kernelwright.report.chosen import FEW
from kernelwright.report.commands import repeat_commands
from kernelwright.report.control_arm import control_text, read_control
from kernelwright.report.convergence import convergence_text, kind_of
from kernelwright.report.cost import cost_grid, cost_lines, cost_text, run_usage, stage_grid, until_lines
from kernelwright.report.evaluation import (
    KERNELS_HEADER,
    SECOND_LOOK,
    environment_settings,
    kernel_rows,
    throttled_texts,
)
from kernelwright.report.framework import against_framework
from kernelwright.report.kernel import kernel_text
from kernelwright.report.lanes import lanes_section
from kernelwright.report.profile_table import profile_section
from kernelwright.report.reasons import reasons_section
from kernelwright.report.stated import stated_section
from kernelwright.report.tree import Node, tree_of
from kernelwright.report.trials import tally
from kernelwright.report.verdict import remarks, verdict_sentence
from kernelwright.report.view import RunView, share_of_bound
from kernelwright.text.grid import Grid, Section
from kernelwright.text.units import (
    Unit,
    count_text,
    duration_text,
    label,
    number_text,
    share_text,
    time_text,
    times_text,
    unit_for,
)

ESTIMATES = (
    "No GPU took part. Every time on this page is an estimate: a formula over the work and the compiled resources, "
    "which orders variants of a kernel at best."
)
REPLAYED = "The candidates were replayed from an earlier run; they were judged and timed again."

BRIEF = (
    "A long run: the way to the best kernel and the best others are shown whole, the rest on a line each; "
    "kernelwright show {run} N and trace/ have everything."
)


@dataclass(frozen=True)
class Figure:
    """One of the key figures of a run."""

    label: str
    value: str
    note: str = ""


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
        """The confirmed best kernel; until there is one, the leading kernel."""
        return self.view.best or self.view.leader

    @cached_property
    def evaluation(self) -> Evaluation | None:
        return self.view.figure(self.shown) if self.shown is not None else None

    @cached_property
    def verdict(self) -> str:
        return verdict_sentence(self.view)

    @property
    def remarks(self) -> tuple[str, ...]:
        return tuple(remarks(self.view))

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(_warnings(self.view))

    @property
    def figures(self) -> tuple[Figure, ...]:
        return tuple(_figures(self.view, self.evaluation))

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

    @property
    def config(self) -> str:
        """Of the shown kernel."""
        candidate = self.shown.proposal.candidate if self.shown is not None else None
        config = candidate.config if candidate is not None else {}
        return ", ".join(f"{key}={value}" for key, value in config.items()) or "as its source has it"

    @cached_property
    def kernel(self) -> str | None:
        """Its source, ready to use."""
        shown = self.shown
        return kernel_text(shown, self.view) if shown is not None and shown.proposal.candidate is not None else None

    @cached_property
    def resources(self) -> Grid | None:
        """What the compiler says of the shown kernel."""
        if self.evaluation is None or not self.evaluation.kernels:
            return None
        rows = tuple(tuple(row) for row in kernel_rows(self.evaluation.kernels))
        return Grid(KERNELS_HEADER, rows, frozenset({"target", "limited by"}))

    @cached_property
    def cases(self) -> Grid | None:
        """One row per case: the shown kernel beside the run's first kernel."""
        evaluation = self.evaluation
        return _cases(self.view, evaluation) if evaluation is not None and evaluation.results else None

    @property
    def peaks(self) -> str:
        """What the bounds of the cases are computed from."""
        return next((info.bound.peaks for info in self.view.info.problem.cases), "")

    @cached_property
    def diagnosis(self) -> Diagnosis | None:
        """What holds the shown kernel back, on the case that is furthest from its bound; None where nothing was
        timed."""
        if self.shown is None or self.evaluation is None:
            return None
        profiles, info = self.view.profiles.get(self.shown.number, ()), self.view.info
        return next(iter(diagnoses(self.evaluation, profiles, info.problem, info.environment.peaks)), None)

    @property
    def extra(self) -> tuple[Section, ...]:
        found = (self.lanes, profile_section(self.view), reasons_section(self.view), stated_section(self.view))
        return tuple(one for one in found if one is not None)

    @cached_property
    def lanes(self) -> Section | None:
        return lanes_section(self.view.lanes, self.view.at_work_s)

    @property
    def cost(self) -> str:
        return cost_text(self.view)

    @property
    def cost_lines(self) -> tuple[str, ...]:
        return (*cost_lines(self.view), *until_lines(self.view))

    @property
    def cost_grid(self) -> Grid | None:
        return cost_grid(self.view)

    @property
    def stage_grid(self) -> Grid | None:
        return stage_grid(self.view)

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


def _figures(view: RunView, evaluation: Evaluation | None) -> list[Figure]:
    trial, seed, usage = view.best or view.leader, view.seed, run_usage(view)
    found = []
    if trial is not None and evaluation is not None and evaluation.score_us is not None:
        sure = (
            SECOND_LOOK[evaluation.timing_kind].passed
            if trial.number in view.confirmed and view.best is trial
            else "in the search"
        )
        sure += ", throttled" if throttled_texts(evaluation.results) else ""
        found.append(Figure("Time", time_text(evaluation.score_us, evaluation.timing_kind), sure))
        is_measured = evaluation.timing_kind == "measured"
        if is_measured and (against := against_framework(view)) is not None:
            found.append(Figure("Over PyTorch", times_text(against.ratio), f"{against.name}, {against.interval_text}"))
        if is_measured and seed is not None and seed is not trial and seed.score_us is not None:
            gain = times_text(seed.score_us / evaluation.score_us)
            found.append(
                Figure("Over the start", gain, f"the {view.seed_name} took {time_text(seed.score_us, 'measured')}")
            )
        share = share_of_bound(evaluation, view.info.problem.cases)
        if is_measured and share is not None:
            found.append(Figure("Of the bound", share_text(share), f"{times_text(1 / share)} the bound"))
        if trial is not seed and trial.number in view.finished_s:
            found.append(Figure("Time to best", duration_text(view.finished_s[trial.number]), f"trial {trial.number}"))
    found.append(Figure("Search", duration_text(view.at_work_s), count_text(len(view.trials), "trial")))
    if usage.cost_usd is not None:
        tokens = f"{usage.tokens:,} tokens".replace(",", " ")
        if usage.cached_tokens:
            tokens += f", {share_text(usage.cached_tokens / usage.input_tokens)} of the input from a cache"
        found.append(Figure("Cost", f"{usage.cost_usd:.2f} USD", tokens))
    elif usage.tokens:
        tokens = f"{usage.tokens:,}".replace(",", " ")
        found.append(Figure("Tokens", tokens, "price unknown"))
    return found


def _cases(view: RunView, evaluation: Evaluation) -> Grid:
    """One row per case: the reported kernel beside the run's first kernel."""
    seed = view.seed
    shown = view.best or view.leader
    seed_times = {r.case: r.timing for r in seed.evaluation.results} if seed and seed.evaluation else {}
    times = [r.timing.median_us for r in evaluation.results if r.timing] + [
        t.median_us for t in seed_times.values() if t
    ]
    unit, kind = unit_for(times), kind_of(view)
    name = label(unit, kind)
    is_measured = kind == "measured"
    apart = seed is not shown and is_measured
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
    return [result.case, role, result.status.value, error, time, interval_text(timing, unit)]


def _against(before: Timing | None, timing: Timing | None, unit: Unit) -> list[str]:
    ratio = times_text(before.median_us / timing.median_us) if before and timing and timing.median_us else "-"
    return [number_text(before.median_us if before else None, unit), ratio]


def _case_bound(timing: Timing | None, info: CaseInfo | None, unit: Unit) -> list[str]:
    if timing is None or info is None or timing.median_us <= 0:
        return ["-", "-"]
    return [number_text(info.bound.bound_us, unit), share_text(info.bound.bound_us / timing.median_us)]


def interval_text(timing: Timing | None, unit: Unit) -> str:
    """ "18.20 to 18.31"; "-" for an estimate, which has none."""
    if timing is None or timing.ci95_us is None:
        return "-"
    low, high = timing.ci95_us
    return f"{number_text(low, unit)} to {number_text(high, unit)}"
