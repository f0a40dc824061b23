"""What the tests of the loop share: journals that are closed when the test ends."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fakes import run_info
from kernelwright.journal import Journal
from running import Create


@pytest.fixture
def create(tmp_path: Path) -> Iterator[Create]:
    journals: list[Journal] = []

    def create(**settings: Any) -> Journal:
        journals.append(Journal.create(tmp_path / f"run {len(journals)}", run_info(**settings)))
        return journals[-1]

    yield create
    for journal in journals:
        journal.close()
