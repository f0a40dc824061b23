"""Searches the configs of one candidate and writes what it found into a folder. Only tunables change."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from kernelwright.codec import document_text
from kernelwright.errors import RequestError
from kernelwright.export.best_config import pinned
from kernelwright.export.history import history_rows, history_text
from kernelwright.export.t4 import t4_document, t4_rows
from kernelwright.export.triton_configs import triton_configs_text
from kernelwright.folders import fresh_folder
from kernelwright.jobs.advice import ANSWER, NamedAdvisor, advised
from kernelwright.jobs.loading import DERIVED, read_candidate, read_problem, require_qualified
from kernelwright.jobs.worker import Desk, Notify
from kernelwright.model import Candidate, CaseInfo, Loading, ProblemInfo
from kernelwright.report.tuning import progress_lines, tuning_text
from kernelwright.spaces import SAMPLERS, build_sampler
from kernelwright.spaces.protocol import Sampler, SamplerFactory
from kernelwright.spaces.recorded import Within, load, shipped
from kernelwright.spaces.space import Config, Parameter, Space, size
from kernelwright.spaces.stated import configs_from, found_space, stated_space
from kernelwright.tune import Device, LiveDevice, Outcome, ReplayedDevice, Settings, Tried
from kernelwright.tune import tune as search_configs

DEFAULT_TRIALS = 60
"""Where no limit is given: about a minute on a GPU, and a tenth or more of most spaces."""

DEFAULTS = Settings()

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Begin:
    """What a search begins with, beside the default config. imported: a history.csv or T4 file whose configs are tried
    first. advisor: asked once for configs to try first."""

    imported: str | Path | None = None
    advisor: NamedAdvisor | None = None


DEFAULT_ONLY = Begin()


@dataclass(frozen=True)
class TuneResult:
    """A finished tuning. folder: what it wrote. outcome: None where nothing was tried yet, because the folder waits for
    an advisor's answer."""

    folder: Path
    outcome: Outcome | None


def tune(
    problem: str | Path,
    candidate: str | Path | None = None,
    settings: Settings = DEFAULTS,
    begin: Begin = DEFAULT_ONLY,
    *,
    loading: Loading = DERIVED,
    space: str | Path | None = None,
    out: str | Path | None = None,
    desk: Desk,
) -> TuneResult:
    """Tune on a worker: configs are measured on its GPU, or estimated without one.

    candidate: a Python file, None for the problem's starter. settings: without a limit, `DEFAULT_TRIALS` trials; their
    dtype is that of `loading`. space: a file that states it; None: found in the source. out: the folder of the results,
    None for a new one under ./tuned.

    Raises `RequestError` and `ConfigError` for the request, `ProblemError` for the problem, `MachineError` where torch
    or Triton is missing.
    """
    settings = msgspec.structs.replace(checked(settings), dtype=loading.dtype)
    rows = imported_rows(begin.imported)
    found = read_problem(problem)
    if candidate is None and found.starter is None:
        raise RequestError(f"{found.name} has no starter.py beside it", "name the CANDIDATE to tune")
    source = read_candidate(candidate or str(found.starter)).source
    with desk.worker() as worker:
        info = worker.load(str(found.file), msgspec.structs.replace(loading, narrow=True))
        with ThreadPoolExecutor(1) as beside:  # the source compiles while the problem is judged
            compiled = beside.submit(worker.compile, Candidate(source=source), "tune")
            require_qualified(worker, problem, desk.notify, loading.unqualified)
        autotune, launched = compiled.result().autotune, {one.kernel for one in compiled.result().kernels}
        if space is None:
            stated = found_space(source, autotune, launched)
        else:
            stated = stated_space(Path(space), source, autotune)
        job = Tuning(info, source, stated, LiveDevice(worker, source, info), settings, begin, rows, out, desk.notify)
        return job.run(SAMPLERS[settings.sampler], worker.qualify().reason if loading.unqualified else "")


def replay(
    recorded: str | Path,
    settings: Settings = DEFAULTS,
    begin: Begin = DEFAULT_ONLY,
    *,
    problem: str | Path | None = None,
    candidate: str | Path | None = None,
    out: str | Path | None = None,
    notify: Notify,
) -> TuneResult:
    """Tune on a recorded space instead of measuring: no worker, no GPU, and every time is called replayed.

    recorded: a file, or the name of a space that ships with kernelwright. problem, candidate: None, or those of the
    record; others raise `RequestError`. The rest as for `tune`.
    """
    settings, rows = checked(settings), imported_rows(begin.imported)
    record = load(record_file(str(recorded)))
    if problem is not None and Path(problem).name != record.problem:
        raise RequestError(f"{recorded} is a record of {record.problem}, not of {problem}", "leave PROBLEM out")
    if candidate is not None and read_candidate(candidate).source != record.candidate:
        raise RequestError(f"{recorded} is a record of another source than {candidate}", "leave CANDIDATE out")
    if len(record.entries) < size(record.space):
        notify(f"{recorded} holds {len(record.entries)} of {size(record.space)} configs; no other is asked for")

    def within(space: Space, seed: int, first: tuple[Config, ...] = ()) -> Sampler:
        return Within(SAMPLERS[settings.sampler](space, seed, first=first), record)

    job = Tuning(
        record.problem, record.candidate, record.space, ReplayedDevice(record), settings, begin, rows, out, notify
    )
    return job.run(within)


