"""The first prompt that `optimize` would send, and the most that it may spend. Nothing is sent, no folder is written.

The starter is judged and timed first, because the prompt states its time.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kernelwright.diagnosis import furthest
from kernelwright.errors import RequestError
from kernelwright.evaluator.protocol import Worker
from kernelwright.jobs.consent import Ask, refuse
from kernelwright.jobs.loading import load_qualified, require_verifiable
from kernelwright.jobs.runs import NewRun, find_known, new_run
from kernelwright.jobs.settings import NO_FILE, SettingsFile, read_options
from kernelwright.jobs.worker import PLACES, Notify, Places, StartWorker
from kernelwright.llm.protocol import NothingSent, ProviderRequest
from kernelwright.model import (
    BUDGET_LIMITS,
    KNOWN,
    KnownKernel,
    Operator,
    Profile,
    Proposal,
    Request,
    RunSettings,
    Trial,
)
from kernelwright.propose import Context, prompt_path
from kernelwright.propose.lessons import read_cards
from kernelwright.propose.table import Shown, shown_proposer
from kernelwright.propose.withheld import without_source
from kernelwright.report.dry_run import DryRun
from kernelwright.run.profiling import taken
from kernelwright.search import build_strategy

MOST_ASKED = 64
"""How many requests of a strategy are examined to find the first one that needs a prompt."""


TUNES = (
    "the search first tunes the numbers of its starter, without a prompt; the first prompt then also shows the result"
)


def dry_run(
    problem: str | Path | None = None,
    *,
    settings: SettingsFile = NO_FILE,
    start_worker: StartWorker,
    places: Places = PLACES,
    notify: Notify,
    ask: Ask = refuse,
    **options: Any,
) -> DryRun:
    """The first prompt that `optimize` with these arguments would send. Raises the same errors; no key is needed."""
    given = read_options({**options, "problem": None if problem is None else str(problem)})
    run = new_run(
        given, settings, start_worker=start_worker, places=places, ask=ask, notify=notify,
        variables=with_keys(os.environ),
    )  # fmt: skip
    with load_qualified(
        run.problem, run.settings.problem, start_worker=run.start_worker, notify=notify, target=run.target,
        dtype=run.settings.dtype, library=run.settings.library, which=run.settings.cases,
        unqualified=run.settings.unqualified,
    ) as (worker, info), tempfile.TemporaryDirectory() as folder:  # fmt: skip
        require_verifiable(worker, info, run.problem)
        shown = shown_proposer(run.settings.proposer, run.settings.proposer_options, with_keys(os.environ))
        file, sent, tunes = None, None, False
        if shown is not None:
            context = Context(
                problem=info, environment=worker.environment(), trials=(), in_flight=(), seed=run.settings.seed,
                folder=Path(folder), put_blob=lambda text: "", blob=lambda sha: "",
                lessons=read_cards(Path(lessons)) if (lessons := run.settings.lessons) is not None else (),
            )  # fmt: skip
            request, context, tunes = first_request(run, worker, context, find_known(worker, run, info, notify))
            sent, file = prompted(shown, request, without_source(context) if run.settings.no_source else context)
    return DryRun(
        problem=info.name,
        proposer=run.settings.proposer,
        address=sent.url if sent is not None else None,
        document=sent.document if sent is not None else None,
        file=file,
        limits=limits_of(run.settings, shown),
        remarks=((TUNES,) if tunes else ()) + tuple(remarks_of(run.settings, shown)),
    )


def with_keys(variables: Mapping[str, str]) -> dict[str, str]:
    """The environment with placeholders for keys: nothing is sent, so none is needed."""
    keys = dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY"), "none")
    return {**keys, **variables}


def first_request(
    run: NewRun, worker: Worker, context: Context, known: Sequence[KnownKernel]
) -> tuple[Request, Context, bool]:
    """The strategy's first request that needs a prompt, the context of that prompt, and whether other requests come
    before it.
    """
    settings, candidates = run.settings, [one.candidate for one in known]
    strategy = build_strategy(settings.strategy, run.starter, settings.seed, settings.strategy_options, candidates)
    trials: tuple[Trial, ...] = ()
    profiles: dict[int, tuple[Profile, ...]] = {}
    for _ in range(MOST_ASKED):
        request = strategy.ask()
        if request is None:
            break
        if request.candidate is not None:
            evaluation = worker.evaluate(request.candidate, "search")
            author = KNOWN if request.candidate in candidates else "starter"
            proposal = Proposal(author=author, candidate=request.candidate)
            trials = (*trials, Trial(request=request, proposal=proposal, evaluation=evaluation))
            case = furthest(evaluation, context.problem) if evaluation.score_us is not None else None
            if case is not None:
                profiles[request.number] = taken(worker, request.candidate, case).profiles
            strategy.tell(trials[-1])
        elif request.operator is not Operator.TUNE:
            return request, _with(context, trials, profiles), False
    if not trials:
        raise RequestError(f"the strategy {run.settings.strategy} asks for nothing")
    operator = Operator.IMPROVE if trials[0].score_us is not None else Operator.REPAIR
    return Request(number=1, operator=operator, parents=(0,)), _with(context, trials, profiles), True


def _with(context: Context, trials: tuple[Trial, ...], profiles: Mapping[int, tuple[Profile, ...]]) -> Context:
    return Context(
        problem=context.problem, environment=context.environment, trials=trials, in_flight=(), seed=context.seed,
        folder=context.folder, put_blob=context.put_blob, blob=context.blob, profiles=profiles, lessons=context.lessons,
    )  # fmt: skip


def prompted(shown: Shown, request: Request, context: Context) -> tuple[ProviderRequest | None, str | None]:
    """The request that would be sent, or the file that would be written."""
    try:
        shown.proposer.propose(request, context)
    except NothingSent as nothing:
        return nothing.request, None
    finally:
        shown.proposer.close()
    return None, prompt_path(context.folder, request.number).read_text(encoding="utf-8")


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
