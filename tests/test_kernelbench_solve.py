"""The run over KernelBench's files: what becomes of each, from what the commands say, and means that mix no modes."""

from __future__ import annotations

import gzip
import json
import math
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Empty, SimpleQueue
from types import ModuleType
from typing import Any

import pytest

import scripts
from kernelwright.errors import RequestError
from kernelwright.evaluator.places import Gpu


@pytest.fixture(scope="module")
def solving() -> ModuleType:
    return scripts.script("kernelbench_solve")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for level in ("level1", "level2"):
        (tmp_path / level).mkdir()
        for number in range(6):
            (tmp_path / level / f"{number}_problem.py").write_text("")
    return tmp_path


def benched(ratio: float | None, verdict: str | None) -> str:
    ours = {
        "name": "best",
        "status": "passed",
        "reason": "",
        "median_us": 10.0,
        "ci95_us": [9.5, 10.5],
        "kind": "estimate" if ratio is None else "measured",
        "speedup": ratio,
        "verdict": verdict,
        "speedup_ci95": None if ratio is None else [ratio - 0.1, ratio + 0.1],
        "fraction_of_bound": 0.5,
        "throttled": "",
    }
    theirs = {"name": "eager", "median_us": 12.0, "ci95_us": None}
    case = {"implementations": [theirs, ours], "noise_floor_source": "the copy was not sampled"}
    return json.dumps({"environment": {"device": "NVIDIA H200"}, "cases": [case]})


class Commands:
    """Answers by the name of the file: 1 is left, 2 needs library calls, 3 fails, 6 serves the captured sizes only;
    others are solved."""

    def __init__(self, ratio: float | None = 1.25, verdict: str | None = "faster") -> None:
        self.ratio, self.verdict, self.asked = ratio, verdict, list[list[str]]()

    def __call__(self, words: Sequence[str]) -> tuple[int, str, str]:
        self.asked.append(list(words))
        if words[0] == "bench":
            return 0, benched(self.ratio, self.verdict), ""
        number = Path(words[1]).name[0]
        if number == "1":
            return 0, json.dumps({"reason": "left", "detail": "leave it: the library call is the computation"}), ""
        if number == "3":
            return 2, "", "run folder: x\nerror: it reads no argument"
        place = Path(words[list(words).index("--out") + 1])
        place.mkdir(parents=True)
        library = "any" if number == "2" else "finish"
        state = {"2": "library any", "6": "captured sizes only"}.get(number, "own kernels")
        steps = "aten.convolution" if library == "any" else "no library step"
        (place / "best_kernel.py").write_text(f"# library: {steps}; LIBRARY = 'finish'\n")
        cost = {"asked": 5, "gpu_s": 3.21, "compile_s": 7.0}
        found = {"best": {"status": "passed"}, "cost": {"total": cost}, "seconds": 20.0}
        return 0, json.dumps({**found, "library": library, "state": state}), ""


def row(solving: ModuleType, number: int, commands: Commands | None = None) -> dict[str, Any]:
    found: dict[str, Any] = solving.solve(Path(f"level1/{number}_x.py"), commands or Commands(), 25.0, 9, False)
    return found


def test_a_confirmed_kernel_is_solved_and_timed_in_its_own_mode(solving: ModuleType) -> None:
    commands = Commands()
    found = row(solving, 0, commands)
    assert (found["outcome"], found["mode"], found["ratio"], found["gpu_s"]) == ("solved", "none", 1.25, 3.2)
    assert ("source" in found, len(found["sha256"])) == (False, 64)
    assert [words[0] for words in commands.asked] == ["optimize", "bench"]
    assert commands.asked[0][commands.asked[0].index("--gpu-seconds") + 1] == "17"


def test_a_library_call_is_left_and_other_failures_say_why(solving: ModuleType) -> None:
    assert row(solving, 1)["outcome"] == "left"
    failed = row(solving, 3)
    assert (failed["outcome"], failed["reason"], failed["mode"]) == ("failed", "it reads no argument", "")


def test_a_row_names_its_gpu(solving: ModuleType) -> None:
    assert solving.timed(json.loads(benched(1.5, "faster")))["gpu"] == "NVIDIA H200"


def test_kernels_with_library_steps_and_for_captured_sizes_count_apart(solving: ModuleType) -> None:
    commands = Commands()
    found = row(solving, 2, commands)
    assert (found["outcome"], found["mode"], found["reason"]) == ("solved", "any", "")
    assert commands.asked[1][commands.asked[1].index("--library") + 1] == "any"
    assert row(solving, 6)["mode"] == "captured sizes only"


