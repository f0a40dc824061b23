"""kernelwright installed from its wheel into a new environment, outside the checkout, as a newcomer has it.

What it depends on is not downloaded again: the environment reads it from the tests' own site-packages. A `.pth` line
adds a folder to `sys.path` and nothing else, so the checkout's editable install there stays out of it. What the wheel
does not ask for is there, too, and is hidden.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]

EXTRAS = ("worker", "report", "mcp")
"""As `pip install 'kernelwright[worker,report,mcp]'`."""

HIDING = """
import sys

class Hiding:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {hidden}:
            raise ModuleNotFoundError(f"No module named {{name!r}}: the wheel does not ask for it", name=name)

sys.meta_path.insert(0, Hiding())
"""


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


def needed(name: str, extras: frozenset[str], found: set[tuple[str, frozenset[str]]], path: list[str]) -> None:
    """Add a distribution with its extras, and all that it asks for, to `found`. path: the folders that have them."""
    if (key := (canonicalize_name(name), extras)) in found:
        return
    found.add(key)
    asking = next(iter(metadata.distributions(name=name, path=path)), None)
    assert asking is not None, f"{name} is not installed: pip install -e '.[dev]'"
    for text in asking.requires or ():
        one = Requirement(text)
        if one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            needed(one.name, frozenset(one.extras), found, path)


def undeclared(site: Path, there: str, besides: tuple[str, ...]) -> set[str]:
    """The modules in the folder `there` that neither the wheel in `site` asks for, nor one of `besides`."""
    found: set[tuple[str, frozenset[str]]] = set()
    for name, extras in (("kernelwright", frozenset(EXTRAS)), *((one, frozenset[str]()) for one in besides)):
        needed(name, extras, found, [str(site), there])
    wanted = {name for name, _ in found}
    shown, hidden = set[str](), set[str]()
    for one in metadata.distributions(path=[there]):
        modules = {file.parts[0].partition(".")[0] for file in one.files or () if file.suffix in (".py", ".so")}
        (shown if canonicalize_name(one.name) in wanted else hidden).update(modules)
    return hidden - shown


def install(wheel: Path, folder: Path, besides: tuple[str, ...] = ()) -> Fresh:
    """A new environment in `folder` with the wheel, and beside it an empty folder to work in. besides: distributions
    that a user has installed for other reasons."""
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
    there = sysconfig.get_path("purelib")
    (site / "hiding.py").write_text(HIDING.format(hidden=undeclared(site, there, besides)))
    (site / "dependencies.pth").write_text(f"import hiding\n{there}\n")
    return Fresh(home, python, wheel)
