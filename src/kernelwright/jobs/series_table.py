"""The table of a search over several problems, read from its runs and written into its folder as text and as a page."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from kernelwright.errors import RunFolderError
from kernelwright.folders import write_file
from kernelwright.jobs.series_state import Ended, Series
from kernelwright.journal import NAME, Journal
from kernelwright.report.files import PAGE
from kernelwright.report.framework import side_report
from kernelwright.report.several import TABLE, TABLE_PAGE, Line, line_of, several_page, several_text
from kernelwright.report.state import State
from kernelwright.report.view import read_run
from kernelwright.text.escape import legible


@dataclass
class Table:
    """A run's journal is read again only after `changed`. has_device: None where no run was begun."""

    folder: Path
    has_device: bool | None = None
    _known: dict[str, Line] = field(default_factory=dict)

    def changed(self, name: str) -> None:
        """Note that the run of this name has new events."""
        self._known.pop(name, None)

    def lines(self, series: Series) -> tuple[Line, ...]:
        """A row a problem, in their order."""
        return tuple(self._line(one.name, series) for one in series.problems)

    def write(self, series: Series) -> None:
        """Write table.txt and table.html."""
        lines = self.lines(series)
        pages = {line.name for line in lines if (self.folder / line.name / PAGE).is_file()}
        page = several_page(self.folder.name or "several problems", lines, pages, self.has_device)
        write_file(self.folder, TABLE, legible(several_text(lines, self.has_device)) + "\n")
        write_file(self.folder, TABLE_PAGE, page)

    def _line(self, name: str, series: Series) -> Line:
        ended = series.ended.get(name, Ended(state=State.NOT_BEGUN, reason=""))
        if name in self._known:
            return self._known[name]
        if not (self.folder / name / NAME).exists():
            return Line(name=name, state=ended.state, reason=ended.reason)
        try:
            self._known[name] = self._read(name, ended.reason)
        except RunFolderError as error:
            return Line(name=name, state=State.NOT_JUDGED, reason=str(error))
        return self._known[name]

    def _read(self, name: str, reason: str) -> Line:
        with Journal.open(self.folder / name) as journal:
            view = read_run(journal)
            self.has_device = view.info.environment.device is not None
            return line_of(name, view, side_report(view), reason)
