"""Files of other programs that hold what no program writes: read as far as they make sense, or refused in one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernelwright.errors import KernelwrightError
from kernelwright.export.history import timed_rows
from kernelwright.export.t4 import t4_rows
from kernelwright.importers.table import read_seeds
from kernelwright.textfile import LARGEST_BYTES
from samples import SOURCE

DIGITS = "9" * 400


def test_numbers_of_400_digits_are_no_claims(tmp_path: Path) -> None:
    programs = tmp_path / "checkpoint_1" / "programs"
    programs.mkdir(parents=True)
    code = json.dumps(SOURCE)
    (programs / "a.json").write_text(f'{{"code": {code}, "metrics": {{"combined_score": {DIGITS}, "x": 1e400}}}}')
    _, found = read_seeds(tmp_path, None)
    assert [seed.recorded for seed in found.seeds] == [{}]

    trace = tmp_path / "agent" / "round_1"
    trace.mkdir(parents=True)
    (trace / "kernel.py").write_text(SOURCE)
    (trace / "benchmark_results.json").write_text(f'{{"size": {DIGITS}, "kernels": {{"a": {{"time_ms": {DIGITS}}}}}}}')
    _, found = read_seeds(tmp_path / "agent", None)
    assert [(seed.recorded_us, seed.recorded) for seed in found.seeds] == [(None, {})]

    t4 = tmp_path / "t4.json"
    t4.write_text(f'{{"results": [{{"configuration": {{"B": 4}}, "times": {{"runtimes": [{DIGITS}]}}}}]}}')
    assert t4_rows(t4) == [{"B": 4}]


@pytest.mark.parametrize("name", ["kernel.py", "notes.md", "history.csv", "t4.json"])
def test_a_sparse_file_is_refused_without_being_read(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    with path.open("wb") as file:
        file.truncate(200 * LARGEST_BYTES)
    readers = {"history.csv": timed_rows, "t4.json": t4_rows}
    with pytest.raises(KernelwrightError, match=r"larger than \d+ MiB"):
        readers[name](path) if name in readers else read_seeds(path, None)


def test_a_claim_in_a_sparse_file_is_no_claim(tmp_path: Path) -> None:
    home = tmp_path / "round_1"
    home.mkdir()
    (home / "kernel.py").write_text(SOURCE)
    with (home / "benchmark_results.json").open("wb") as file:
        file.truncate(200 * LARGEST_BYTES)
    _, found = read_seeds(tmp_path, None)
    assert [(seed.recorded_us, seed.recorded) for seed in found.seeds] == [(None, {})]
