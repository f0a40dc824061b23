"""Writes a kernel out for use elsewhere: as a package, or in another project's format."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kernelwright.errors import MachineError, RequestError
from kernelwright.export.exporters import EXPORTERS
from kernelwright.export.names import unfit
from kernelwright.export.subject import Subject
from kernelwright.folders import require_empty
from kernelwright.jobs.exportable import PACKAGE as PACKAGE
from kernelwright.jobs.exportable import ExportSource, WrongCandidateError, read_subject
from kernelwright.jobs.worker import Desk, Notify
from kernelwright.python import run_module
from kernelwright.report.evaluation import library_text


@dataclass(frozen=True)
class Exported:
    """What was written. folder: None where nothing was, because the candidate is not right: `reason` says why. files:
    paths below the folder, sorted. package: its name in Python. checked: whether a package passed its own check; None
    for other formats. has_figures: whether a package knows a device on which the kernel was timed; on any other
    PyTorch serves. library: the mode that the kernel was judged in, and the library steps of a call."""

    format: str
    folder: Path | None = None
    files: tuple[str, ...] = ()
    package: str = ""
    checked: bool | None = None
    has_figures: bool = False
    reason: str = ""
    library: str = ""

    def document(self) -> dict[str, Any]:
        """What `export --json` prints."""
        if self.folder is None:
            return {"folder": None, "reason": self.reason}
        found = {"folder": str(self.folder), "format": self.format, "files": self.files}
        return {**found, "check": self.checked, "library": self.library}


def export(
    source: ExportSource,
    *,
    desk: Desk,
    format: str = PACKAGE,
    out: str | Path | None = None,
    measure: bool | None = None,
    vary: Sequence[str] = (),
    dtypes: str | None = None,
) -> Exported:
    """Write a kernel out in a format of `EXPORTERS`.

    out: the folder to write, new or empty; None for exports/PROBLEM-FORMAT. measure: whether to time a package here;
    None: where there is a GPU. vary, dtypes: sizes to time too, as the package's benchmark takes them. Raises
    `RequestError` for what cannot be exported, `MachineError` where it cannot be verified here.
    """
    exporter = EXPORTERS.get(format)
    if exporter is None:
        raise RequestError(f"there is no format {format!r}", f"choose one of {', '.join(EXPORTERS)}")
    if source.name is not None and (why := unfit(source.name)):
        raise RequestError(
            f"{source.name!r} cannot be a package's name: {why}",
            "use letters a to z, digits and _, beginning with a letter",
        )
    try:
        subject = read_subject(source, desk)
    except WrongCandidateError as error:
        return Exported(format=format, reason=str(error))
    if exporter.of_run and subject.run is None:
        raise RequestError(f"format {format} is of a run, and {source.what} is a candidate", "give a run's folder")
    folder = Path(out) if out is not None else Path("exports") / f"{subject.problem.name}-{format}"
    require_empty(folder)
    measures = format == PACKAGE and (subject.environment.device is not None if measure is None else measure)
    files = exporter.files(replace(subject, measures=measures))
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content.encode() if isinstance(content, str) else content)
    exported = Exported(
        format=format, folder=folder, files=tuple(sorted(files)), package=subject.package,
        library=library_text(subject.evaluation),
    )  # fmt: skip
    if format != PACKAGE:
        return exported
    if measures:
        sizes = [*(f"--vary={one}" for one in vary), *([f"--dtypes={dtypes}"] if dtypes else [])]
        measure_package(folder, subject, sizes, desk.notify)
    checked = run_module(folder, f"{subject.package}.check", [], desk.notify) == 0
    return replace(exported, checked=checked, has_figures=has_figures(folder, subject))


def measure_package(folder: Path, subject: Subject, sizes: list[str], notify: Notify) -> None:
    """Have the package time itself and keep the figures."""
    notify("timing the package against PyTorch")
    if run_module(folder, f"{subject.package}.benchmark", ["--write", *sizes], notify) != 0:
        raise MachineError(f"the benchmark of {folder} failed", "see its messages above; --no-measure leaves it out")


def has_figures(folder: Path, subject: Subject) -> bool:
    """Whether the package knows a device on which the kernel was timed."""
    wins = json.loads((folder / subject.package / "wins.json").read_text(encoding="utf-8"))
    return wins["device"] is not None