def test_a_kernel_that_bench_finds_wrong_is_no_solution(solving: ModuleType) -> None:
    class Wrong(Commands):
        def __call__(self, words: Sequence[str]) -> tuple[int, str, str]:
            status, out, err = super().__call__(words)
            return status, out.replace('"passed", "reason": ""', '"wrong", "reason": "differs"'), err

    assert row(solving, 0, Wrong())["reason"] == "bench: wrong: differs"


def test_a_ratio_without_a_verdict_says_why(solving: ModuleType) -> None:
    assert row(solving, 0, Commands(1.5, None))["reason"] == "no verdict: the copy was not sampled"
    assert row(solving, 0, Commands(None, None))["reason"] == "", "an estimate"


@pytest.mark.parametrize("reason", ["no answer within 420 s", "bench: CUDA out of memory"])
def test_what_others_on_the_gpu_may_have_kept_from_ending_is_tried_again_alone(
    solving: ModuleType, reason: str
) -> None:
    memory, free = solving.Memory(10.0), list[float]()

    def attempt(said: str = reason) -> dict[str, str]:
        free.append(memory.free)
        return {"reason": said}

    assert solving.with_room(memory, 4.0, attempt) == {"reason": reason}
    assert solving.with_room(memory, math.inf, attempt) == {"reason": reason}
    solving.with_room(memory, 4.0, lambda: attempt("it reads no argument"))
    assert free == [6.0, 0.0, 0.0, 6.0]


def test_an_answer_that_cannot_be_read_is_a_row_with_its_reason(solving: ModuleType) -> None:
    class Cut(Commands):
        def __call__(self, words: Sequence[str]) -> tuple[int, str, str]:
            status, out, err = super().__call__(words)
            return status, out[:-1], err

    found = row(solving, 0, Cut())
    assert found["outcome"] == "failed"
    assert found["reason"].startswith("its answer could not be read: JSONDecodeError")


@pytest.mark.process
def test_what_is_under_way_when_a_part_ends_is_left_to_the_next_one(solving: ModuleType) -> None:
    with pytest.raises(solving.UnfinishedError):
        solving.run(["gallery"], end_s=0.0)
    status, out, _ = solving.run(["--version"])
    assert (status, "kernelwright" in out) == (0, True)


def test_who_needs_much_memory_waits_and_is_not_overtaken(solving: ModuleType) -> None:
    memory = solving.Memory(10.0)
    entered: SimpleQueue[str] = SimpleQueue()

    def take(name: str, size: float) -> None:
        with memory.taken(size):
            entered.put(name)

    with ThreadPoolExecutor(2) as threads:
        with memory.taken(1.0):
            large = threads.submit(take, "large", math.inf)
            while not memory.turn.locked():
                time.sleep(0.01)
            small = threads.submit(take, "small", 1.0)
            with pytest.raises(Empty):
                entered.get(timeout=0.2)
        for done in (large, small):
            done.result(600)
    assert [entered.get(), entered.get()] == ["large", "small"]
    assert memory.free == memory.most == 10.0


def test_what_the_run_says_of_mode_any_is_kept(solving: ModuleType) -> None:
    said = "search stops: trials\nfor reference, in mode any: passed, 1.421 ms; /tmp/run/in_mode_any.py\nact: 855 µs\n"
    assert solving.beside(said) == "passed, 1.421 ms"
    assert solving.beside("search stops: trials\n") == ""


def test_what_a_file_needs_is_known_without_its_data(solving: ModuleType, tmp_path: Path) -> None:
    file = tmp_path / "large.py"
    file.write_text(
        "import torch\n\n\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return x.sum(1)\n\n\n"
        "def get_inputs():\n    return [torch.rand(1 << 20, 1 << 20)]\n\n\ndef get_init_inputs():\n    return []\n"
    )
    assert solving.needed(file) == pytest.approx(2 + 22 * 1024, rel=1e-3)
    file.write_text(file.read_text().replace("x.sum(1)", "x * x.sum().item()"))
    assert solving.needed(file) == math.inf


