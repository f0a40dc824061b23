"""The plans of gallery rounds name files and constants that are there."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import pytest

import scripts
from kernelwright.errors import RequestError

ROOT = Path(__file__).parents[1]
PLANS = sorted((ROOT / "benchmarks" / "rounds").glob("*.json"))


def gallery_round() -> ModuleType:
    return scripts.script("gallery_round")


@pytest.mark.parametrize("plan", PLANS, ids=[plan.stem for plan in PLANS])
def test_every_variant_of_a_plan_can_be_made(plan: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    round_of = gallery_round()
    for problem in json.loads(plan.read_text(encoding="utf-8")):
        made = round_of.candidates(problem)
        assert len({candidate.id for _, _, candidate in made}) == len(made), problem["problem"]


def test_a_constant_that_a_file_lacks_is_refused() -> None:
    assert gallery_round().with_constants("BLOCK = 64\n", {"BLOCK": 128}) == "BLOCK = 128\n"
    with pytest.raises(RequestError, match="0 lines `WARPS"):
        gallery_round().with_constants("BLOCK = 64\n", {"WARPS": 4})
