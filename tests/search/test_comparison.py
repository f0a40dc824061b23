"""The comparison of strategies still runs, on records alone, and is the same every time."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def compared(*words: str) -> str:
    """What `benchmarks/strategies.py` prints."""
    command = [sys.executable, "benchmarks/strategies.py", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("what", "expected"),
    [("recorded", {"model", "local", "random"}), ("simulated", {"beam", "evolve", "greedy", "random"})],
)
def test_every_arm_has_a_figure_for_every_space_or_writer_and_the_same_one_again(what: str, expected: set[str]) -> None:
    words = (what, "--seeds", "2", "--trials", "6")
    text = compared(*words)
    rows = re.findall(r"^(\w[\w, ]+?)  +(\d.*)$", text.partition("standard error")[2], re.M)
    arms = {name for name, _ in rows}
    assert expected <= arms
    for _, figures in rows:
        found = [float(figure) for figure in re.findall(r"([\d.]+) ±", figures)]
        assert len(found) == 4
        assert all(0 < figure <= 100 for figure in found)
    assert compared(*words) == text


def test_more_trials_are_never_worse_on_a_record() -> None:
    few, many = (compared("recorded", "--seeds", "1", "--trials", trials) for trials in ("4", "24"))
    found = [re.findall(r"([\d.]+) ±", line) for text in (few, many) for line in text.splitlines() if "model" in line]
    assert len(found) == 2
    assert len(found[0]) == 4
    assert all(float(late) >= float(early) for early, late in zip(*found, strict=True))
