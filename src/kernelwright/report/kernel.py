"""A candidate as a file to read and ship: its source with the config written in, below a comment with its results."""

from __future__ import annotations

from kernelwright.model import Trial
from kernelwright.report.evaluation import (
    SECOND_LOOK,
    constant_texts,
    library_texts,
    serves_texts,
    unjudged_texts,
    unqualified_text,
)
from kernelwright.report.trials import outcome, readable_source, title, why
from kernelwright.report.view import RunView
from kernelwright.source import autotune_choices
from kernelwright.source.edits import with_one_config
from kernelwright.text.escape import legible
from kernelwright.text.units import time_text


def kernel_text(trial: Trial, view: RunView) -> str:
    """The text of the file. A kernel under `triton.autotune` keeps only the judged config, so that Triton's tuner picks
    no other.

    Raises nothing for a config that does not fit: the comment then says that it is not written in.

    Escapes notes in the comment, so that the comment cannot make the judge reject the file.
    """
    header = "".join(f"# {line}\n" for text in _facts(trial, view) for line in legible(text).splitlines())
    return f"{header}\n{_shipped(trial, view).rstrip()}\n"


def _shipped(trial: Trial, view: RunView) -> str:
    source, judged = readable_source(trial, view), view.confirmed.get(trial.number) or trial.evaluation
    if judged is None or not judged.autotune or trial.proposal.candidate is None:
        return source
    return with_one_config(source, judged.autotune_moved | autotune_choices(trial.proposal.candidate.config))


def _facts(trial: Trial, view: RunView) -> list[str]:
    evaluation, environment = trial.evaluation, view.info.environment
    where = f"on {environment.device}" if environment.device else f"compiled for {environment.target}, no GPU"
    facts = [f"{view.info.problem.title}, {title(trial)}"]
    if view.was_interrupted and view.best is None:
        facts.append(f"NOT CONFIRMED: the search was interrupted; kernelwright optimize --resume {view.folder}")
    if evaluation is not None and evaluation.score_us is not None:
        facts.append(f"{outcome(trial)}: {time_text(evaluation.score_us, evaluation.timing_kind)} in the search")
    else:
        facts.append(f"{outcome(trial)}: {why(trial)}")
    if evaluation is not None and evaluation.unqualified:
        facts.append(unqualified_text(evaluation.unqualified))
    confirmation = view.confirmed.get(trial.number)
    if confirmation is not None:
        time = confirmation.score_us
        figure = confirmation.reason if time is None else time_text(time, confirmation.timing_kind)
        facts.append(f"{SECOND_LOOK[confirmation.timing_kind].name} {confirmation.status.value}: {figure}")
    judged = confirmation or evaluation
    if judged is not None:
        facts += serves_texts(judged) + library_texts(judged) + unjudged_texts(judged)
        facts += constant_texts(judged.constant)
    facts.append(f"{where}; torch {environment.torch}, Triton {environment.triton}")
    candidate = trial.proposal.candidate
    if candidate is not None and candidate.config:
        facts.append("config: " + ", ".join(f"{key}={value}" for key, value in candidate.config.items()))
    if trial.proposal.note and trial.proposal.note != why(trial):
        facts.append(trial.proposal.note)
    return facts
