"""The exporter `csv`: every trial of a run as a table; trials with times have one row for each timed case.

The column `kind` says whether a time was measured or is an estimate. A search is resumed from `journal.db`, not from
this file.
"""

from __future__ import annotations

import csv
import io
import json

from kernelwright.export.subject import Subject
from kernelwright.model import Trial
from kernelwright.report.trials import outcome, why
from kernelwright.text.escape import legible

COLUMNS = (
    "trial", "round", "operator", "parents", "author", "status", "confirmed", "library", "case", "kind", "median_us",
    "ci95_low_us", "ci95_high_us", "call_us", "score_us", "config", "candidate", "input_tokens", "cached_tokens",
    "cache_written_tokens", "output_tokens", "cost_usd", "reason", "note",
)  # fmt: skip


def trials_csv_files(subject: Subject) -> dict[str, str]:
    assert subject.run is not None
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n", restval="")
    writer.writeheader()
    for trial in subject.run.trials:
        confirmation = subject.run.confirmed.get(trial.number)
        common = common_of(trial) | {"confirmed": confirmation.status.value if confirmation is not None else ""}
        timed = [one for one in trial.evaluation.results if one.timing] if trial.evaluation is not None else []
        for result in timed:
            timing = result.timing
            assert timing is not None
            low, high = timing.ci95_us or ("", "")
            writer.writerow(
                common
                | {
                    "case": result.case,
                    "kind": timing.kind,
                    "median_us": timing.median_us,
                    "ci95_low_us": low,
                    "ci95_high_us": high,
                    "call_us": "" if timing.call_us is None else timing.call_us,
                }
            )
        if not timed:
            writer.writerow(common)
    return {"trials.csv": out.getvalue()}


def common_of(trial: Trial) -> dict[str, object]:
    candidate, usage = trial.proposal.candidate, trial.proposal.usage
    return {
        "trial": trial.number,
        "round": trial.request.round,
        "operator": trial.request.operator.value,
        "parents": " ".join(map(str, trial.request.parents)),
        "author": legible(trial.proposal.author),
        "status": outcome(trial),
        "library": trial.evaluation.library if trial.evaluation is not None else "",
        "score_us": "" if trial.score_us is None else trial.score_us,
        "config": json.dumps(candidate.config) if candidate is not None else "",
        "candidate": candidate.id if candidate is not None else "",
        "input_tokens": usage.input_tokens,
        "cached_tokens": usage.cached_tokens,
        "cache_written_tokens": usage.cache_written_tokens,
        "output_tokens": usage.output_tokens,
        "cost_usd": "" if usage.cost_usd is None else usage.cost_usd,
        "reason": legible(" ".join(why(trial).split())),
        "note": legible(" ".join(trial.proposal.note.split())),
    }
