"""Candidates read from files."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelwright.errors import RequestError
from kernelwright.jobs.candidates import read_candidate
from samples import BLOCK, SOURCE


def test_a_config_is_part_of_the_candidate_where_the_source_has_its_tunables(tmp_path: Path) -> None:
    file = tmp_path / "kernel.py"
    file.write_text(SOURCE)
    assert read_candidate(file, {BLOCK: 256}).config == {BLOCK: 256}
    assert read_candidate(str(file)).config == {}
    with pytest.raises(RequestError, match="this source has no tunable 'NOPE'"):
        read_candidate(file, {"NOPE": 3})


def test_source_that_does_not_parse_is_read_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text("def (:\n")
    assert read_candidate(tmp_path / "kernel.py").source == "def (:\n"


def test_a_byte_order_mark_is_no_part_of_the_source(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text("x = 1\n", encoding="utf-8-sig")
    assert read_candidate(tmp_path / "kernel.py").source == "x = 1\n"


def test_a_file_that_is_missing_or_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="no candidate file at"):
        read_candidate(tmp_path / "gone.py")
    (tmp_path / "kernel.py").write_bytes(b"\xff\xfe")
    with pytest.raises(RequestError, match="UTF-8"):
        read_candidate(tmp_path / "kernel.py")
