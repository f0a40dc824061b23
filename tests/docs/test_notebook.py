"""The notebook of the docs: its outputs are those that it prints today."""

from __future__ import annotations

import nbformat
import pytest

import scripts
from pages import ROOT


@pytest.mark.process
@pytest.mark.timeout(1200)
def test_the_notebook_prints_what_it_is_kept_with() -> None:
    program = scripts.script("run_notebook", ROOT / "docs")
    kept = nbformat.read(program.NOTEBOOK, as_version=4)
    verdict, source, _, refused = program.printed(kept)
    assert program.printed(program.run_notebook()) == [verdict, source, "", refused]
    assert verdict.startswith("rmsnorm: 1.857 ms")
    assert "def kernel_function" in source or "class ModelNew" in source
    assert refused == "False wrong\n"
