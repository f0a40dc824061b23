"""kernelwright installed from its wheel into a new environment, outside the checkout, as a newcomer has it.

What it depends on is not downloaded again: the environment reads it from the tests' own site-packages. A `.pth` line
adds a folder to `sys.path` and nothing else, so the checkout's editable install there stays out of it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Fresh:
    """home: where commands are called. python: of the new environment. wheel: what was installed."""

    home: Path
    python: Path
    wheel: Path

    def __call__(self, *words: str, status: int = 0, **environment: str) -> subprocess.CompletedProcess[str]:
        """A program of the environment and its arguments, without a GPU; fails the test for another exit status."""
        program = self.python.with_name(words[0])
        done = subprocess.run(
            [str(program), *words[1:]], cwd=self.home, capture_output=True, text=True, check=False,
            env=self.environment() | environment,
        )  # fmt: skip
        assert done.returncode == status, f"{' '.join(words)}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def environment(self) -> dict[str, str]:
        """Variables of a shell in which the environment is active."""
        kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
        path = os.pathsep.join([str(self.python.parent), kept.get("PATH", "")])
        return kept | {"PATH": path, "CUDA_VISIBLE_DEVICES": "", "NO_COLOR": "1"}


def build_wheel(folder: Path) -> Path:
    """The wheel of the checkout, by the build tool that is installed."""
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    [wheel] = folder.glob("*.whl")
    return wheel


def install(wheel: Path, folder: Path) -> Fresh:
    """A new environment in `folder` with the wheel, and beside it an empty folder to work in."""
    place, home = folder / "environment", folder / "home"
    home.mkdir()
    venv.create(place, with_pip=False, symlinks=True)
    python = place / "bin" / "python"
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", "--no-index",
         "--disable-pip-version-check", str(wheel)],
        check=True, capture_output=True,
    )  # fmt: skip
    site = Path(sysconfig.get_path("purelib", vars={"base": str(place), "platbase": str(place)}))
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return Fresh(home, python, wheel)
