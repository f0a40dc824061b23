"""One tuning from its beginning to the files that it leaves.

Not its options (`tune`), nor the search (`kernelwright.tune`). The rule: what was found so far is on disk whatever ends
the search, and where times come from stands in every file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelwright.cli.advice import ANSWER, advised
from kernelwright.cli.output import document_text, note
from kernelwright.errors import RequestError
from kernelwright.folders import fresh_folder

if TYPE_CHECKING:
    from kernelwright.model import CaseInfo, ProblemInfo
    from kernelwright.propose.advisors import Advisor
    from kernelwright.spaces.protocol import SamplerFactory
    from kernelwright.spaces.space import Config, Space
    from kernelwright.tune import Device, Outcome, Settings, Tried

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Begin:
    """What a search begins with beside the default. rows: what a file to import holds, fastest first."""

    rows: Rows
    advisor: tuple[Advisor, str] | None


@dataclass
class Job:
    """One tuning, and the files it leaves."""

    problem: ProblemInfo | str
    source: str
    space: Space
    device: Device
    settings: Settings
    begin: Begin
    out: str | None
    tried: list[Tried] = field(default_factory=list)

    def run(self, sampler: SamplerFactory, unqualified: str = "") -> Outcome | None:
        """Tune and write everything; on an interrupt or a fault at least the history so far. None: nothing was tried,
        because advice is yet to come."""
        from kernelwright import tune as tuner
        from kernelwright.report.tuning import progress_lines

        imported = imported_configs(self.begin.rows, self.space)
        folder = self._folder()
        advice = None
        if self.begin.advisor is not None:
            where = self.device.environment
            advice = advised(self.begin.advisor, folder, self.source, self.space, self.problem, where)
            if advice is None:
                note(f"waiting for {folder / ANSWER}: write it, then give the same command with --out {folder}")
                return None
        note(f"results: {folder}; device: {self.device.name}")

        def on_tried(tried: Tried) -> None:
            self.tried.append(tried)
            for line in progress_lines(self.tried, self.device.kind):
                note(line)

        try:
            outcome = tuner.tune(
                self.device,
                self.space,
                problem=self.problem,
                candidate=self.source,
                settings=self.settings,
                sampler=sampler,
                advice=advice,
                imported=imported,
                on_tried=on_tried,
                on_stage=note,
                unqualified=unqualified,
            )
            self.tried = list(outcome.tried)  # what its confirmation refused is a failure in every file
        finally:
            self._write_tried(folder)
        self._write_choices(folder, outcome)
        return outcome

    @property
    def name(self) -> str:
        return self.problem if isinstance(self.problem, str) else self.problem.name

    @property
    def cases(self) -> Sequence[CaseInfo]:
        return () if isinstance(self.problem, str) else self.problem.cases

    def _folder(self) -> Path:
        import datetime

        if self.out is not None:
            folder = Path(self.out)
        else:
            now = datetime.datetime.now(datetime.timezone.utc)
            folder = fresh_folder(Path("tuned"), f"{self.name}-{now:%Y%m%d-%H%M%S}")
        if folder.exists() and not folder.is_dir():
            raise RequestError(f"--out {folder} is a file; a folder was expected", "name a folder")
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _write_tried(self, folder: Path) -> None:
        from kernelwright.export.history import history_text
        from kernelwright.export.t4 import t4_document

        text = history_text(self.tried, self.cases, self.device.kind, self.device.name)
        (folder / "history.csv").write_text(text, encoding="utf-8")
        document = t4_document(self.tried, self.device.kind, self.device.name)
        (folder / "t4.json").write_text(document_text(document) + "\n", encoding="utf-8")

    def _write_choices(self, folder: Path, outcome: Outcome) -> None:
        from kernelwright.export.best_config import pinned
        from kernelwright.export.triton_configs import triton_configs_text
        from kernelwright.report.tuning import tuning_text

        (folder / "report.txt").write_text(tuning_text(outcome) + "\n", encoding="utf-8")
        chosen = pinned(outcome)
        files = {
            "best_config.json": None if chosen is None else document_text(chosen) + "\n",
            "configs.py": None if chosen is None else triton_configs_text(chosen),
        }
        for name, text in files.items():
            if text is None:
                (folder / name).unlink(missing_ok=True)  # of an earlier tuning in this folder: it holds no more
            else:
                (folder / name).write_text(text, encoding="utf-8")


def imported_rows(file: str | None) -> Rows:
    """What a history.csv or a T4 file (.json) holds."""
    from kernelwright.export.history import history_rows
    from kernelwright.export.t4 import t4_rows

    if file is None:
        return []
    return t4_rows(Path(file)) if Path(file).suffix == ".json" else history_rows(Path(file))


def imported_configs(rows: Rows, space: Space) -> list[Config]:
    """The configs to try first; what lies outside of the space is left out, and said."""
    from kernelwright.spaces.stated import configs_from

    found, useless = configs_from(rows, space)
    if rows:
        note(f"{len(found)} imported configs are tried first" + f"; {useless} are none of this space" * bool(useless))
    return found
