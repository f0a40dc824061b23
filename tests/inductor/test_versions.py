"""What every version of torch records of the problems in `recorded` becomes candidates that are right."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kernelwright import codec
from kernelwright.inductor import candidate_texts
from kernelwright.model import Alias, Allocation, Capture, Generated, Launch, LibraryCall, LibraryMode, Unknown

FOLDER = Path(__file__).parent / "recorded"
VERSIONS = sorted(FOLDER.glob("torch-*.json"))
PROBLEMS = sorted(FOLDER.glob("*.py"))

SMALL_CASES = Path(__file__).parents[1] / "small_cases.py"


def recorded(file: Path) -> dict[str, Generated]:
    return codec.decode(file.read_bytes(), dict[str, Generated])


def test_the_records_become_candidates_that_are_right(tmp_path: Path) -> None:
    """At the captured sizes and at others, with library calls, with templates, and with rows in one piece. Versions
    whose records become the same text are judged together."""
    arguments, written = list[str](), set[str]()
    for file in VERSIONS:
        found = recorded(file)
        assert [*found] == [one.stem for one in PROBLEMS]
        for problem in PROBLEMS:
            modes: tuple[LibraryMode, ...] = ("any", "none") if problem.stem in ("product", "norm") else ("any",)
            for text in (text for mode in modes for text in candidate_texts(found[problem.stem], mode)[:2]):
                if text not in written:
                    made = tmp_path / f"{problem.stem}_of_{file.stem}_{len(written)}.py"
                    made.write_text(text)
                    arguments += [str(made), str(problem)]
                    written.add(text)
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    subprocess.run([sys.executable, str(SMALL_CASES), *arguments], env=environment, check=True, timeout=300)


@pytest.mark.parametrize("file", VERSIONS, ids=lambda file: file.stem)
def test_every_line_was_read(file: Path) -> None:
    captures: list[Capture] = []
    for one in recorded(file).values():
        captures += [*one.captures, *one.templates, *one.rows]
    steps = [step for one in captures for step in one.steps]
    assert [one for one in steps if isinstance(one, Unknown)] == []
    assert {type(one) for one in steps} == {Alias, Allocation, Launch, LibraryCall}
    assert any(kernel.tiles is not None for one in captures for kernel in one.kernels)
