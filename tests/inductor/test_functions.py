"""The replacements for Inductor's helper functions take what the installed torch passes to these."""

from __future__ import annotations

import ast
from importlib.util import find_spec
from pathlib import Path

import pytest

from kernelwright.inductor.functions import FUNCTIONS, texts

HELPERS = "triton_helpers"


def installed() -> dict[str, ast.FunctionDef]:
    """Inductor's helper functions by name, read from their file: nothing is imported."""
    spec = find_spec("torch")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("torch is not installed")
    file = Path(spec.submodule_search_locations[0]) / "_inductor" / "runtime" / f"{HELPERS}.py"
    return {node.name: node for node in ast.parse(file.read_text("utf-8")).body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("helper", [name for name in FUNCTIONS if name.startswith(f"{HELPERS}.")])
def test_a_replacement_takes_as_many_arguments_as_the_installed_helper(helper: str) -> None:
    own = ast.parse("\n\n".join(texts({helper})))
    [replacement] = (one for one in ast.walk(own) if isinstance(one, ast.FunctionDef) and one.name == FUNCTIONS[helper])
    if (function := installed().get(helper.partition(".")[2])) is None:
        pytest.skip("this torch does not have it")
    least = len(replacement.args.args) - len(replacement.args.defaults)
    needed = len(function.args.args) - len(function.args.defaults)
    assert least <= needed
    assert len(function.args.args) <= len(replacement.args.args)