def checked(settings: Settings) -> Settings:
    """The settings with a limit. Raises `ConfigError` for a sampler that does not exist or is not installed."""
    build_sampler(settings.sampler, Space(parameters=(Parameter(name="any", choices=(1,), default=1),)), 0)
    if settings.trials is None and settings.minutes is None and settings.sampler != "exhaustive":
        return msgspec.structs.replace(settings, trials=DEFAULT_TRIALS)
    return settings


@dataclass
class Tuning:
    """One tuning and the files that it leaves. rows: of the imported file, fastest first."""

    problem: ProblemInfo | str
    source: str
    space: Space
    device: Device
    settings: Settings
    begin: Begin
    rows: Rows
    out: str | Path | None
    notify: Notify
    tried: list[Tried] = field(default_factory=list)

    def run(self, sampler: SamplerFactory, unqualified: str = "") -> TuneResult:
        """Tune and write every file; on an interrupt or an error at least the history so far. unqualified: why the
        problem does not qualify."""
        imported = self._imported()
        folder = self._folder()
        advice = None
        if self.begin.advisor is not None:
            where = self.device.environment
            advice = advised(self.begin.advisor, folder, self.source, self.space, self.problem, where, self.notify)
            if advice is None:
                self.notify(f"waiting for {folder / ANSWER}: write it, then give the same command with --out {folder}")
                return TuneResult(folder, None)
        sandbox = self.device.environment.sandbox
        self.notify(f"results: {folder}; device: {self.device.name}" + f"; sandbox: {sandbox}" * bool(sandbox))
        try:
            outcome = search_configs(
                self.device,
                self.space,
                problem=self.problem,
                candidate=self.source,
                settings=self.settings,
                sampler=sampler,
                advice=advice,
                imported=imported,
                on_tried=self._on_tried,
                on_stage=self.notify,
                unqualified=unqualified,
            )
            self.tried = list(outcome.tried)  # A config that its confirmation refused is a failure in every file.
        finally:
            self._write_tried(folder)
        self._write_choices(folder, outcome)
        return TuneResult(folder, outcome)

    @property
    def name(self) -> str:
        return self.problem if isinstance(self.problem, str) else self.problem.name

    @property
    def cases(self) -> Sequence[CaseInfo]:
        return () if isinstance(self.problem, str) else self.problem.cases

    def _on_tried(self, tried: Tried) -> None:
        self.tried.append(tried)
        for line in progress_lines(self.tried, self.device.kind):
            self.notify(line)

    def _imported(self) -> list[Config]:
        """The imported configs that are in the space. A message tells how many are not."""
        rows = self.rows
        found, useless = configs_from(rows, self.space)
        if rows:
            left_out = f"; {useless} are none of this space" if useless else ""
            self.notify(f"{len(found)} imported configs are tried first{left_out}")
        return found

    def _folder(self) -> Path:
        if self.out is not None:
            folder = Path(self.out)
        else:
            folder = fresh_folder(Path("tuned"), f"{self.name}-{datetime.now(UTC):%Y%m%d-%H%M%S}")
        if folder.exists() and not folder.is_dir():
            raise RequestError(f"--out {folder} is a file; a folder was expected", "name a folder")
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _write_tried(self, folder: Path) -> None:
        text = history_text(self.tried, self.cases, self.device.kind, self.device.name, self.device.library)
        (folder / "history.csv").write_text(text, encoding="utf-8")
        document = t4_document(self.tried, self.device.kind, self.device.name, self.device.library)
        (folder / "t4.json").write_text(document_text(document) + "\n", encoding="utf-8")

    def _write_choices(self, folder: Path, outcome: Outcome) -> None:
        (folder / "report.txt").write_text(tuning_text(outcome) + "\n", encoding="utf-8")
        chosen = pinned(outcome)
        files = {
            "best_config.json": None if chosen is None else document_text(chosen) + "\n",
            "configs.py": None if chosen is None else triton_configs_text(chosen),
        }
        for name, text in files.items():
            if text is None:
                (folder / name).unlink(missing_ok=True)  # Left by an earlier tuning in this folder, and no longer true.
            else:
                (folder / name).write_text(text, encoding="utf-8")


def imported_rows(file: str | Path | None) -> Rows:
    """The rows of a history.csv or a T4 file (.json)."""
    if file is None:
        return []
    return t4_rows(Path(file)) if Path(file).suffix == ".json" else history_rows(Path(file))


def record_file(name: str) -> Path:
    """A file, or the record of this name that ships with kernelwright."""
    if Path(name).exists():
        return Path(name)
    found = shipped()
    if name not in found:
        raise RequestError(f"no recorded space at {name!r}", f"give a file, or one of {', '.join(found) or 'none'}")
    return found[name]
