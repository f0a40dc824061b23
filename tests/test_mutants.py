"""The stated mutants can be applied, and what runs them tells a rule that is held from one that is not."""

from __future__ import annotations

from pathlib import Path

import pytest

import mutants
from mutants import BROKEN, CAUGHT, SURVIVED, Mutant

pytestmark = pytest.mark.process

RULE = "def twice(x):\n    return 2 * x\n"
TEST = """
from rule import twice


def test_twice():
    assert twice(0) == 0


def test_two():
    assert twice(1) == 2
"""


def test_there_are_many_mutants_and_each_has_its_place() -> None:
    every = mutants.mutants()
    assert len(every) >= 60
    assert [f"{one.rule}: {why}" for one in every if (why := mutants.fault(one))] == []
    assert len({one.rule for one in every}) == len(every)
    assert all(one.before != one.after for one in every)


def test_a_mutant_whose_text_or_test_is_gone_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    (tmp_path / "rule.py").write_text(RULE)
    (tmp_path / "test_rule.py").write_text(TEST)
    good = Mutant("doubles", "rule.py", "2 * x", "3 * x", "test_rule.py::test_two")
    assert mutants.fault(good) == ""
    changes = {"path": "gone.py", "before": "4 * x", "test": "test_rule.py::test_gone"}
    words = {"path": "gone.py does not exist", "before": "0 times", "test": "no test test_rule.py::test_gone"}
    for name, value in changes.items():
        fields = {**vars(good), name: value}
        assert words[name] in mutants.fault(Mutant(**fields))
    assert "2 times" in mutants.fault(Mutant("doubles", "rule.py", "x", "y", good.test))


@pytest.mark.parametrize(
    ("test", "after", "expected"),
    [("test_two", "3 * x", CAUGHT), ("test_twice", "3 * x", SURVIVED), ("test_two", "2 *", BROKEN)],
)
def test_the_outcome_of_a_mutant(tmp_path: Path, test: str, after: str, expected: str) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "rule.py").write_text(RULE)
    (tmp_path / "test_rule.py").write_text(TEST)
    mutant = Mutant("doubles", "src/rule.py", "2 * x", after, f"test_rule.py::{test}")
    word, said = mutants.outcome(mutant, tmp_path)
    assert word == expected, said
    assert (tmp_path / "src" / "rule.py").read_text() == RULE
