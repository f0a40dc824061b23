"""The Dockerfile against the files of this checkout: what can be known without building the image."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from kernelwright.cli.main import VERBS

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "Dockerfile").read_text()


def instructions(name: str) -> list[str]:
    """What follows each instruction of that name; lines that go on are one."""
    return re.findall(rf"^{name} (.*)$", TEXT.replace("\\\n", " "), re.M)


def project() -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
    return found


def is_ignored(path: str) -> bool:
    patterns = (ROOT / ".dockerignore").read_text().split()
    return any(fnmatch(part, pattern.removeprefix("**/")) for pattern in patterns for part in Path(path).parts)


def installed() -> list[str]:
    """What `pip install` is given."""
    words = [shlex.split(line) for line in instructions("RUN") if line.startswith("pip install")]
    return [word for line in words for word in line[2:] if not word.startswith("-")]


def test_what_is_copied_is_there_and_holds_all_that_the_wheel_is_built_from() -> None:
    own = project()
    sources = [word for line in instructions("COPY") for word in line.split()[:-1]]
    assert sources
    assert all((ROOT / source).exists() for source in sources)
    wheel = own["tool"]["hatch"]["build"]["targets"]
    needed = ["pyproject.toml", own["project"]["readme"], "LICENSE"]
    needed += [path for target in wheel.values() for path in target.get("only-include", target.get("packages", []))]
    for path in needed:
        assert (ROOT / path).exists(), path
        assert not is_ignored(path), f".dockerignore leaves {path} out"


def test_torch_and_triton_are_those_of_the_measurements_and_are_supported() -> None:
    measured = re.search(r"torch ([\d.]+)\+\w+, Triton ([\d.]+\d)", (ROOT / "docs/gallery.md").read_text())
    assert measured is not None
    pinned = dict(word.split("==") for word in installed() if "==" in word)
    assert pinned == {"torch": measured[1], "triton": measured[2]}
    worker = [Requirement(text) for text in project()["project"]["optional-dependencies"]["worker"]]
    supported = {one.name: one.specifier for one in worker}
    assert all(supported[name].contains(version) for name, version in pinned.items())


def test_python_and_the_extras_are_the_project_s() -> None:
    own = project()["project"]
    (image,) = instructions("FROM")
    python = re.fullmatch(r"python:(3\.\d+)-[\w-]+", image)
    assert python is not None
    assert SpecifierSet(own["requires-python"]).contains(f"{python[1]}.0")
    assert f"Programming Language :: Python :: {python[1]}" in own["classifiers"]
    (target,) = [word for word in installed() if word.startswith("/")]
    folder, _, extras = target.rstrip("]").partition("[")
    assert folder in {line.split()[-1] for line in instructions("COPY")}
    assert set(extras.split(",")) <= own["optional-dependencies"].keys()


def test_what_the_image_runs_is_a_command_and_its_examples_are_verbs() -> None:
    (entry,) = instructions("ENTRYPOINT")
    assert json.loads(entry)[0] in project()["project"]["scripts"]
    examples = re.findall(r"^#\s+docker run .* kernelwright (\S+)", TEXT, re.M)
    assert examples
    assert set(examples) <= set(VERBS)
