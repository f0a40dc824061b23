"""The trace folder."""

from __future__ import annotations

import ast
import json
from dataclasses import replace
from pathlib import Path

import msgspec

from kernelwright.model import Claim, Counter, Exchange, LaunchProfile, Operator, Profile, Reflection
from kernelwright.report.trace import TraceRounds, trace_files
from kernelwright.text.escape import acting
from samples import passed, run_view, short_run, trial


def test_each_round_has_its_best_kernel_and_what_was_asked() -> None:
    files = trace_files(run_view(short_run()))
    for name in ("kernel.py", "benchmark_results.json", "strategy.json", "optimized_resources.json"):
        assert {f"round_0{number}/{name}" for number in (0, 1, 2)} <= set(files)
    assert "round_00/input_resources.json" not in files
    assert json.loads(files["round_02/input_resources.json"])[0]["registers"] == 40
    asked = json.loads(files["round_02/strategy.json"])["asked"]
    assert [(entry["trial"], entry["operator"], entry["outcome"]) for entry in asked] == [
        (3, "repair", "passed"),
        (4, "improve", "passed"),
        (5, "improve", "no_candidate"),
    ]


def test_a_kernel_file_is_python_with_its_config_written_in_and_its_outcome_above() -> None:
    kernel = trace_files(run_view(short_run()))["round_02/kernel.py"]
    ast.parse(kernel)
    assert "BLOCK=4096" in kernel
    assert kernel.splitlines()[:2] == [
        "# softmax, trial 4, round 2: improve of 1, by builtin",
        "# passed: 25.00 µs (estimate) in the search",
    ]


def test_losers_and_repairs_are_kept_with_their_outcome() -> None:
    files = trace_files(run_view(short_run()))
    loser = files["round_01/others/002_improve_wrong.py"]
    assert "# wrong: tiny: element (0, 3) is off by 0.5" in loser
    assert "round_02/others/003_repair_passed.py" in files
    assert files["round_02/others/005_improve_no_candidate.txt"] == "reply without code\n"


def test_times_say_whether_they_are_estimates() -> None:
    results = json.loads(trace_files(run_view(short_run()))["round_01/benchmark_results.json"])
    assert results["kind"] == "estimate"
    assert results["starter_us"] == 40.0
    assert results["best_so_far_us"] == 30.0
    assert results["cases"][0]["bound_us"] == 16.0
    assert results["cases"][0]["kind"] == "estimate"


def test_prompts_and_replies_are_there_only_where_they_were_written() -> None:
    trials = (short_run()[0], trial(1, passed(30.0), prompt="p", reply="r"), trial(2, passed(35.0), prompt="q"))
    files = trace_files(run_view(trials, blobs={"p": "the prompt", "r": "the reply", "q": "another"}))
    assert files["round_01/opt_prompt.txt"] == "the prompt"
    assert files["round_01/opt_reply.txt"] == "the reply"
    assert files["round_01/others/002_improve_passed.prompt.txt"] == "another"
    assert "round_00/opt_prompt.txt" not in files


def test_what_cannot_be_filled_is_absent_and_the_readme_says_why() -> None:
    files = trace_files(run_view(short_run()))
    for name in ("input_ncu_metrics.json", "bottleneck_prompt.txt", "reflexion.txt"):
        assert not any(path.endswith(name) for path in files)
        assert name in files["README.txt"]


def test_a_round_without_a_pass_has_no_kernel() -> None:
    files = trace_files(run_view((trial(0, None, round=0, operator=Operator.SEED, parents=(), error="no code"),)))
    assert "round_00/kernel.py" not in files
    assert "round_00/strategy.json" in files


def test_writing_again_leaves_nothing_from_before(tmp_path: Path) -> None:
    folder = tmp_path / "trace"
    view = run_view(short_run())
    TraceRounds(tmp_path).write(view)
    (folder / "round_09").mkdir()
    (folder / "round_01" / "notes").mkdir()
    TraceRounds(tmp_path).write(view)
    written = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert written == set(trace_files(view))
    assert not (folder / "round_09").exists()


