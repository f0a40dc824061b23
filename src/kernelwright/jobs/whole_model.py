"""Surveys a whole model: where its time goes, what could be won, and a problem for each region that matters."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from kernelwright import codec
from kernelwright.errors import ProblemError, RequestError
from kernelwright.folders import make_folder, remove_folder, write_file
from kernelwright.jobs.loading import DERIVED
from kernelwright.jobs.worker import Desk, Notify, Shared
from kernelwright.model import FRAMEWORK, Environment, ModelSurvey, Record
from kernelwright.problems.paths import PROBLEM_FILE
from kernelwright.python import run_module
from kernelwright.report.whole_model import Table, outcome_text, table_of, times_of_model_text
from kernelwright.search.schedule import NEAR
from kernelwright.textfile import parse_json, read_text

MODELS = "models"
"""Folder of the surveys, below the current one."""

DOCUMENT = "model.json"
"""File beside the problems: what `model --json` prints."""


def weight_of(problem: str) -> float:
    """The share of a whole model's time that a problem of a survey has; 1 for any other problem."""
    file = Path(problem).parent / DOCUMENT
    weights = parse_json(read_text(file)).get("weights", {}) if file.is_file() else {}
    return float(weights.get(Path(problem).name, 1.0))


class WholeModel(Record, frozen=True, kw_only=True):
    """A model's survey. folder: of its problems. checks: by name, why a problem does not qualify; "" where it does."""

    survey: ModelSurvey
    environment: Environment
    folder: str
    checks: dict[str, str]

    @property
    def table(self) -> Table:
        return table_of(self.survey, self.environment)

    @property
    def times_text(self) -> str:
        """The table, which is there before the checks are."""
        where = self.environment.device or f"no GPU: estimates for {self.environment.target}"
        return times_of_model_text(self.survey, self.table, where)

    @property
    def outcome_text(self) -> str:
        return outcome_text(self.table, self.checks, self.folder)

    def __str__(self) -> str:
        return f"{self.times_text}\n\n{self.outcome_text}"

    def document(self) -> dict[str, Any]:
        """What `model --json` prints."""
        found = self.table
        times = [{"name": row.part.name, "places": row.places, "time_us": row.time_us, "bound_us": row.bound_us,
                  "share": found.share(row), "gain_at_bound": found.gain([row]), "gain_at_90": found.gain([row], NEAR)}
                 for row in found.rows]  # fmt: skip
        return {
            **codec.plain(self), "kind": found.kind, "total_us": found.total_us, "times": times,
            "gain_at_bound": found.gain(found.regions), "gain_at_90": found.gain(found.regions, NEAR),
            "weights": found.weights(),
        }  # fmt: skip


def survey_model(
    script: str, *, out: str | Path = MODELS, max_autotune: bool = False, desk: Desk,
    show: Notify = lambda text: None,
) -> WholeModel:  # fmt: skip
    """Capture the graphs of a script's module, write problems for its regions to `out`/NAME, and check them.

    script: FILE or FILE:FUNCTION, which defines FUNCTION() (`build` if not named) and inputs(). max_autotune: also time
    this mode of `torch.compile`. show: called with the table before the checks, which may take minutes. Raises
    `RequestError` for the script, `MachineError` where torch or Triton is missing.
    """
    with contextlib.closing(Shared(desk.start_worker)) as one_worker:
        desk = replace(desk, start_worker=one_worker)
        with desk.worker() as worker:
            environment = worker.environment()
        survey = surveyed(script, environment, max_autotune, desk)
        weights = table_of(survey, environment).weights()
        folder = write_problems(survey, weights, Path(out))
        found = WholeModel(survey=survey, environment=environment, folder=str(folder), checks={})
        write_file(folder, DOCUMENT, codec.document_text(found.document()))  # an interrupt leaves a survey
        show(found.times_text)
        checks = {name: checked(folder / name / PROBLEM_FILE, desk) for name in weights}
    found = msgspec.structs.replace(found, checks=checks)
    write_file(folder, DOCUMENT, codec.document_text(found.document()))
    return found


def surveyed(script: str, environment: Environment, max_autotune: bool, desk: Desk) -> ModelSurvey:
    """The survey by the worker's program, which runs the script with its folder on the module path."""
    lines = ["it ended without a word"]

    def hear(line: str) -> None:
        lines.append(line)
        desk.notify(line)

    with tempfile.TemporaryDirectory() as temporary:
        answer = Path(temporary) / "answer.json"
        baselines = ",".join(FRAMEWORK[: 2 + max_autotune])
        measuring = [environment.gpu, baselines, json.dumps(environment.peaks)]
        words = [script, str(answer), *(measuring if environment.gpu else [])]
        place = Path(script.partition(":")[0]).parent
        if run_module(place, "kernelwright.worker.models", words, hear) or not answer.is_file():
            raise RequestError(f"{script} cannot be surveyed: {lines[-1]}", "docs/whole-model.md shows a script")
        return codec.decode(answer.read_bytes(), ModelSurvey)


def write_problems(survey: ModelSurvey, weights: Mapping[str, float], out: Path) -> Path:
    """Write the problems of these regions, in place of an earlier survey. Raises `RequestError` for a folder of
    something else."""
    folder = out / survey.name
    if folder.exists() and not (folder / DOCUMENT).is_file():
        raise RequestError(f"{folder} exists and is no survey of a model", "name another folder with --out")
    out.mkdir(parents=True, exist_ok=True)
    remove_folder(out, survey.name)
    make_folder(out, survey.name)
    for part in survey.parts:
        if part.name in weights:
            write_file(folder, f"{part.name}/{PROBLEM_FILE}", part.text or "")
    return folder


def checked(problem: Path, desk: Desk) -> str:
    """Why a written problem does not qualify; "" where it does."""
    desk.notify(f"checking {problem}")
    with desk.worker() as worker:
        try:
            worker.load(str(problem), DERIVED)
            report = worker.qualify()
        except ProblemError as error:
            return str(error)
    not_judged = f"not judged here: {'; '.join(sorted(set(report.not_judged.values())))}"
    return not_judged if report.qualifies is None else report.reason if not report.qualifies else ""
