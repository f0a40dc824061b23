"""`make demo`, as a newcomer without a GPU sees it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the worker needs torch: pip install -e '.[worker]'")
pytest.importorskip("triton", reason="the worker needs Triton: pip install -e '.[worker]'")

pytestmark = [pytest.mark.process, pytest.mark.timeout(3600)]

DEMO = Path(__file__).parents[2] / "demo" / "demo.py"


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    done = subprocess.run(
        [sys.executable, str(DEMO)], cwd=tmp_path_factory.mktemp("demo"), capture_output=True, text=True, check=False,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": "", "NO_COLOR": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [line for line in done.stdout.splitlines() if line]


def test_it_is_fifteen_lines_and_ends_with_the_path_of_a_page(lines: list[str]) -> None:
    assert len(lines) <= 16
    page = Path(lines[-1])
    assert page.is_absolute()
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_an_honest_kernel_passes_and_a_cheating_one_is_refused_with_its_line(lines: list[str]) -> None:
    text = "\n".join(lines)
    assert re.search(r"best\.py of the gallery: passed, right on [1-9]\d* small cases \(measured\)", text)
    refused = re.search(r"cheat\.py: rejected: .*line (\d+): the host code calls aten._softmax", text)
    assert refused is not None
    assert "torch.softmax" in (DEMO.parent / "cheat.py").read_text().splitlines()[int(refused[1]) - 1]


def test_the_recorded_run_reaches_its_confirmed_kernel_and_every_time_is_called_replayed(lines: list[str]) -> None:
    text = "\n".join(lines)
    assert "max_pool3d now takes 542.2 µs" in text
    assert "confirmed on fresh inputs and every held-out case" in text
    parts = re.split(r"\((?:all )?(?:replayed|measured)\)", text)
    assert not re.search(r"\d (?:µs|ms|s)\b", parts[-1])


def test_the_search_on_a_record_finds_what_the_record_holds(lines: list[str]) -> None:
    assert re.search(
        r"of 408 configs tried; the choice takes \d+\.\d+ µs, 1\.\d+x as fast as the default", "\n".join(lines)
    )
