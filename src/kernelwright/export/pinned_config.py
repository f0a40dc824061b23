"""The exporter `config`: `best_config.json` of a kernel that a search found, in the same format as that of `tune`.

`best_config.load` reads both. A file with estimates is marked as such, and `load` refuses it.
"""

from __future__ import annotations

from kernelwright import codec
from kernelwright.errors import RequestError
from kernelwright.export.best_config import Chosen, Pinned, kernels_of, tensors_of
from kernelwright.export.op import json_text
from kernelwright.export.subject import Subject
from kernelwright.model import CaseInfo, Evaluation, Timing
from kernelwright.search.ranking import beats

FILE = "best_config.json"
WHY = "timed at the run's confirmation, compared with the run's first kernel"


def pinned_config_files(subject: Subject) -> dict[str, str]:
    """The file `best_config.json`. Raises `RequestError` for a kernel without a time."""
    evaluation, where, run = subject.evaluation, subject.environment, subject.run
    assert run is not None
    if evaluation.score_us is None or evaluation.timing_kind is None:
        raise RequestError("this kernel was not timed, and best_config.json needs its time", "export another trial")
    cases = {info.case.name: info for info in subject.problem.cases}
    timed = {one.case: one.timing for one in evaluation.results if one.timing is not None and one.case in cases}
    first = run.seed.evaluation if run.seed is not None else None
    first_us = first.times_us if first is not None else {}
    pinned = Pinned(
        **codec.shared(where, Pinned),
        problem=subject.problem.name,
        candidate=codec.sha(subject.candidate.source),
        kind=evaluation.timing_kind,
        sampler=run.info.settings.proposer,
        seed=run.info.settings.seed,
        tuned_for=tuple(name for name in timed if cases[name].case.timed),
        joint=chosen(subject, None, evaluation.score_us, first.score_us if first else None, first),
        cases=tuple(chosen(subject, cases[name], timing.median_us, first_us.get(name), first, timing)
                    for name, timing in timed.items()),
        unqualified=evaluation.unqualified,
        library=evaluation.library,
    )  # fmt: skip
    return {FILE: json_text(pinned)}


def chosen(
    subject: Subject,
    info: CaseInfo | None,
    own_us: float,
    first_us: float | None,
    first: Evaluation | None,
    timing: Timing | None = None,
) -> Chosen:
    """The choice for one case, or (info None) for all. first: the evaluation of the run's first kernel, which takes the
    place of the default config."""
    tensors = tensors_of(info) if info is not None else ()
    faster = first is not None and beats(subject.evaluation, first)
    return Chosen(
        case=None if info is None else info.case.name,
        shapes=tuple(tensor.shape for tensor in tensors),
        dtypes=tuple(tensor.dtype for tensor in tensors),
        config=subject.candidate.config,
        kernels=kernels_of(subject.candidate.source, subject.candidate.config),
        time_us=own_us,
        ci95_us=timing.ci95_us if timing is not None else None,
        default_us=first_us,
        speedup=first_us / own_us if first_us else 1.0,
        speedup_ci95=None,
        verdict="faster" if faster and info is None else "tie",
        why=WHY,
        confirmed=True if subject.run is not None and subject.trial in subject.run.confirmed else None,
    )
