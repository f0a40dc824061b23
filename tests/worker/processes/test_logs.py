"""Logs are shortened while they are written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelwright.worker.processes.scratch import KEPT_BYTES, LONGEST_BYTES, look


def test_a_long_log_keeps_its_end_and_a_short_one_everything(tmp_path: Path) -> None:
    (tmp_path / "child").mkdir()
    long, short = tmp_path / "child" / "long.log", tmp_path / "short.log"
    with long.open("wb") as file:
        file.truncate(LONGEST_BYTES + 1)
        file.seek(0, 2)
        file.write(b"the end")
    short.write_bytes(b"all of it")
    look(tmp_path)
    assert long.read_bytes().endswith(b"the end")
    assert long.stat().st_size < KEPT_BYTES + 100
    assert short.read_bytes() == b"all of it"


def test_a_folder_that_is_removed_while_it_is_read_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As pathlib of Python 3.11 does it: the child of an ended evaluation takes its folder along."""

    def glob(folder: Path, pattern: str) -> Iterator[Path]:
        raise FileNotFoundError(folder / "recorder_80")

    monkeypatch.setattr(Path, "glob", glob)
    look(tmp_path)
