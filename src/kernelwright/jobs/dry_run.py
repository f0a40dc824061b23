"""The first prompt that `optimize` would send, and the most that it may spend. Nothing is sent, and the folder of the
run is a temporary one.

It is the search itself, with a proposer that ends it in place of sending a prompt. So the starter and what the search
tries without a prompt are judged and timed first, because prompts state their times.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from kernelwright.jobs.runs import OpenRun, begin, new_run
from kernelwright.jobs.session import strategy_of
from kernelwright.jobs.settings import NO_FILE, SettingsFile, read_options
from kernelwright.jobs.worker import Desk
from kernelwright.llm.protocol import NothingSent, ProviderRequest
from kernelwright.model import BUDGET_LIMITS, RunSettings
from kernelwright.propose import prompt_path
from kernelwright.propose.inductor import InductorFirst
from kernelwright.propose.table import Shown, shown_proposer
from kernelwright.report.dry_run import DryRun
from kernelwright.run import optimize


def dry_run(
    problem: str | Path | None = None, *, settings: SettingsFile = NO_FILE, desk: Desk, **options: Any
) -> DryRun:
    """The first prompt that `optimize` with these arguments would send. Raises the same errors; no key is needed."""
    given = read_options({**options, "problem": None if problem is None else str(problem)})
    # Nothing is sent, so no key is needed.
    variables = dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY"), "none") | os.environ
    run = new_run(given, settings, desk, variables)
    shown = shown_proposer(run.settings.proposer, run.settings.proposer_options, variables)
    one_by_one = msgspec.structs.replace(run.settings, in_flight=1, thinking=1)
    with (
        tempfile.TemporaryDirectory() as folder,
        begin(replace(run, settings=one_by_one, out=f"{folder}/run"), is_asked=False) as opened,
    ):
        sent, file, ended = (None, None, "") if shown is None else first_prompt(opened, shown)
    return DryRun(
        problem=opened.journal.info.problem.title,
        proposer=run.settings.proposer,
        address=sent.url if sent is not None else None,
        document=sent.document if sent is not None else None,
        file=file,
        limits=limits_of(run.settings, shown),
        remarks=((ended,) if ended else ()) + tuple(remarks_of(run.settings, shown)),
    )


def first_prompt(run: OpenRun, shown: Shown) -> tuple[ProviderRequest | None, str | None, str]:
    """The request that would be sent, or the file that would be written, or why the search ends without either."""
    journal, worker, budget = run
    proposer = shown.proposer if journal.info.starter is not None else InductorFirst(shown.proposer)
    try:
        outcome = optimize(journal, strategy_of(journal.info), proposer, worker, budget=budget, most_waiting=1)
    except NothingSent as nothing:
        return nothing.request, None, ""
    finally:
        proposer.close()
    if not outcome.waiting:
        return None, None, f"the search ends without a prompt: {outcome.detail}"
    return None, prompt_path(journal.folder, outcome.waiting[0]).read_text(encoding="utf-8"), ""


def limits_of(settings: RunSettings, shown: Shown | None) -> dict[str, str]:
    """The most of each, from the budget and the price; "no limit" where nothing limits it."""
    budget = settings.budget
    found = {limit.unit: limit.amount_text(most) if (most := limit.of(budget)) is not None else "no limit"
             for limit in BUDGET_LIMITS if limit.name != "gpu_seconds"}  # fmt: skip
    times_min = [one for one in (budget.minutes, budget.gpu_seconds and budget.gpu_seconds / 60) if one is not None]
    found["GPU minutes"] = f"{min(times_min):g}" if times_min else "no limit"
    if settings.control is not None and times_min:
        found["GPU minutes"] += ", and as much again for the control arm"
    if shown is None or shown.answers is None:
        return found | {"tokens": "0", "USD": "0"}
    price, most_tokens = shown.price, budget.tokens
    if budget.tokens is None and budget.trials is not None:
        requests = budget.trials * shown.answers
        length = f" of at most {shown.max_tokens} tokens" if shown.max_tokens is not None else ""
        found["tokens"] = f"no limit; at most {requests} answers{length}, and their prompts"
    if budget.usd is None and price is not None and most_tokens is not None:
        found["USD"] = f"{most_tokens * price.highest_usd_per_mtok / 1e6:.2f}"
    return found


def remarks_of(settings: RunSettings, shown: Shown | None) -> list[str]:
    if shown is None:
        return [f"{settings.proposer} asks no model: nothing leaves this machine"]
    remarks = ["later prompts also hold the kernels that were written, their times, errors and counters"]
    if shown.answers is None:
        return ["its prompts are files in the run's folder; who answers them decides where they go", *remarks]
    if settings.lessons is not None:
        remarks.append(f"prompts also hold the lesson cards of {settings.lessons}")
    return remarks
