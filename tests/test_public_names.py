"""The public names of kernelwright: which there are, that they cost nothing until used, and that they have types."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import kernelwright

STUB = Path(kernelwright.__file__).with_suffix(".pyi")


def python(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_kernelwright_imports_nothing_else_of_it_nor_what_it_stands_on() -> None:
    loaded = python("import sys, kernelwright; print(*sys.modules)").split()
    ours = [name for name in loaded if name.startswith("kernelwright")]
    assert ours == ["kernelwright"]
    assert not {"torch", "triton", "numpy", "msgspec", "click", "rich", "jinja2", "matplotlib"} & set(loaded)


def test_using_a_name_imports_no_torch() -> None:
    program = "import sys, kernelwright as k; [getattr(k, name) for name in k.API]; print(*sys.modules)"
    assert not {"torch", "triton", "numpy"} & set(python(program).split())


@pytest.mark.parametrize("name", kernelwright.API)
def test_every_public_name_is_there_and_documented(name: str) -> None:
    value = getattr(kernelwright, name)
    assert value is getattr(importlib.import_module(kernelwright.API[name]), name)
    assert value.__doc__
    assert name in dir(kernelwright)


def test_a_public_name_stays_what_it_is_after_the_subpackage_of_that_name_is_imported() -> None:
    exporters = importlib.import_module("kernelwright.export.exporters")
    assert exporters.EXPORTERS
    assert callable(kernelwright.export)
    assert kernelwright.export.__name__ == "export"


def test_the_stub_takes_every_name_from_where_it_is_defined() -> None:
    tree = ast.parse(STUB.read_text(encoding="utf-8"))
    imported = {node.names[0].name: node.module for node in tree.body if isinstance(node, ast.ImportFrom)}
    assert imported == kernelwright.API
    assert set(kernelwright.__all__) == {"__version__", *imported}
    with pytest.raises(AttributeError):
        kernelwright.nothing_of_that_name  # type: ignore[attr-defined]  # noqa: B018
