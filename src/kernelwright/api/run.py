"""The class `Run` of the Python API: a run's best kernel, its trials, and its report as text and in a notebook."""

from __future__ import annotations

import base64
import os
from dataclasses import dataclass
from html import escape
from pathlib import Path

from kernelwright.api.results import html
from kernelwright.journal import Journal
from kernelwright.model import Candidate, Evaluation, Trial
from kernelwright.report.plots import Picture, draw_plots
from kernelwright.report.plots.drawing import standalone_svg
from kernelwright.report.text import report_text
from kernelwright.report.trials import trials_table
from kernelwright.report.verdict import verdict_text
from kernelwright.report.view import RunView, read_run
from kernelwright.source import apply_config


@dataclass(frozen=True, eq=False)
class Run(os.PathLike[str]):
    """The state of a run when it was opened. Open a running run again to see new trials.

    verdict: the result with its confidence, as text. best: the trial of the confirmed best kernel; None if none is
    confirmed. evaluation: the evaluation of that kernel that reports show. trials: the finished trials.
    """

    folder: Path
    verdict: str
    best: Trial | None
    evaluation: Evaluation | None
    trials: tuple[Trial, ...]
    report: str
    """The text of `kernelwright report`."""
    _table: str
    _pictures: tuple[str, ...]

    @property
    def candidate(self) -> Candidate | None:
        """The candidate of the best trial; None if none is confirmed."""
        return None if self.best is None else self.best.proposal.candidate

    @property
    def source(self) -> str | None:
        """The source of that candidate with its config written into it; None if none is confirmed."""
        return None if self.candidate is None else apply_config(self.candidate.source, self.candidate.config)

    def __fspath__(self) -> str:
        return str(self.folder)

    def __str__(self) -> str:
        return self.report

    def __repr__(self) -> str:
        return f"Run({str(self.folder)!r})"

    def _repr_html_(self) -> str:
        return html(self.verdict.partition("\n")[0], [self.verdict, self._table], self._pictures)


def open_run(folder: str | os.PathLike[str]) -> Run:
    """Open the run in `folder`, which may be running, finished, or copied from another machine.

    No code of the run is executed, and nothing is written. Raises `RunFolderError` if there is no run.
    """
    path = Path(folder)
    with Journal.open(path) as journal:
        return _run(path, read_run(journal))


def _run(folder: Path, view: RunView) -> Run:
    best = view.best
    return Run(
        folder=folder, verdict=verdict_text(view), best=best,
        evaluation=None if best is None else view.figure(best), trials=view.trials, report=report_text(view),
        _table=trials_table(view), _pictures=tuple(map(_image, draw_plots(view))),
    )  # fmt: skip


def _image(picture: Picture) -> str:
    """The picture as an image element, so that its styles and ids cannot conflict with those of the notebook."""
    data = base64.b64encode(standalone_svg(picture.svg).encode()).decode()
    return f'<img alt="{escape(picture.title)}" style="width: 48em" src="data:image/svg+xml;base64,{data}">'
