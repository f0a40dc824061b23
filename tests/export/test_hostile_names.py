"""A name is never code: a file with a hostile name in it differs from one with a plain name in texts only.

These names are refused where a problem is found (tests/problems/test_paths.py), but a journal may have them.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from exported import linear, softmax, swiglu
from fakes import ENVIRONMENT
from kernelwright.export.exporters import EXPORTERS
from kernelwright.export.names import identifier
from kernelwright.export.subject import Subject
from kernelwright.importers.remeasured import source_text
from kernelwright.importers.seed import Seed
from kernelwright.model import Candidate
from kernelwright.report.kernel import kernel_text
from samples import run_view, short_run

HOSTILE = (
    '"""\nimport os\n"""', "'''\nimport os\n'''", 'a"\nimport = "os', "a\rimport os", "a\fimport os",
    "a\u2028import os", "a\\", 'a"', '\\"""\nimport os\n', "a\x1b[2J", "a\u202eb", "{x}", "%s", "{{import os}}",
)  # fmt: skip
SUBJECTS: dict[str, Callable[[], Subject]] = {
    "a function": softmax, "a module": linear, "a forward with its backward": swiglu,
}  # fmt: skip


def called(subject: Subject, name: str) -> Subject:
    problem = msgspec.structs.replace(subject.problem, name=name)
    environment = msgspec.structs.replace(ENVIRONMENT, kernelwright=f"1.0 {name}")
    return replace(subject, problem=problem, environment=environment)


def shape(text: str) -> str:
    """The syntax of a Python file, whatever its strings hold."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = ""
    return ast.dump(tree)


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
@pytest.mark.parametrize(("exporter", "subject"), [
    *((exporter, subject) for exporter in ("op", "hf-kernels") for subject in SUBJECTS),
    ("kernelbench", "a function"), ("kernelbench", "a module"),
])  # fmt: skip
def test_no_exporter_writes_a_name_as_code(exporter: str, subject: str, name: str) -> None:
    made = EXPORTERS[exporter].files(called(SUBJECTS[subject](), name))
    plain = EXPORTERS[exporter].files(called(SUBJECTS[subject](), identifier(name)))
    assert made.keys() == plain.keys()
    for file, text in made.items():
        if file.endswith("reference.py"):
            continue
        assert "\nimport os" not in text, file
        if file.endswith(".py"):
            assert shape(text) == shape(plain[file]), file
        if file.endswith(".toml"):
            assert keys(tomllib.loads(text)) == keys(tomllib.loads(plain[file]))


def keys(table: dict[str, Any]) -> list[Any]:
    return [(name, keys(value) if isinstance(value, dict) else None) for name, value in table.items()]


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_no_header_of_a_kernel_holds_a_name_as_code(name: str) -> None:
    view = run_view(short_run())
    info = msgspec.structs.replace(view.info, problem=msgspec.structs.replace(view.info.problem, name=name))
    trial = view.trials[1]
    assert shape(kernel_text(trial, replace(view, info=info))) == shape(kernel_text(trial, view))
    seed = Seed(name=name, candidate=Candidate(source="x = 1\n"), origin=str(Path("runs") / name), recorded_us=None)
    assert shape(source_text(seed)) == shape("x = 1\n")
