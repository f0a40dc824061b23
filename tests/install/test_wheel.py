"""The wheel, installed into a new environment outside the checkout: what a user of `pip install kernelwright` has."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from fresh import ROOT, Fresh, build_wheel, install

pytest.importorskip("torch", reason="the worker needs torch: pip install -e '.[worker]'")
pytest.importorskip("triton", reason="the worker needs Triton: pip install -e '.[worker]'")
pytest.importorskip("hatchling", reason="building the wheel needs hatchling: pip install -e '.[dev]'")

pytestmark = [pytest.mark.process, pytest.mark.timeout(3600)]


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Fresh:
    folder = tmp_path_factory.mktemp("fresh")
    return install(build_wheel(folder), folder)


def test_its_metadata_is_as_an_index_wants_it(fresh: Fresh) -> None:
    pytest.importorskip("twine", reason="checking metadata needs twine: pip install -e '.[dev]'")
    done = subprocess.run(
        [sys.executable, "-m", "twine", "check", "--strict", str(fresh.wheel)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_it_holds_every_problem_of_the_gallery_with_its_kernels_results_and_runs(fresh: Fresh) -> None:
    with zipfile.ZipFile(fresh.wheel) as wheel:
        held = {name.removeprefix("kernelwright/") for name in wheel.namelist()}
    wanted = {
        str(file.relative_to(ROOT))
        for pattern in ("*/*.py", "*/results/*.json", "*/runs/*/journal.db", "*/runs/*/problem/**/*.py")
        for file in (ROOT / "gallery").glob(pattern)
    }
    assert wanted - held == set()
    assert len(wanted) > 50
    assert not [name for name in held if name.startswith("gallery") and name.endswith(".svg")]


def test_it_is_the_installed_package_that_runs_and_not_the_checkout(fresh: Fresh) -> None:
    place = Path(fresh("python", "-c", "import kernelwright; print(kernelwright.__file__)").stdout.strip())
    assert place.is_relative_to(fresh.python.parents[1])


def test_nothing_is_there_that_the_wheel_does_not_ask_for(fresh: Fresh) -> None:
    """Hence every other test here finds an import that pyproject.toml leaves out."""
    assert "the wheel does not ask for it" in fresh("python", "-c", "import pytest", status=1).stderr
    assert "the wheel does not ask for it" in fresh("python", "-c", "import nbclient", status=1).stderr
    fresh("python", "-c", "import torch, triton, numpy, rich, jinja2, matplotlib, mcp.server")


def test_a_problem_is_optimized_by_its_name_outside_the_checkout(fresh: Fresh) -> None:
    fresh("kernelwright", "optimize", "softmax", "--trials", "1", "--out", "runs/first")
    assert "def " in (fresh.home / "runs/first/best_kernel.py").read_text()
    assert fresh("kernelwright", "report", "runs/first").stdout.startswith("softmax: report of first")


def test_the_gallery_is_listed_and_a_recorded_run_reported(fresh: Fresh) -> None:
    lines = {line["name"]: line for line in json.loads(fresh("kernelwright", "gallery", "--json").stdout)}
    assert Path(lines["softmax"]["file"]).is_relative_to(fresh.python.parents[1])
    [run] = lines["max_pool3d"]["runs"]
    assert fresh("kernelwright", "report", run).stdout.startswith("max_pool3d: report of mailbox")


def test_the_command_completes_in_a_shell(fresh: Fresh) -> None:
    script = fresh("kernelwright", _KERNELWRIGHT_COMPLETE="bash_source").stdout
    assert "complete -o nosort -F _kernelwright_completion kernelwright" in script
    found = fresh(
        "kernelwright", _KERNELWRIGHT_COMPLETE="bash_complete", COMP_WORDS="kernelwright bench sof", COMP_CWORD="2"
    )
    assert found.stdout.split() == ["plain,softmax"]
