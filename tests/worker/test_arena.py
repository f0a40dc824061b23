"""The arena without a GPU: a file that two processes map, and that goes with the worker's scratch folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelwright.worker.arena import attach, create, release


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a bench works; the supervisor removes it when it ends."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_an_arena_leaves_nothing_outside_the_folder_that_its_process_works_in(scratch: Path) -> None:
    arena, handle = create(4096, "cpu")
    assert arena.numel() == 4096
    assert [str(path) for path in scratch.iterdir()] == [handle["file"]]


@pytest.mark.usefixtures("scratch")
def test_both_sides_see_the_same_memory_also_when_its_name_is_gone() -> None:
    ours, handle = create(4096, "cpu")
    theirs = attach(handle)
    release(handle)
    ours[17] = 5
    theirs[18] = 6
    assert (theirs[17].item(), ours[18].item()) == (5, 6)
    assert not Path(handle["file"]).exists()
