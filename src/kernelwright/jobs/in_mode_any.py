"""For reference: judges torch.compile's kernels with all library calls allowed, beside a run that allows no products or
convolutions.

They show what the same fusions take with library calls. They are not a trial, and no ratio uses them.
"""

from __future__ import annotations

import shlex

import msgspec

from kernelwright.errors import RequestError, WorkerError
from kernelwright.evaluator.protocol import Worker
from kernelwright.folders import write_file
from kernelwright.inductor import NotConverted, can_split, candidate_text, library_call
from kernelwright.jobs.worker import Notify
from kernelwright.model import Candidate, Evaluation
from kernelwright.problems import problem_in_run
from kernelwright.propose.inductor import AUTHOR
from kernelwright.report.commands import command_on_best
from kernelwright.report.framework import Against, against_framework
from kernelwright.report.view import RunView
from kernelwright.text.escape import comment
from kernelwright.text.units import time_text

FILE = "in_mode_any.py"


def judge_in_mode_any(view: RunView, worker: Worker, notify: Notify) -> None:
    """Write RUN/in_mode_any.py, where the run began with Triton templates in place of library calls, once.

    worker: with the run's problem loaded; it has it in mode `any` afterwards. What came of it goes to `notify`.
    """
    info, file = view.info, view.folder / FILE
    if info.problem.library == "any" or file.exists() or not any(one.proposal.author == AUTHOR for one in view.trials):
        return
    generated = worker.generate()
    if not generated.templates:
        return
    try:
        if library_call(generated) is not None:  # eager PyTorch is that call
            return
        source = candidate_text(generated, "any", can_split(worker.environment()))
    except NotConverted as reason:
        notify(f"for reference, in mode any: {reason}")
        return
    problem = problem_in_run(view.folder)
    try:
        worker.load(str(problem.file), msgspec.structs.replace(info.settings.loading, library="any"))
        found = worker.evaluate(Candidate(source=source), "search")
    except (RequestError, WorkerError) as error:
        notify(f"for reference, in mode any: not judged: {error}")
        return
    said = said_of(found)
    header = comment(f"{info.problem.title}, for reference, in mode any: {said}") + comment(
        shlex.join(command_on_best("bench", view, FILE, "any"))
    )
    write_file(view.folder, FILE, f"{header}\n{source}")
    notify(f"for reference, in mode any: {said}; {file}{advice(found, against_framework(view))}")


def advice(evaluation: Evaluation, against: Against | None) -> str:
    """What to do where library calls were faster than PyTorch's fastest, and than the run's kernel; "" otherwise."""
    if against is None or evaluation.score_us is None or evaluation.timing_kind != "measured":
        return ""
    if evaluation.score_us >= against.framework_us / max(1.0, against.ratio):
        return ""
    return f"; {against.name} took {time_text(against.framework_us, 'measured')}, so try --library any"


def said_of(evaluation: Evaluation) -> str:
    if evaluation.score_us is None:
        return f"{evaluation.status.value}: {evaluation.reason}" if evaluation.reason else evaluation.status.value
    if evaluation.timing_kind == "estimate":
        return f"{evaluation.status.value}; library calls have a time on a GPU only"
    return f"{evaluation.status.value}, {time_text(evaluation.score_us, evaluation.timing_kind)}"
