"""A newcomer's walk on a machine without a GPU: search, report, export, install, import and call; nothing faked.

The commands are those of the README and of docs/export.md. Installed is into a folder, by the build tools that are
here, so that the walk takes no network. The rule: each step uses only what the step before has left.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the worker needs torch: pip install -e '.[worker]'")
pytest.importorskip("triton", reason="the worker needs Triton: pip install -e '.[worker]'")
pytest.importorskip("hatchling", reason="building a package without network needs hatchling: pip install -e '.[dev]'")

pytestmark = pytest.mark.timeout(3600)

GALLERY = Path(__file__).parent.parent.parent / "gallery"
FEWER = '\nCASES = [case for case in CASES if case["cols"] in (70, 256, 1000, 2048)]\n'
"""Six of the 35 cases of softmax: timed, held out and small ones. Compiling for longer rows takes longest."""


class Walker:
    """Calls commands in one folder. site: where packages are installed."""

    def __init__(self, home: Path) -> None:
        self.home, self.site = home, home / "site"

    def __call__(self, *words: str, installed: bool = False) -> str:
        known = [os.environ["PYTHONPATH"]] if "PYTHONPATH" in os.environ else []
        path = os.pathsep.join([*([str(self.site)] if installed else []), *known])
        done = subprocess.run(
            [sys.executable, *words], cwd=self.home, capture_output=True, text=True, check=False,
            env={**os.environ, "PYTHONPATH": path, "CUDA_VISIBLE_DEVICES": "", "NO_COLOR": "1"},
        )  # fmt: skip
        assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout}\n{done.stderr}"
        return done.stdout


@pytest.fixture(scope="module")
def walker(tmp_path_factory: pytest.TempPathFactory) -> Walker:
    home = tmp_path_factory.mktemp("walk")
    shutil.copytree(GALLERY / "softmax", home / "gallery" / "softmax")
    with (home / "gallery" / "softmax" / "problem.py").open("a", encoding="utf-8") as problem:
        problem.write(FEWER)
    walker = Walker(home)
    walker("-m", "kernelwright", "optimize", "softmax", "--trials", "2", "--out", "runs/first")
    return walker


def test_a_run_is_reported(walker: Walker) -> None:
    report = walker("-m", "kernelwright", "report", "runs/first", "--format", "text")
    assert report.startswith("softmax: report of first")
    assert (walker.home / "runs" / "first" / "best_kernel.py").is_file()


def test_its_kernel_is_exported_installed_and_called(walker: Walker) -> None:
    document = json.loads(walker("-m", "kernelwright", "export", "runs/first", "--json"))
    assert document["check"] is True
    folder = str(document["folder"])
    walker("-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index",
           "--disable-pip-version-check", "--target", str(walker.site), folder)  # fmt: skip
    called = walker(
        "-c",
        "import torch, fast_softmax; x = torch.randn(7, 33); y = fast_softmax.softmax(x); "
        "assert torch.equal(y, torch.softmax(x, -1)); print(fast_softmax.__file__)",
        installed=True,
    )
    assert called.startswith(str(walker.site))
    assert "ok      the operator keeps the rules" in walker("-m", "fast_softmax.check", installed=True)
    again = json.loads(walker("-m", "kernelwright", "recheck", str(walker.site / "fast_softmax"), "--json"))
    assert (again["right"], again["faster"], again["edited"]) == (True, None, [])
