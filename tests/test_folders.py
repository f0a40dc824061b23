"""Files of a run's folder: whole, and never through a link; and files that a user names."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from kernelwright.errors import RunFolderError
from kernelwright.folders import (
    fresh_folder,
    make_folder,
    open_locked,
    read_file,
    refuse_links,
    remove_file,
    remove_folder,
    require_writable,
    write_file,
)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A file and a folder of the user, beside a run's folder."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "precious").write_text("mine")
    (tmp_path / "run").mkdir()
    return tmp_path / "outside"


def untouched(outside: Path) -> bool:
    return {path.name: path.read_text() for path in outside.iterdir()} == {"precious": "mine"}


def test_a_file_is_written_with_its_folders_and_replaced_whole(tmp_path: Path) -> None:
    assert write_file(tmp_path, "a/b/c.txt", "µ one").read_text(encoding="utf-8") == "µ one"
    write_file(tmp_path, "a/b/c.txt", b"two", durable=True)
    assert read_file(tmp_path, "a/b/c.txt") == b"two"
    assert read_file(tmp_path, "a/none") is None
    assert read_file(tmp_path, "none/none") is None
    assert os.listdir(tmp_path / "a" / "b") == ["c.txt"], "nothing temporary is left"


def test_two_threads_write_one_file_each_completely(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replace = os.replace

    def replace_after_another_thread(*given: Any, **named: Any) -> None:
        monkeypatch.undo()
        with ThreadPoolExecutor(1) as other:
            other.submit(write_file, tmp_path, "file", "two").result()
        replace(*given, **named)

    monkeypatch.setattr(os, "replace", replace_after_another_thread)
    write_file(tmp_path, "file", "one")
    assert read_file(tmp_path, "file") == b"one"
    assert os.listdir(tmp_path) == ["file"]


def test_a_link_in_the_place_of_a_file_is_replaced_and_what_it_leads_to_stays(outside: Path) -> None:
    run = outside.parent / "run"
    for name, target in (("file", outside / "precious"), ("dangling", outside / "new"), ("folder", outside)):
        (run / name).symlink_to(target)
        write_file(run, name, "ours")
        assert not (run / name).is_symlink()
        assert (run / name).read_text() == "ours"
    assert untouched(outside)


@pytest.mark.parametrize("name", ["sub", "sub/deeper"])
def test_a_link_in_the_place_of_a_folder_is_refused_by_name(outside: Path, name: str) -> None:
    run = outside.parent / "run"
    (run / name).parent.mkdir(parents=True, exist_ok=True)
    (run / name).symlink_to(outside)
    for act in (
        lambda: write_file(run, f"{name}/x/y", "ours"),
        lambda: write_file(run, f"{name}/precious", "ours"),
        lambda: make_folder(run, f"{name}/x"),
        lambda: remove_file(run, f"{name}/precious"),
        lambda: remove_folder(run, name),
        lambda: read_file(run, f"{name}/precious"),
        lambda: refuse_links(run),
    ):
        with pytest.raises(RunFolderError, match=f"{run / name} is a link"):
            act()
    assert untouched(outside)


def test_a_file_is_not_read_or_locked_through_a_link_nor_is_a_pipe(outside: Path) -> None:
    run = outside.parent / "run"
    (run / "link").symlink_to(outside / "precious")
    (run / "dangling").symlink_to(outside / "new")
    os.mkfifo(run / "pipe")
    acts: list[Callable[[Path, str], object]] = [read_file, open_locked]
    for act in acts:
        for name in ("link", "dangling", "pipe"):
            with pytest.raises(RunFolderError, match=r"is a link|is no ordinary file"):
                act(run, name)
    assert untouched(outside)


def test_a_link_is_removed_and_not_what_it_leads_to(outside: Path) -> None:
    run = outside.parent / "run"
    (run / "link").symlink_to(outside / "precious")
    remove_file(run, "link")
    remove_file(run, "link")
    (run / "trace" / "round").mkdir(parents=True)
    (run / "trace" / "round" / "link").symlink_to(outside)
    remove_folder(run, "trace")
    remove_folder(run, "trace")
    assert os.listdir(run) == []
    assert untouched(outside)


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/../../x", "/etc/x", "a//b", "a/"])
def test_a_name_cannot_lead_out_of_the_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="is no path below a folder"):
        write_file(tmp_path, name, "ours")


def test_a_file_that_cannot_be_written_is_named_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(RunFolderError, match=r"cannot write .*taken"):
        write_file(tmp_path, "taken", "ours")
    assert os.listdir(tmp_path) == ["taken"]
    with pytest.raises(RunFolderError, match=r"cannot write .*gone/x: No such file or directory"):
        write_file(tmp_path / "gone", "x", "ours")
    assert not (tmp_path / "gone").exists(), "a run's folder that was removed is not made again"


def test_a_folder_without_links_is_as_it_should_be(tmp_path: Path) -> None:
    write_file(tmp_path, "a/b", "x")
    refuse_links(tmp_path)


def test_a_taken_folder_name_gets_a_number(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a-2").mkdir()
    assert fresh_folder(tmp_path, "a").name == "a-3"
    assert fresh_folder(tmp_path, "b").name == "b"


def test_asking_whether_a_file_can_be_written_leaves_a_link_to_nothing_as_it_is(tmp_path: Path) -> None:
    link = tmp_path / "out.json"
    link.symlink_to(tmp_path / "later.json")
    require_writable(link)
    assert link.is_symlink()
    assert not (tmp_path / "later.json").exists()
    require_writable(tmp_path / "new.json")
    assert not (tmp_path / "new.json").exists()
