"""Seeds from other programs' files: what is read, in which order, and what is left out with a reason."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from kernelwright.errors import RequestError
from kernelwright.importers.table import IMPORTERS, read_seeds
from kernelwright.model import Candidate
from samples import BLOCK, SOURCE


def kernel(mark: int) -> str:
    return f"import torch\n\n\ndef kernel_function(x):\n    return x + {mark}\n"


@pytest.fixture
def artifacts(tmp_path: Path) -> Path:
    """KernelAgent's layout: three rounds, one of them without a time; the final kernel is that of round 2 again."""
    folder = tmp_path / "36_RMSNorm"
    for number, time_ms in ((1, 3.5), (2, 1.25), (10, None)):
        home = folder / "optimization_trace" / f"round_{number}"
        home.mkdir(parents=True)
        (home / "kernel.py").write_text(kernel(number))
        kernels = {} if time_ms is None else {"kernel_round_1": {"time_ms": time_ms, "path": "x.py"}}
        results = {"device": "cuda", "dtype": "torch.bfloat16", "size": 4096, "kernels": kernels}
        (home / "benchmark_results.json").write_text(json.dumps(results))
    (folder / "input_kernel.py").write_text(kernel(0))
    (folder / "optimized_kernel_beam_search.py").write_text("# final\n" + kernel(2))
    return folder


def test_kernelagents_rounds_come_fastest_first_with_what_they_claimed(artifacts: Path) -> None:
    importer, found = read_seeds(artifacts, None)
    assert importer == "kernelagent"
    assert [(seed.name, seed.recorded_us) for seed in found.seeds] == [
        ("round_2", 1250.0),
        ("round_1", 3500.0),
        ("round_10", None),
        ("input_kernel", None),
    ]
    assert found.seeds[0].recorded == {"dtype": "torch.bfloat16", "device": "cuda", "size": 4096}


def test_results_that_are_damaged_claim_nothing(artifacts: Path) -> None:
    for folder in (artifacts / "optimization_trace").iterdir():
        (folder / "benchmark_results.json").write_text('{"kernels": [')
    _, found = read_seeds(artifacts, None)
    assert all(seed.recorded_us is None for seed in found.seeds)


@pytest.fixture
def evolution(tmp_path: Path) -> Path:
    """OpenEvolve's output with two checkpoints; in the last, a good, a better, a broken and an empty program."""
    home = tmp_path / "openevolve_output"
    programs = {
        "aaaa": {"code": kernel(1), "metrics": {"combined_score": 0.5, "speedup": 9.0}, "generation": 3},
        "bbbb": {"code": kernel(2), "metrics": {"combined_score": 0.9, "note": "x"}, "generation": 4},
        "cccc": {"code": "def other(): pass", "metrics": {"combined_score": 1.0}},
        "dddd": {"metrics": {}},
    }
    for number in (9, 10):
        folder = home / "checkpoints" / f"checkpoint_{number}" / "programs"
        folder.mkdir(parents=True)
        (folder.parent / "metadata.json").write_text("{}")
        for name, program in programs.items() if number == 10 else ():
            (folder / f"{name}.json").write_text(json.dumps({"id": name, "language": "python", **program}))
    return home


@pytest.mark.parametrize("below", ["", "checkpoints", "checkpoints/checkpoint_10"])
def test_the_last_checkpoint_is_read_and_its_scores_only_order(evolution: Path, below: str) -> None:
    importer, found = read_seeds(evolution / below, None)
    assert importer == "openevolve"
    assert [seed.name for seed in found.seeds] == ["program bbbb", "program aaaa"]
    assert found.seeds[1].recorded == {"combined_score": 0.5, "speedup": 9.0, "generation": 3}
    assert all(seed.recorded_us is None for seed in found.seeds)
    assert found.useless["program dddd"] == "it has no code"
    assert "defines neither ModelNew nor kernel_function" in found.useless["program cccc"]


def test_a_history_gives_configs_of_the_starter_with_their_times(tmp_path: Path) -> None:
    file = tmp_path / "history.csv"
    rows = [
        't,a,0.5,,passed,"{""BLOCK"": 2048}"',
        't,b,0.25,,passed,"{""BLOCK"": 4096}"',
        't,c,0.1,,passed,"{""SPEED"": 1}"',
    ]
    file.write_text("timestamp,name,ms,tflops,status,config\n" + "\n".join(rows) + "\n")
    importer, found = read_seeds(file, Candidate(source=SOURCE))
    assert importer == "history"
    assert [(seed.candidate.config[BLOCK], seed.recorded_us) for seed in found.seeds] == [(4096, 250.0), (2048, 500.0)]
    assert len(found.useless) == 1
    with pytest.raises(RequestError, match="no kernel to try them on"):
        read_seeds(file, None)


def test_any_file_with_an_entry_point_will_do(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(kernel(1))
    (tmp_path / "two.md").write_text(f"Here it is.\n\n```python\n{kernel(2)}```\n")
    (tmp_path / "three.py").write_text("print('hello')\n")
    importer, found = read_seeds(tmp_path, None)
    assert importer == "python"
    assert [seed.name for seed in found.seeds] == ["one", "two"]
    assert list(found.useless) == ["three"]
    assert read_seeds(tmp_path / "two.md", None)[1].seeds[0].candidate.source.strip() == kernel(2).strip()


def test_nothing_is_run_while_reading(tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    (tmp_path / "one.py").write_text(f"open({str(trap)!r}, 'w')\n{kernel(1)}")
    read_seeds(tmp_path / "one.py", None)
    assert not trap.exists()


def test_what_cannot_be_imported_is_said(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="nothing to import"):
        read_seeds(tmp_path / "gone", None)
    (tmp_path / "x.bin").write_text("")
    with pytest.raises(RequestError, match="is nothing that can be imported"):
        read_seeds(tmp_path / "x.bin", None)
    (tmp_path / "x.py").write_text("x = 1\n")
    with pytest.raises(RequestError, match="holds no kernel to try: x: the code defines neither"):
        read_seeds(tmp_path / "x.py", None)
    with pytest.raises(RequestError, match="there is no importer 'magic'"):
        read_seeds(tmp_path / "x.py", None, "magic")


def test_every_importer_says_what_it_reads() -> None:
    assert all(one.summary for one in IMPORTERS.values())


def test_a_pipe_among_the_files_is_not_read_which_would_never_end(tmp_path: Path, evolution: Path) -> None:
    (tmp_path / "one.py").write_text(kernel(1))
    os.mkfifo(tmp_path / "pipe.py")
    assert [seed.name for seed in read_seeds(tmp_path, None)[1].seeds] == ["one"]
    os.mkfifo(evolution / "checkpoints/checkpoint_10/programs/pipe.json")
    assert [seed.name for seed in read_seeds(evolution, None)[1].seeds] == ["program bbbb", "program aaaa"]


def test_a_byte_order_mark_is_no_part_of_a_kernel(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(kernel(1), encoding="utf-8-sig")
    assert read_seeds(tmp_path / "one.py", None)[1].seeds[0].candidate.source == kernel(1)


def test_files_with_another_entry_are_seeds(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("def custom_kernel(data):\n    return data\n")
    (tmp_path / "two.py").write_text("def solve(x, out):\n    pass\n")
    (tmp_path / "three.py").write_text("from torch.autograd import Function\n\n\nclass Scale(Function):\n    pass\n")
    assert sorted(seed.name for seed in read_seeds(tmp_path, None)[1].seeds) == ["one", "three", "two"]