def test_each_gpu_is_chosen_by_a_variable(solving: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """It names what CUDA shows to this process (`find_gpus`), in that order."""
    monkeypatch.setattr(solving, "find_gpus", lambda: [Gpu(f"GPU-{name}", "H100") for name in (3, 5, 7)])
    assert solving.shown_gpus(None) == [{}]
    assert solving.shown_gpus(2) == [{"CUDA_VISIBLE_DEVICES": "GPU-3"}, {"CUDA_VISIBLE_DEVICES": "GPU-5"}]
    with pytest.raises(RequestError, match="shows 3"):
        solving.shown_gpus(4)
    monkeypatch.setattr(solving, "find_gpus", list)
    assert solving.shown_gpus(2) == [{}, {}]


def test_means_are_per_mode_and_leave_estimates_out(solving: ModuleType) -> None:
    rows = [row(solving, 0), row(solving, 4, Commands(5.0)), row(solving, 2, Commands(0.5, "slower")),
            row(solving, 5, Commands(None, None)), row(solving, 1)]  # fmt: skip
    text = solving.summary(rows, 100)
    assert "5 of 100 files were run." in text
    assert "| none | 3 | 2 | 2.50 | 2 | 1 | 0 | 50% | 3.2 |" in text
    assert "| any | 1 | 1 | 0.50 | 0 | 0 | 1 |" in text
    assert "| finish | 0 | 0 | - |" in text
    assert "10.0 (9.5 to 10.5) (estimate)" in text
    assert "1.25 (1.15 to 1.35), faster" in text


def test_a_part_that_was_broken_off_costs_no_other_row(solving: ModuleType, tmp_path: Path) -> None:
    out = tmp_path / "rows.jsonl.gz"
    for number in range(3):
        with gzip.open(out, "at") as file:
            file.write(json.dumps({"file": str(number)}) + "\n")
    out.write_bytes(out.read_bytes()[:-9])
    assert [one["file"] for one in solving.read(out)] in (["0", "1"], ["0", "1", "2"])
    with gzip.open(out, "at") as file:
        file.write(json.dumps({"file": "after"}) + "\n")
    assert solving.read(out)[-1] == {"file": "after"}


def test_files_of_level_2_and_their_order_are_drawn_by_their_names(solving: ModuleType, folder: Path) -> None:
    names = [solving.name_of(file) for file in solving.chosen(folder, "1=6,2=2")]
    assert len([name for name in names if name.startswith("level2/")]) == 2
    assert len(names) == 8
    fewer, more = (solving.chosen(folder, f"1=6,2={count}") for count in (2, 4))
    assert set(fewer) < set(more)
    assert [one for one in more if one in fewer] == fewer
    assert [solving.name_of(one) for one in solving.chosen(folder, "1=6,2=2", "level1/3")] == ["level1/3_problem.py"]


def test_files_that_lost_are_run_again_with_most_to_win_first(solving: ModuleType, folder: Path) -> None:
    rows = [
        {"file": "level1/0_problem.py", "outcome": "solved", "ratio": 0.9, "verdict": "slower"},
        {"file": "level1/1_problem.py", "outcome": "solved", "ratio": 0.2, "verdict": "slower"},
        {"file": "level1/2_problem.py", "outcome": "failed"},
        {"file": "level1/3_problem.py", "outcome": "solved", "ratio": 1.5, "verdict": "faster"},
        {"file": "level1/4_problem.py", "outcome": "left"},
    ]
    files = solving.again(solving.chosen(folder, "1=6"), rows)
    assert [solving.name_of(one) for one in files] == [f"level1/{number}_problem.py" for number in (2, 1, 0, 5)]


def test_means_over_all_files_take_what_is_left_as_one(solving: ModuleType) -> None:
    def solved(kernel: float, compiled: float | None, ratio: float, verdict: str) -> dict[str, Any]:
        times = {"best": [kernel, None], "compile": [compiled, None]}
        return {"outcome": "solved", "ratio": ratio, "verdict": verdict, "times_us": times}

    rows = [solved(10.0, 40.0, 2.0, "faster"), solved(10.0, 10.1, 1.0, "tie"), solved(10.0, None, 0.5, "slower"),
            {"outcome": "left"}, {"outcome": "failed"}]  # fmt: skip
    assert solving.overall(rows, None, "best")[1:6] == ["4", "1", "1", "1", "1"]
    assert solving.overall(rows, None, "best")[6:8] == ["1.00", "1.12"]
    assert solving.overall(rows, "compile", "compile")[1:8] == ["3", "1", "1", "0", "1", "1.59", "2.00"]


def test_a_dtype_is_given_to_the_search_and_the_measurement(solving: ModuleType) -> None:
    commands = Commands()
    solving.solve(Path("level1/0_x.py"), commands, 25.0, 9, False, "bfloat16")
    assert [words[words.index("--dtype") + 1] for words in commands.asked] == ["bfloat16", "bfloat16"]
