"""What only a device can show of an exported package: that it measures itself, and holds in a CUDA graph and compiled.

Run by hand on a machine with one: `pytest -m gpu`. The rule: the package's own checks are the test, in their process.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from exported import GALLERY


def has_device() -> bool:
    asked = "import torch, sys; sys.exit(0 if torch.cuda.is_available() else 1)"
    return subprocess.run([sys.executable, "-c", asked], capture_output=True).returncode == 0


pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not has_device(), reason="torch finds no CUDA device here")]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", ["softmax", "rmsnorm"])
def test_an_export_measures_itself_and_its_kernel_holds_in_graphs(name: str, tmp_path: Path) -> None:
    words = [
        "export",
        str(GALLERY / name / "best.py"),
        "--problem",
        str(GALLERY / name),
        "--out",
        str(tmp_path / "out"),
    ]
    done = subprocess.run(
        [sys.executable, "-m", "kernelwright", *words], capture_output=True, text=True, check=False, timeout=580
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "FAILED" not in done.stderr
    assert "ok      the kernel is right in a cuda graph" in done.stderr
    assert "ok      the kernel is right when compiled" in done.stderr
    wins = json.loads((tmp_path / "out" / f"fast_{name}" / "wins.json").read_text())
    assert wins["source"] == "measured through this package"
    assert any(case["why"]["eager"] == "faster" for case in wins["cases"])
    assert all({"call_us", "stream_us"} <= case["kernel"].keys() for case in wins["cases"] if "kernel" in case)
