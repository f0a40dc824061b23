"""The script that tries the newest torch and Triton: what it runs exists, and a step that fails is shown."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import newest

pytestmark = pytest.mark.process


def test_every_step_names_files_that_exist(tmp_path: Path) -> None:
    steps = newest.steps(tmp_path)
    assert len(steps) == 2 + len(newest.GALLERY)
    assert "class Model" in (tmp_path / "layer.py").read_text()
    files = [Path(one) for arguments in steps.values() for one in arguments if one.startswith("/")]
    assert len(files) >= 2 * len(newest.GALLERY)
    assert [one for one in files if not one.exists()] == []


def test_a_step_that_fails_is_told_with_its_error(tmp_path: Path) -> None:
    steps = {
        "good": ("-c", "print('round 1\\nbest: round 1, 3 us\\n\\nnext:')"),
        "bad": ("-c", "import sys; print('a line'); sys.exit('error: a step of the host code: new(arg0_1)')"),
        "odd": ("-c", "raise ValueError('of its own')"),
    }
    assert list(newest.tried(sys.executable, steps, tmp_path)) == [
        ("good", 0, "best: round 1, 3 us"),
        ("bad", 1, "error: a step of the host code: new(arg0_1)"),
        ("odd", 1, "ValueError: of its own"),
    ]


def test_the_exit_status_says_whether_all_passed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(newest, "VERSIONS", "print(3, 11, '2.14.1', '3.8.0')")
    for code, status in (("pass", 0), ("raise SystemExit(1)", 1)):
        monkeypatch.setattr(newest, "steps", lambda folder, code=code: {"a step": ("-c", code)})
        assert newest.main([sys.executable]) == status
        printed = capsys.readouterr().out
        assert "Python 3.11, torch 2.14.1, Triton 3.8.0" in printed
        assert ("passed" if status == 0 else "FAILED") in printed


def test_for_versions_each_torch_is_recorded_and_only_the_generators_tests_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    recorded: list[tuple[str, str]] = []
    monkeypatch.setattr(newest, "VERSIONS", "print(3, 11, '2.14.1', '3.8.0')")
    monkeypatch.setattr(newest, "record", lambda python, torch: recorded.append((python, torch)))
    both = {"another step": ("-c", "raise SystemExit(1)"), newest.OF_GENERATOR: ("-c", "pass")}
    monkeypatch.setattr(newest, "steps", lambda folder: both)
    assert newest.main(["--versions", sys.executable]) == 0
    assert recorded == [(sys.executable, "2.14.1")]
    assert "another step" not in capsys.readouterr().out
