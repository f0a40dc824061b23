"""The files of a run's folder that people read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec

from kernelwright.report.files import write_views
from kernelwright.text.escape import acting
from samples import passed, run_view, short_run


def test_the_files_that_people_read_in_a_terminal_cannot_act_on_it(tmp_path: Path) -> None:
    seed, *others = short_run()
    hidden = [
        msgspec.structs.replace(one, proposal=msgspec.structs.replace(one.proposal, note="wider \x1b[2J rows"))
        for one in others
    ]
    view = replace(run_view((seed, *hidden), {4: passed(26.0)}), folder=tmp_path)
    write_views(view)
    for name in ("report.txt", "EVOLUTION_LOG.md", "best_kernel.py"):
        assert acting((tmp_path / name).read_text()) is None, name
    assert "wider \\x1b[2J rows" in (tmp_path / "EVOLUTION_LOG.md").read_text()
