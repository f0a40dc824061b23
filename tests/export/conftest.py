"""What tests of exports share: the programs of packages run in forks of processes that were started once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from forked import Programs


@pytest.fixture(scope="session")
def programs() -> Iterator[Programs]:
    started = Programs()
    yield started
    started.close()
