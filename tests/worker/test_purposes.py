"""Which cases an evaluation looks at, by its purpose and by whether there is a GPU."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kernelwright.model import Case
from kernelwright.worker.session import Session
from kernelwright.worker.stages.evaluate import cases_for

CASES = (
    Case(name="timed", dtype="float16"),
    Case(name="held_out", dtype="float16", held_out=True),
    Case(name="small", dtype="float16", small=True),
)


@dataclass
class FakeSession:
    on_gpu: bool
    cases: tuple[Any, ...] = field(default_factory=lambda: tuple(SimpleNamespace(case=case) for case in CASES))

    @property
    def processes(self) -> FakeSession:
        return self

    def loaded(self) -> FakeSession:
        return self


@pytest.mark.parametrize(
    ("purpose", "on_gpu", "expected"),
    [
        ("search", True, ["timed", "small"]),
        ("search", False, ["timed", "small"]),
        ("tune", True, ["timed"]),
        ("tune", False, ["timed", "small"]),
        ("verify", True, ["timed", "held_out", "small"]),
        ("confirm", True, ["timed", "held_out", "small"]),
    ],
)
def test_each_purpose_looks_at_its_cases(purpose: str, on_gpu: bool, expected: list[str]) -> None:
    found = cases_for(cast(Session, FakeSession(on_gpu)), purpose)
    assert [case.name for case in found] == expected
