"""Lists of published kernels: a folder with `kernels/`, one TOML file for each project, and `problems/`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
LABELS = ("honest", "wrong", "not expressible")


@dataclass(frozen=True)
class Project:
    """Where kernels come from. source: a GitHub repository, or a wheel's file name. instead: dotted names of the
    project's own helpers, with what stands for each in a candidate ("" leaves a decorator or a call out). decided:
    module-level tests, as `ast.unparse` writes them, and what they give on an NVIDIA GPU."""

    name: str
    source: str
    commit: str
    root: str = ""
    instead: dict[str, str] = field(default_factory=dict)
    decided: dict[str, bool] = field(default_factory=dict)


@dataclass(frozen=True)
class Kernel:
    """One published kernel. entry: the function or class that people call. adapter: our `kernel_function`. label:
    given before the first run, with its reason. relabelled: why it was changed after that, "" where it was not. folder:
    the list that it is from."""

    name: str
    project: Project
    path: str
    entry: str
    problem: str
    label: str
    reason: str
    adapter: str
    relabelled: str = ""
    folder: Path = HERE

    @property
    def problem_file(self) -> Path:
        return self.folder / "problems" / f"{self.problem}.py"


def kernels(folder: Path = HERE) -> list[Kernel]:
    """All kernels of the list in `folder`, by project."""
    found = []
    for file in sorted((folder / "kernels").glob("*.toml")):
        table = tomllib.loads(file.read_text(encoding="utf-8"))
        project = Project(name=file.stem, **table["project"])
        for entry in table["kernel"]:
            entry = {"label": "honest", **entry, "name": f"{file.stem}.{entry['name']}"}
            assert entry["label"] in LABELS, entry["name"]
            found.append(Kernel(project=project, folder=folder, **entry))
    return found