def test_what_was_asked_beside_a_kernel_and_what_was_learned_of_it_are_in_the_trace() -> None:
    trials = list(short_run())
    first, later = trials[1], trials[2]
    claims = (Claim(counter="registers", direction="up", holds=True), Claim(counter="x", direction="up", holds=None))
    proposal = msgspec.structs.replace(
        later.proposal,
        exchanges=(Exchange(kind="plan", prompt="p", reply="r"),),
        reflection=Reflection(trial=first.number, lesson="It spills.", claims=claims),
    )
    trials[2] = msgspec.structs.replace(later, proposal=proposal)
    files = trace_files(replace(run_view(tuple(trials)), blob=lambda sha: f"text of {sha}"))
    texts = {name.rpartition("/")[2]: text for name, text in files.items()}
    plan = next(text for name, text in texts.items() if name.endswith("plan_prompt.txt"))
    assert plan == "text of p"
    learned = next(text for name, text in texts.items() if name.endswith("reflexion.txt"))
    assert learned.startswith("It spills.\n")
    assert "claim: registers up: holds\n" in learned
    assert "claim: x up: cannot be checked\nnot passed on" in learned


def profile_by(tool: str | None) -> Profile:
    counters = (
        Counter(name="dram_read", value=6.7e7, unit="bytes", tool=tool or "compiler", metric="dram__bytes_read.sum"),
        Counter(name="spills", value=64, unit="bytes/thread", tool="compiler"),
    )
    return Profile(
        implementation="x", case="square", device="Fake GPU" if tool else None, target="sm_90", tool=tool,
        launches=(LaunchProfile(kernel="softmax_kernel", counters=counters),),
    )  # fmt: skip


def test_what_nsight_compute_counted_has_its_own_names_and_nothing_of_other_tools() -> None:
    view = replace(run_view(short_run()), profiles={1: (profile_by("ncu"),), 4: (profile_by("ncu"),)})
    files = trace_files(view)
    (launch,) = json.loads(files["round_02/input_ncu_metrics.json"])["square"]
    assert launch == {
        "kernel": "softmax_kernel", "metrics": {"dram__bytes_read.sum": {"value": 6.7e7, "unit": "bytes"}},
    }  # fmt: skip
    assert "round_02/optimized_ncu_metrics.json" in files
    assert "spills" in files["round_02/input_profile.json"]
    assert "bottleneck: spills in softmax_kernel" in files["round_02/bottleneck.txt"]
    assert "round_00/input_profile.json" not in files


def test_what_only_the_compiler_said_is_not_called_a_metric_of_nsight_compute() -> None:
    files = trace_files(replace(run_view(short_run()), profiles={1: (profile_by(None),)}))
    assert "round_02/input_profile.json" in files
    assert [name for name in files if "ncu_metrics" in name] == []


def test_nothing_in_a_trace_acts_on_a_terminal_and_what_is_code_or_json_stays_so() -> None:
    hostile = "x = 'wide\x1b[2J\u202e'\x9b"
    trials = []
    for one in short_run():
        candidate = one.proposal.candidate
        if candidate is not None:
            candidate = msgspec.structs.replace(
                candidate, source=f"{candidate.source}# \x1b[31m{hostile}\r\nY = '\x1b'\n"
            )
        error = hostile if one.proposal.error else None
        proposal = msgspec.structs.replace(
            one.proposal, candidate=candidate, note=hostile, error=error, prompt="p", reply="p"
        )
        trials.append(msgspec.structs.replace(one, proposal=proposal))
    files = trace_files(replace(run_view(tuple(trials)), blob=lambda sha: hostile))
    for name, text in files.items():
        assert acting(text) is None, name
        assert "\r" not in text
        if name.endswith(".json"):
            json.loads(text)
        elif name.endswith(".py"):
            ast.parse(text)
    asked = json.loads(files["round_01/strategy.json"])["asked"]
    assert asked[0]["note"] == hostile, "escaped, it means the same"
