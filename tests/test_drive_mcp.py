"""A problem that is taken further over MCP from a folder of replies, with a real server whose worker is fake."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import scripts
from command_line import PROBLEM
from fakes import STARTER
from kernelwright.journal import Journal

pytest.importorskip("mcp.server", reason="the MCP server needs mcp: pip install -e '.[mcp]'")

pytestmark = pytest.mark.process

SERVING = str(Path(__file__).parent / "mcp" / "serving.py")
KERNEL = "import torch\n\nBLOCK = {block}\n\n\ndef kernel_function(x):\n    return x\n"


@pytest.fixture
def driving(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(scripts.BENCHMARKS)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    return scripts.script("drive_mcp")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A problem with a starter and replies, named `double`."""
    made = tmp_path / "double"
    (made / "replies").mkdir(parents=True)
    (made / "problem.py").write_text(PROBLEM)
    (made / "starter.py").write_text(STARTER.source)
    return made


def reply(folder: Path, name: str, block: int) -> None:
    (folder / "replies" / name).write_text(
        f"author: ada\n\nNote: {block}\n\n```python\n{KERNEL.format(block=block)}```\n"
    )


def drive(driving: ModuleType, folder: Path, out: Path) -> str | None:
    import anyio

    driving.prepare(folder, out, 100, 0)
    fault: str | None = anyio.run(driving.session, folder, out, (SERVING,))
    return fault


def test_replies_are_handed_in_in_turn_and_the_best_is_confirmed_and_kept(
    driving: ModuleType, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reply(folder, "01-first.md", 256)
    reply(folder, "02-second.md", 512)
    assert drive(driving, folder, tmp_path / "out") is None
    said = capsys.readouterr().out
    assert "request 1, answered with 01-first.md" in said
    assert "request 2, answered with 02-second.md" in said
    assert "finish was called" in said
    driving.keep(tmp_path / "out" / "mailbox", tmp_path / "kept")
    kept = {path.name for path in (tmp_path / "kept").iterdir()}
    assert {"journal.db", "best_kernel.py", "report.txt", "problem"} <= kept
    assert "mailbox" not in kept
    with Journal.open(tmp_path / "kept") as journal:
        assert [trial.proposal.author for trial in journal.trials()][1:3] == ["mailbox:ada", "mailbox:ada"]


def test_a_drive_that_was_cut_off_goes_on_with_the_replies_that_are_left(
    driving: ModuleType,
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reply(folder, "01-first.md", 256)
    reply(folder, "02-second.md", 512)
    unused = driving.unused

    def once(run: Path, replies: Path) -> list[Path]:
        if len(left := unused(run, replies)) < 2:
            raise driving.ToolFailedError("cut off")
        return list(left)

    with monkeypatch.context() as patched:
        patched.setattr(driving, "unused", once)
        assert drive(driving, folder, tmp_path / "out") == "cut off"
    capsys.readouterr()
    assert drive(driving, folder, tmp_path / "out") is None
    said = capsys.readouterr().out
    assert "01-first.md" not in said
    assert "answered with 02-second.md" in said
    assert "finish was called" in said


def test_what_a_tool_refuses_ends_the_drive_with_its_words(driving: ModuleType, folder: Path, tmp_path: Path) -> None:
    (folder / "problem.py").unlink()
    fault = drive(driving, folder, tmp_path / "out")
    assert fault is not None
    assert fault.startswith("start_run: ")
    assert "double" in fault


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        ("# A\n\n## What holds it back\n\nLoads of\n4 bytes.\n\n## Moves\n\nx\n", "  holds back: Loads of 4 bytes."),
        ("# A\n\n## Moves\n\nx\n", ""),
    ],
)
def test_what_holds_a_kernel_back_is_read_off_its_prompt(driving: ModuleType, prompt: str, said: str) -> None:
    found: Any = driving.limit_in(prompt)
    assert found == said
