"""The starters of the gallery have numbers to tune, and every value of them can be written in."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from kernelwright.source import apply_config, default_config, find_tunables

STARTERS = sorted((Path(__file__).resolve().parents[2] / "gallery").glob("*/starter.py"))


def test_there_are_starters_to_look_at() -> None:
    assert len(STARTERS) >= 8


@pytest.mark.parametrize("path", STARTERS, ids=lambda path: path.parent.name)
def test_a_starter_can_be_tuned(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    tunables = find_tunables(source)
    assert {tunable.kind for tunable in tunables} == {"constexpr", "num_warps", "num_stages"}
    for tunable in tunables:
        for value in tunable.choices:
            changed = apply_config(source, {tunable.key: value})
            ast.parse(changed)
            assert default_config(changed)[tunable.key] == value
