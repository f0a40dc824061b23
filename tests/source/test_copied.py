"""A copied tree says the same and shares no node with the first one."""

from __future__ import annotations

import ast
from pathlib import Path

from kernelwright.source.parse import copied

FILES = sorted((Path(__file__).parents[1] / "honest/kernels").glob("*/*.py"))


def test_a_copy_is_the_same_tree_of_other_nodes() -> None:
    assert len(FILES) > 50
    for file in FILES:
        tree = ast.parse(file.read_text(encoding="utf-8"))
        made = copied(tree)
        assert ast.dump(made, include_attributes=True) == ast.dump(tree, include_attributes=True)
        shared = {id(node) for node in ast.walk(tree)} & {id(node) for node in ast.walk(made)}
        assert all(not vars(node) for node in ast.walk(tree) if id(node) in shared), "Load and its like, without fields"
