"""A module of a package, run in a new process."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelwright.python import run_module

pytestmark = pytest.mark.process

MODULE = """
import os, sys
print("out", *sys.argv[1:])
os.write(2, b"err \\xff\\n")
sys.exit(3)
"""

ENDLESS = """
import time
while True:
    print("at work")
    time.sleep(0.01)
"""


def package(folder: Path, text: str) -> Path:
    (folder / "mine").mkdir()
    (folder / "mine" / "__init__.py").touch()
    (folder / "mine" / "check.py").write_text(text)
    return folder


def test_every_line_of_both_streams_goes_to_notify_and_nothing_is_printed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    lines: list[str] = []
    assert run_module(package(tmp_path, MODULE), "mine.check", ["--write"], lines.append) == 3
    assert lines == ["out --write", "err \ufffd"]
    assert capfd.readouterr() == ("", "")


def test_the_process_is_killed_where_notify_raises(tmp_path: Path) -> None:
    def interrupted(line: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_module(package(tmp_path, ENDLESS), "mine.check", [], interrupted)
