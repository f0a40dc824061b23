"""Odd files, options and variables end in one line with status 2, at once: no traceback, no wait, no key."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import proposing
from command_line import PROBLEM, fault, run
from kernelwright.textfile import LARGEST_BYTES, parse_json, read_text


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("double").mkdir()
    Path("double/problem.py").write_text(PROBLEM)
    Path("double/starter.py").write_text(proposing.KERNEL)
    os.mkfifo("fifo")
    os.mkfifo("fifo.json")
    Path("deep.toml").write_text("option = " + "[" * 5000 + "]" * 5000)
    Path("deep.json").write_text("[" * 100_000)
    with Path("huge").open("wb") as file:
        file.truncate(LARGEST_BYTES + 1)


@pytest.mark.parametrize("file", ["fifo", "/dev/zero", "huge", ".", "deep.toml"])
@pytest.mark.parametrize(
    "words",
    [
        ("optimize", "--settings"),
        ("tune", "double", "--space"),
        ("optimize", "double", "--proposer", "script", "--proposer-option"),
    ],
)
def test_a_file_that_cannot_be_read_out_or_is_too_deep_is_refused(words: tuple[str, ...], file: str) -> None:
    given = f"file={file}" if words[-1] == "--proposer-option" else file
    assert Path(file).name in fault(run(*words, given)) or file == "."


def test_deep_json_is_refused_wherever_it_is_read() -> None:
    assert "deep" in fault(run("verify", "double", "double/starter.py", "--config", "deep.json"))
    assert "deep" in fault(run("tune", "double", "--import", "deep.json"))
    assert "fifo.json" in fault(run("tune", "double", "--import", "fifo.json"))


@pytest.mark.parametrize(
    "option", ["width", "expand", "islands", "children", "size", "ahead", "seeds", "repairs", "tuning", "patience"]
)
@pytest.mark.parametrize("strategy", ["beam", "evolve", "random", "greedy"])
def test_a_number_without_measure_does_not_plan_for_ever(strategy: str, option: str) -> None:
    words = ("optimize", "double", "--strategy", strategy, "--trials", "2", "--out", "run")
    result = run(*words, "--option", f"{option}=99999999999999999999")
    assert result.exit_code in (0, 2), result.stderr
    assert "Traceback" not in result.output


def test_what_is_not_utf_8_is_refused_before_anything_is_written() -> None:
    result = run("optimize", "double", "--out", "\udcff", "--trials", "2")
    assert result.exit_code == 2
    assert "is not text in UTF-8" in result.stderr
    assert not Path("\udcff").exists()


@pytest.mark.parametrize("backend", ["nonsense", "", "module://nowhere", "tkagg"])
def test_no_backend_of_matplotlib_is_asked_for(backend: str) -> None:
    """In a process of its own: matplotlib reads the variable when it is first imported."""
    pytest.importorskip("matplotlib")
    program = (
        "from command_line import run\n"
        "result = run('optimize', 'double', '--trials', '2', '--out', 'run')\n"
        "raise SystemExit(result.exit_code if result.exception is None else repr(result.exception))\n"
    )
    environment = {**os.environ, "MPLBACKEND": backend, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert Path("run/plots/convergence.svg").exists()


def test_a_text_file_is_a_regular_file_of_a_sane_size(tmp_path: Path) -> None:
    Path("marked").write_bytes(b"\xef\xbb\xbftext")
    assert read_text(Path("marked")) == "text"
    for odd in ("fifo", "/dev/zero", "huge", "nowhere", "."):
        with pytest.raises(OSError, match=r".+"):
            read_text(Path(odd))
    with pytest.raises(ValueError, match="deep"):
        parse_json("[" * 100_000)
