"""The plans of gallery rounds name files and constants that are there, and what came of them is one file a problem."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import pytest

import scripts
from kernelwright.errors import RequestError

ROOT = Path(__file__).parents[1]
EXPERIMENTS = sorted((ROOT / "gallery").glob("*/experiments.json"))
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


@pytest.mark.parametrize("file", EXPERIMENTS, ids=[file.parent.name for file in EXPERIMENTS])
def test_every_experiment_is_of_a_described_variant_or_a_file_that_is_there(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    known = json.loads(text)
    measured = {Path(outcome["file"]) for one in known["rounds"] for outcome in one["outcomes"]}
    absent = {path.stem for path in measured if not (ROOT / path).is_file()}
    assert absent <= known["variants"].keys()
    assert "variants/NAME.py" in known["sources"]
    numbers = [one["number"] for one in known["rounds"]]
    assert numbers == sorted(set(numbers))
    assert scripts.script("gallery_plots").written(known) == text


def test_a_round_that_is_kept_again_takes_the_place_of_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plots = scripts.script("gallery_plots")
    monkeypatch.setattr(plots, "ROOT", tmp_path)
    (tmp_path / "gallery" / "softmax").mkdir(parents=True)
    (tmp_path / "new").mkdir()
    for number, score_us in ((2, 5.0), (1, 4.0), (2, 3.0)):
        outcome = {"file": "gallery/softmax/best.py", "status": "passed", "score_us": score_us, "kernels": ["left out"]}
        record = {"problem": "softmax", "environment": {"peaks": {}}, "outcomes": [outcome]}
        (tmp_path / "new" / "softmax.json").write_text(json.dumps(record))
        plots.keep(tmp_path / "new", number)
    kept = json.loads((tmp_path / "gallery" / "softmax" / "experiments.json").read_text())
    assert [(one["number"], one["outcomes"][0]["score_us"]) for one in kept["rounds"]] == [(1, 4.0), (2, 3.0)]
    assert "kernels" not in kept["rounds"][0]["outcomes"][0]
