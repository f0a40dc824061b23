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
from on_device import needs_device

pytestmark = needs_device()


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


@pytest.mark.timeout(600)
def test_a_shape_first_met_in_a_capture_is_pytorchs_and_the_kernels_later(tmp_path: Path) -> None:
    words = ["export", str(GALLERY / "softmax" / "best.py"), "--problem", str(GALLERY / "softmax"), "--no-measure"]
    subprocess.run([sys.executable, "-m", "kernelwright", *words, "--out", str(tmp_path / "out")], check=True)
    home = tmp_path / "out"
    # large enough that a busy machine, whose calls take longer, changes nothing
    (home / "use.py").write_text(CAPTURE)
    asked = [sys.executable, "-m", "fast_softmax.benchmark", "--write", "--no-cases", "--no-compile"]
    more = ["--vary=rows=16384", "--vary=cols=4096", "--dtypes=float32"]
    subprocess.run([*asked, *more], cwd=home, check=True)
    done = subprocess.run([sys.executable, "use.py"], cwd=home, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["True", "False", "True", "True"], done.stderr


CAPTURE = """
import torch, fast_softmax

m, x = fast_softmax.Module(), torch.randn(16384, 4096, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.no_grad():
    torch.softmax(x, -1)
    with torch.cuda.graph(graph):
        y = m(x)
    graph.replay()
    torch.cuda.synchronize()
    print(torch.allclose(y, torch.softmax(x, -1)), bool(m.fast_state.known))
    print(torch.allclose(m(x), torch.softmax(x, -1)), any(m.fast_state.known.values()))
"""
