"""`benchmarks/export_softmax.py`: what it keeps and says, with figures that are a function of the size."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import scripts

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "export_softmax.py"
FAR = float("inf")


@pytest.fixture(scope="module")
def script() -> Any:
    return scripts.script("export_softmax")


def measured(size: tuple[int, int, str]) -> dict[str, Any]:
    """The kernel takes half as long from 1000 columns on; else PyTorch serves, and being asked costs."""
    rows, cols, dtype = size
    taken = cols >= 1000
    mine, theirs = (rows, 2.0 * rows) if taken else (8.0 + rows / 100, 8.0)
    names = ("call_us", "stream_us", "device_us", "issue_us")
    return {
        "rows": rows, "cols": cols, "dtype": dtype, "kernel": taken, "why": "",
        "export_us": dict.fromkeys(names, mine), "torch_us": dict.fromkeys(names, theirs),
    }  # fmt: skip


SIZES = [(1, 64, "float32"), (80, 64, "float32"), (4, 2048, "float32")]


def test_each_row_is_on_disk_before_the_next_size_is_measured(script: Any, tmp_path: Path) -> None:
    file, seen = tmp_path / "rows.json", []

    def looking(size: tuple[int, int, str]) -> dict[str, Any]:
        seen.append(len(json.loads(file.read_text())["rows"]) if file.exists() else 0)
        return measured(size)

    script.judge(SIZES, looking, {"how": "eager"}, file, FAR)
    assert seen == [0, 1, 2]
    assert [row["rows"] for row in json.loads(file.read_text())["rows"]] == [1, 80, 4]


def test_when_time_is_over_it_says_how_far_it_came(script: Any, tmp_path: Path, capsys: Any) -> None:
    script.judge(SIZES, measured, {"how": "eager"}, tmp_path / "rows.json", 0.0)
    assert "cut off after 0 sizes" in capsys.readouterr().out


def test_a_size_that_fails_is_said_and_the_others_go_on(script: Any, tmp_path: Path, capsys: Any) -> None:
    def failing(size: tuple[int, int, str]) -> dict[str, Any]:
        if size[0] == 80:
            raise RuntimeError("out of\nmemory")
        return measured(size)

    script.judge(SIZES, failing, {"how": "eager"}, tmp_path / "rows.json", FAR)
    assert len(json.loads((tmp_path / "rows.json").read_text())["rows"]) == 2
    assert "failed: RuntimeError: out of memory" in capsys.readouterr().out


def test_the_worst_ratio_is_said_of_the_kernel_and_of_pytorch(script: Any) -> None:
    said = script.summary("eager", [measured(size) for size in SIZES])
    assert "eager: 3 sizes, the kernel taken on 1" in said
    assert "by the kernel, call: worst 2.000 at 4 x 2048 float32" in said
    assert "by PyTorch, stream: worst 0.909 at 80 x 64 float32" in said


def test_where_only_graphs_are_timed_the_table_has_their_figures_alone(script: Any) -> None:
    rows = [measured(size) for size in SIZES]
    for row in rows:
        for side in ("export_us", "torch_us"):
            row[side] = {"device_us": row[side]["device_us"]}
    assert script.text(rows[2]).split() == ["4", "x", "2048", "float32", "kernel", "-", "-", "2.000", "-"]
    said = script.summary("graphs", rows)
    assert "graphs: 3 sizes, the kernel taken on 1" in said
    assert "by the kernel, device: worst 2.000 at 4 x 2048 float32, best 2.000, mean 2.000" in said
    assert "call" not in said


def test_it_judges_at_least_forty_sizes_each_once(script: Any) -> None:
    assert len(set(script.EAGER)) == len(script.EAGER) >= 40
    assert len(set(script.COMPILED)) == len(script.COMPILED)
