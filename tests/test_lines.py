"""The count of lines that `make test` prints, and its limit."""

from __future__ import annotations

from pathlib import Path

import pytest

from lines import main


@pytest.mark.parametrize(("lines", "status"), [(103, 0), (104, 1)])
def test_src_may_grow_by_three_percent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], lines: int, status: int
) -> None:
    for name, count in (("src/part/one.py", lines), ("tests/test_one.py", 7), ("tests/wrong/test_two.py", 50)):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("\n" * count)
    (tmp_path / "src" / "data.json").write_text("\n" * 1000)
    assert main(tmp_path, 100) == status
    said = capsys.readouterr()
    assert f"src {lines} (at most 103), tests 7 without" in said.out
    assert ("grown by more than 3%" in said.err) == bool(status)
