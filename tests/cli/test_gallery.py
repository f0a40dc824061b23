"""`gallery`: the problems that come with kernelwright."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import PROBLEM, run
from kernelwright.codec import decode
from kernelwright.model import BenchReport

GALLERY = Path(__file__).parents[2] / "gallery"


def test_every_problem_is_listed_with_what_it_computes() -> None:
    result = run("gallery")
    assert result.exit_code == 0
    for folder in (file.parent.name for file in GALLERY.glob("*/problem.py")):
        assert f"\n{folder} " in result.stdout
    assert "Softmax over the last dimension" in result.stdout


def test_the_figures_are_those_of_the_recorded_bench() -> None:
    lines = {line["name"]: line for line in json.loads(run("gallery", "--json").stdout)}
    report = decode((GALLERY / "max_pool3d/results/nvidia-h200.json").read_bytes(), BenchReport)
    [case] = [case for case in report.cases if not case.held_out]
    [best] = [row for row in case.implementations if row.name == "best"]
    assert lines["max_pool3d"]["ratio"] == pytest.approx(best.speedup)
    assert lines["max_pool3d"]["share"] == pytest.approx(best.fraction_of_bound)
    assert lines["swiglu_backward"]["ratio"] is None


def test_a_gallery_beside_the_user_is_listed_too_and_its_problem_wins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("mine", "softmax"):
        Path("gallery", name).mkdir(parents=True)
        Path("gallery", name, "problem.py").write_text(PROBLEM)
    lines = {line["name"]: line for line in json.loads(run("gallery", "--json").stdout)}
    assert lines["mine"]["best"] is False
    assert lines["softmax"]["file"] == str(tmp_path / "gallery/softmax/problem.py")
    assert Path(lines["matmul"]["file"]) == GALLERY / "matmul/problem.py"
