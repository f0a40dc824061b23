"""The report of a run, as people read it and as `RUN/report.txt` holds it.

Not the journal, which has every detail (`show`). The rule: the first lines say what was found, how sure that is,
and whether its times are estimates; everything else supports them.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Literal

from kernelwright.diagnosis import diagnoses
from kernelwright.model import BUDGET_LIMITS, Budget, Evaluation, Trial
from kernelwright.report.control_arm import control_text, read_control
from kernelwright.report.convergence import convergence_text
from kernelwright.report.cost import cost_text
from kernelwright.report.evaluation import (
    environment_settings,
    kernels_table,
    results_table,
    settings_text,
)
from kernelwright.report.profiled import finding_text
from kernelwright.report.trials import tally
from kernelwright.report.verdict import verdict_text
from kernelwright.report.view import RunView
from kernelwright.text.table import indented

KERNEL = "best_kernel.py"
"""In the run's folder: the kernel that stands."""


def report_text(view: RunView) -> str:
    """The whole report."""
    title = f"{view.info.problem.name}: report of {view.folder.name}"
    sections = [
        f"{title}\n{'=' * len(title)}",
        verdict_text(view),
        "Convergence\n" + indented(convergence_text(view)),
        f"Trials by status ({len(view.trials)} in all)\n" + indented(_tally_text(view.trials)),
        *best_sections(view),
        "Cost\n" + indented(cost_text(view)),
        *control_sections(view),
        settings_text("Environment", environment_settings(view.info.environment)),
        "How to repeat it\n" + indented("\n".join(repeat_commands(view))),
    ]
    return "\n\n".join(sections) + "\n"


def control_sections(view: RunView) -> list[str]:
    control = read_control(view)
    return ["Control arm\n" + indented(control_text(view, control))] if control is not None else []


def best_sections(view: RunView) -> list[str]:
    """The kernel to use (or, until one is confirmed, the one that leads): config, resources, cases."""
    trial = view.best or view.leader
    evaluation = view.figure(trial) if trial is not None else None
    if trial is None or evaluation is None:
        return []
    candidate = trial.proposal.candidate
    title = "Best kernel" if view.best is not None else "Leading kernel, not confirmed"
    config = candidate.config if candidate is not None else {}
    written = ", ".join(f"{key}={value}" for key, value in config.items()) or "as its source has it"
    lines = [f"config: {written}"]
    if evaluation.kernels:
        lines += ["", kernels_table(evaluation.kernels)]
    results = results_table(evaluation.results, view.info.problem.cases)
    peaks = next((info.bound.peaks for info in view.info.problem.cases), "")
    return [
        f"{title}: trial {trial.number}\n" + indented("\n".join(lines)),
        f"Cases (bounds: {peaks})\n" + indented(results),
        *diagnosis_sections(view, trial, evaluation),
    ]


def diagnosis_sections(view: RunView, trial: Trial, evaluation: Evaluation) -> list[str]:
    """What holds a kernel back on the case that is furthest from its bound; none where nothing was timed."""
    profiles = view.profiles.get(trial.number, ())
    found = diagnoses(evaluation, profiles, view.info.problem, view.info.environment.peaks)
    if not found:
        return []
    counters = f"counters by {found[0].counters}" if found[0].counters else "no counter of a GPU was read"
    where = f"What holds it back on {found[0].case} ({counters})"
    return [f"{where}\n" + indented(finding_text(found[0].bottleneck))]


def repeat_commands(view: RunView) -> list[str]:
    """Command lines that make this run again and judge and time its kernel."""
    settings = view.info.settings
    words = ["kernelwright", "optimize", settings.problem, "--strategy", settings.strategy]
    words += _options("--option", settings.strategy_options)
    words += ["--proposer", settings.proposer, *_options("--proposer-option", settings.proposer_options)]
    words += ["--seed", str(settings.seed), "--in-flight", str(settings.in_flight), *_budget(settings.budget)]
    if settings.starter is not None:
        words += ["--starter", settings.starter]
    if settings.dtype is not None:
        words += ["--dtype", settings.dtype]
    if settings.control is not None:
        words += ["--control", settings.control]
    if settings.lessons is not None:
        words += ["--lessons", settings.lessons]
    words += ["--unqualified"] if settings.unqualified else []
    commands = [words]
    if view.best is not None:
        commands += [command_on_best(verb, view) for verb in ("verify", "bench", "profile")]
    return [shlex.join(command) for command in commands]


def command_on_best(verb: Literal["verify", "bench", "profile"], view: RunView) -> list[str]:
    """The words that judge or time the kernel that stands, as the run did."""
    settings = view.info.settings
    words = ["kernelwright", verb, settings.problem, str(view.folder / KERNEL)]
    words += ["--dtype", settings.dtype] if settings.dtype is not None else []
    return words + (["--unqualified"] if settings.unqualified and verb != "profile" else [])


def _tally_text(trials: Sequence[Trial]) -> str:
    return "\n".join(f"{status}: {count}" for status, count in tally(trials).items()) or "none"


def _options(flag: str, options: dict[str, bool | int | float | str]) -> list[str]:
    return [word for key, value in options.items() for word in (flag, f"{key}={value}")]


def _budget(budget: Budget) -> list[str]:
    given = [(limit.flag, limit.of(budget)) for limit in BUDGET_LIMITS]
    return [word for flag, most in given if most is not None for word in (flag, str(most))]
