"""Command lines that make a run again, and that judge, time or profile its kernel."""

from __future__ import annotations

import shlex
from typing import Literal

from kernelwright.devices.backend import BACKEND
from kernelwright.model import BUDGET_LIMITS, SWITCHES, Budget, LibraryMode
from kernelwright.report.view import RunView

KERNEL = "best_kernel.py"
"""In the run's folder: the confirmed best kernel."""


def repeat_commands(view: RunView) -> list[str]:
    """Command lines that make this run again and judge and time its kernel."""
    settings = view.info.settings
    words = ["kernelwright", "optimize", settings.problem, "--strategy", settings.strategy]
    words += _options("--option", settings.strategy_options)
    words += ["--proposer", settings.proposer, *_options("--proposer-option", settings.proposer_options)]
    words += ["--seed", str(settings.seed), "--in-flight", str(settings.in_flight), *_budget(settings.budget)]
    words += ["--thinking", str(settings.thinking)] if settings.thinking is not None else []
    if settings.starter is not None:
        words += ["--starter", settings.starter]
    words += _judged_as(view, settings.library)
    if settings.control is not None:
        words += ["--control", settings.control]
    if settings.lessons is not None:
        words += ["--lessons", settings.lessons]
    words += ["--known", settings.known] if settings.known is not None else []
    words += [switch.flag for switch in SWITCHES if getattr(settings, switch.name)]
    commands = [words]
    if view.best is not None:
        commands += [command_on_best(verb, view) for verb in ("verify", "bench", "profile")]
    return [shlex.join(command) for command in commands]


def command_on_best(
    verb: Literal["verify", "bench", "profile"], view: RunView, file: str = KERNEL, library: LibraryMode | None = None
) -> list[str]:
    """The commands that judge or time the best kernel, or another file of the run's folder, as the run did. library:
    in place of that of the run."""
    settings = view.info.settings
    words = ["kernelwright", verb, settings.problem, str(view.folder / file)]
    words += _judged_as(view, library or settings.library, with_cases=verb != "profile")
    return words + (["--unqualified"] if settings.unqualified and verb != "profile" else [])


def _judged_as(view: RunView, library: LibraryMode | None, with_cases: bool = True) -> list[str]:
    """The options that say what is judged. with_cases: whether the verb may derive cases."""
    settings, where = view.info.settings, view.info.environment
    words = ["--dtype", settings.dtype] if settings.dtype is not None else []
    words += ["--library", library] if library is not None else []
    words += ["--cases", settings.cases] if with_cases and settings.cases == "stated" else []
    is_chosen = where.device is None and where.target != BACKEND.default_target
    return words + (["--target", where.target] if is_chosen else [])


def _options(flag: str, options: dict[str, bool | int | float | str]) -> list[str]:
    return [word for key, value in options.items() for word in (flag, f"{key}={value}")]


def _budget(budget: Budget) -> list[str]:
    given = [(limit.flag, limit.of(budget)) for limit in BUDGET_LIMITS]
    return [word for flag, most in given if most is not None for word in (flag, str(most))]
