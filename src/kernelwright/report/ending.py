"""The text at the end of a search: the verdict, where the files are, and what to do next."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from kernelwright.model import BUDGET_LIMITS, Budget
from kernelwright.propose import prompt_path
from kernelwright.report.commands import KERNEL, command_on_best
from kernelwright.report.convergence import convergence_text
from kernelwright.report.files import PAGE, REPORT
from kernelwright.report.several import TABLE, TABLE_PAGE, Line, several_text
from kernelwright.report.trace import FOLDER
from kernelwright.report.verdict import verdict_text
from kernelwright.report.view import RunView
from kernelwright.run import Outcome, StopReason


def ending_text(view: RunView, outcome: Outcome, budget: Budget, no_package: str = "") -> str:
    """Verdict, convergence, where everything is, and what to do next. no_package: why `export` would refuse."""
    places = [f"report  {view.folder / REPORT}", f"page    {view.folder / PAGE}", f"trace   {view.folder / FOLDER}"]
    if view.best is not None:
        places.insert(0, f"kernel  {view.folder / KERNEL}")
    stopped = "" if outcome.reason is StopReason.WAITING else f"stopped: {outcome.detail}"
    parts = [verdict_text(view), convergence_text(view), stopped, "\n".join(places)]
    return "\n\n".join(part for part in [*parts, next_text(view, outcome, budget, no_package)] if part)


def several_ending_text(
    folder: Path, lines: Sequence[Line], has_device: bool | None, reason: StopReason, detail: str
) -> str:
    """The table of several problems, where everything is, and how to go on. reason, detail: why the session ended."""
    places = [f"table   {folder / TABLE}", f"page    {folder / TABLE_PAGE}"]
    resume = shlex.join(["kernelwright", "optimize", "--resume", str(folder)])
    how = "go on; where a limit ended it, give a larger one"
    more = "" if reason is StopReason.FINISHED else f"next:\n  {resume}\n      {how}"
    parts = [several_text(lines, has_device), f"stopped: {detail}", "\n".join(places), more]
    return "\n\n".join(part for part in parts if part)


def next_text(view: RunView, outcome: Outcome, budget: Budget, no_package: str) -> str:
    """The commands that make sense now."""
    run = str(view.folder)
    resume = ["kernelwright", "optimize", "--resume", run]
    if outcome.reason is StopReason.WAITING:
        return waiting_text(view, outcome, shlex.join(resume))
    if outcome.reason is StopReason.INTERRUPTED:
        return f"next:\n  {shlex.join(resume)}"
    lines = []
    problem = view.info.settings.problem
    if view.best is not None:
        lines.append((command_on_best("verify", view), "judge it again, on every case"))
        where = ", on a machine with a GPU: the times above are estimates" if view.timing_kind == "estimate" else ""
        lines.append((command_on_best("bench", view), f"time it beside the framework's own{where}"))
        if not no_package:
            lines.append((["kernelwright", "export", run], "use it in a program: a package that falls back to PyTorch"))
    more = more_of(outcome.reason, budget)
    if more:
        lines.append(([*resume, *more], "search on"))
    elif view.info.settings.proposer == "builtin":
        lines.append(
            (
                ["kernelwright", "optimize", problem, "--proposer", "mailbox"],
                "change the code too: answer prompts yourself, or name a model (--proposer anthropic --model NAME)",
            )
        )
    shown = "\n".join(["next:", *(f"  {shlex.join(words)}\n      {why}" for words, why in lines)]) if lines else ""
    return f"{shown}\n\n`export` makes no package of this kernel: {no_package}" if no_package else shown


def waiting_text(view: RunView, outcome: Outcome, resume: str) -> str:
    """Which prompts wait, and how to answer them."""
    prompts = [str(prompt_path(view.folder, number)) for number in outcome.waiting]
    first = outcome.waiting[0]
    return "\n".join(
        [
            "waiting for replies to:",
            *(f"  {prompt}" for prompt in prompts),
            "next: write each answer to a separate file, hand it in, and go on:",
            f"  {shlex.join(['kernelwright', 'reply', str(view.folder), str(first), 'REPLY_FILE'])}",
            f"  {resume}",
        ]
    )


def more_of(reason: StopReason, budget: Budget) -> list[str]:
    """Options that double the limit which ended the search; empty where no limit did."""
    limit = next((one for one in BUDGET_LIMITS if one.name == reason.value), None)
    most = limit.of(budget) if limit is not None else None
    return [limit.flag, str(2 * most)] if limit is not None and most is not None else []
