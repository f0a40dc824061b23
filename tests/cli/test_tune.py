"""`tune`: with a fake worker, and with a recorded space and no worker at all."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import NoReturn

import msgspec
import pytest
from click.testing import CliRunner, Result

from command_line import PROBLEM, fault, run
from fakes import ENVIRONMENT
from kernelwright.cli.context import Parts
from kernelwright.cli.main import cli
from kernelwright.codec import decode, plain
from kernelwright.errors import WorkerError
from kernelwright.export.best_config import Pinned
from kernelwright.model import Candidate, Evaluation, Incumbent, QualificationReport, Status, Usage
from kernelwright.spaces.recorded import load, save, shipped
from kernelwright.spaces.space import Config
from tuned import BEST, DEFAULT, SOURCE, TuneWorker, recorded_space

SPACE_FILE = '[parameters]\nBLOCK = [32, 64, 128, 256, 512]\n"k.num_warps" = [1, 2, 4, 8]\n'


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "double"
    folder.mkdir()
    (folder / "problem.py").write_text(PROBLEM)
    (folder / "starter.py").write_text(SOURCE)
    (tmp_path / "space.toml").write_text(SPACE_FILE)
    return tmp_path


@pytest.fixture
def record(tmp_path: Path) -> Path:
    path = tmp_path / "double.json.gz"
    save(recorded_space(), path)
    return path


def without_worker(*words: str) -> Result:
    def refuse(target: str | None) -> NoReturn:
        raise AssertionError("a worker was started")

    return CliRunner().invoke(cli, ["tune", *words], obj=Parts(start_worker=refuse))


def history() -> list[dict[str, str]]:
    with Path("out/history.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_the_best_config_is_found_proven_and_written(tmp_path: Path) -> None:
    result = run("tune", "double", "--space", "space.toml", "--out", "out", "--trials", "20", worker=TuneWorker())
    assert result.exit_code == 0, result.stderr
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "best_config.json", "configs.py", "history.csv", "t4.json", "report.txt",
    }  # fmt: skip
    pinned = decode(Path("out/best_config.json").read_bytes(), Pinned)
    assert pinned.joint.config == BEST
    assert (pinned.kind, pinned.joint.confirmed) == ("measured", True)
    assert "why: faster than the default; confirmed with fresh inputs" in result.stdout
    assert Path("out/report.txt").read_text() == result.stdout


def test_each_failure_is_named_in_report_and_history() -> None:
    words = ("tune", "double", "--space", "space.toml", "--out", "out", "--sampler", "exhaustive")
    result = run(*words, worker=TuneWorker())
    assert "wrong: 4, 4 of them when they ran" in result.stdout
    assert "compile_error: 4\n" in result.stdout
    rows = history()
    assert {row["reason"] for row in rows} == {"", "case small: off by 3", "too much shared memory"}
    assert len(rows) == 20


def test_the_space_is_found_in_the_source_unless_it_is_stated() -> None:
    document = json.loads(run("tune", "double", "--trials", "2", "--json", worker=TuneWorker()).stdout)
    assert [one["name"] for one in document["space"]["parameters"]] == ["BLOCK", "k.num_warps"]
    assert document["settings"]["trials"] == 2


def test_json_is_the_only_thing_on_standard_output_and_folders_do_not_meet(tmp_path: Path) -> None:
    for _ in range(2):
        result = run("tune", "double", "--trials", "3", "--space", "space.toml", "--json", worker=TuneWorker())
        document = json.loads(result.stdout)
        assert document["joint"]["kind"] == "measured"
        assert "learning curve" in result.stderr
    assert len(list((tmp_path / "tuned").iterdir())) == 2


def test_cases_and_dtype_reach_the_worker() -> None:
    worker = TuneWorker()
    run("tune", "double", "--case", "big", "--dtype", "float16", "--trials", "1", worker=worker)
    assert worker.loaded == [("float16", ("big",), True)]


def test_without_a_gpu_times_are_estimates_and_are_called_so() -> None:
    worker = TuneWorker(where=msgspec.structs.replace(ENVIRONMENT, device=None))
    result = run("tune", "double", "--space", "space.toml", "--out", "out", worker=worker)
    assert "times are estimates, nothing was timed" in result.stdout
    assert decode(Path("out/best_config.json").read_bytes(), Pinned).kind == "estimate"


def test_a_history_s_configs_are_tried_first_and_its_times_are_not_believed() -> None:
    Path("old.csv").write_text(
        "timestamp,name,ms,tflops,status,config\n,a,0.000001,1,success,\"{'BLOCK': 64, 'num_warps': 2}\"\n"
        ",b,0.1,1,success,\"{'BLOCK': 96}\"\n"
    )
    words = ("tune", "double", "--space", "space.toml", "--trials", "2", "--import", "old.csv", "--json")
    result = run(*words, worker=TuneWorker())
    assert "1 imported configs are tried first; 1 are none of this space" in result.stderr
    tried = json.loads(result.stdout)["tried"]
    assert [one["origin"] for one in tried if one["launched"]] == ["default", "imported"]
    assert next(one for one in tried if one["origin"] == "imported")["config"] == {"BLOCK": 64, "k.num_warps": 2}
    assert all(time["median_us"] > 1 for one in tried for time in one["found"]["times"])


def test_the_t4_file_of_one_tuning_begins_the_next() -> None:
    words = ("tune", "double", "--space", "space.toml")
    run(*words, "--out", "out", "--sampler", "exhaustive", worker=TuneWorker())
    result = run(*words, "--import", "out/t4.json", "--trials", "2", "--json", worker=TuneWorker())
    launched = [one for one in json.loads(result.stdout)["tried"] if one["launched"]]
    assert [one["config"] for one in launched] == [DEFAULT, BEST]


def test_a_recorded_space_is_replayed_without_a_worker_and_says_so_everywhere(record: Path) -> None:
    result = without_worker("--recorded", str(record), "--out", "out", "--trials", "12")
    assert result.exit_code == 0, result.output
    assert "Fake GPU, replayed (measured" in result.stdout
    assert "times are replayed from a record, nothing ran" in result.stdout
    assert "finals of 4 configs on 1 case\n" in result.stderr
    assert "again" not in result.stderr
    assert "(µs, replayed)" in result.stdout
    pinned = decode(Path("out/best_config.json").read_bytes(), Pinned)
    assert (pinned.kind, pinned.joint.config) == ("replayed", BEST)
    kinds = {row["kind"] for row in history() if row["ms"]}
    assert kinds == {"replayed"}
    assert "replayed from a record of Fake GPU" in Path("out/configs.py").read_text()


def test_a_replay_says_how_far_the_choice_is_from_the_best_of_the_record(record: Path) -> None:
    exhaustive = without_worker("--recorded", str(record), "--sampler", "exhaustive")
    assert "the record's best takes" in exhaustive.stdout
    assert "the choice takes 1.0000 times as long" in exhaustive.stdout
    first = without_worker("--recorded", str(record), "--trials", "1")
    assert "the choice takes 1.2100 times as long" in first.stdout


def test_what_an_incomplete_record_does_not_hold_is_never_asked_for(record: Path) -> None:
    whole = load(record)
    part = tuple(entry for entry in whole.entries if entry.places[0] != 1)
    save(msgspec.structs.replace(whole, entries=part), record)
    words = ("--recorded", str(record), "--sampler", "exhaustive", "--json")
    result = without_worker(*words)
    assert "holds 16 of 20 configs; no other is asked for" in result.stderr
    tried = json.loads(result.stdout)["tried"]
    assert sorted(one["config"]["BLOCK"] for one in tried) == sorted([32, 128, 256, 512] * 4)


def test_records_that_ship_are_replayed_by_their_name() -> None:
    assert list(shipped()) == ["depthwise_conv2d", "matmul", "matmul_leaky_relu", "softmax"]
    for name in shipped():
        document = json.loads(without_worker("--recorded", name, "--trials", "16", "--json").stdout)
        assert document["kind"] == document["joint"]["kind"] == "replayed"
        assert document["joint"]["ratio"]["speedup"] >= 1.0
        assert document["least_us"] <= document["joint"]["time_us"] * 1.000001
    assert f"give a file, or one of {', '.join(shipped())}" in fault(without_worker("--recorded", "none"))


def test_the_same_seed_replays_to_the_same_pick_and_another_may_not(record: Path) -> None:
    def configs_tried(seed: str) -> list[Config]:
        words = ("--recorded", str(record), "--sampler", "random", "--trials", "6", "--seed", seed, "--json")
        document = json.loads(without_worker(*words).stdout)
        return [one["config"] for one in document["tried"]]

    assert configs_tried("1") == configs_tried("1")
    assert configs_tried("1") != configs_tried("2")


def test_what_a_record_decides_cannot_be_asked_for(record: Path) -> None:
    for words in (
        ("--case", "big"),
        ("--space", "space.toml"),
        ("--dtype", "float16"),
        ("--unqualified",),
        ("--cases", "stated"),
    ):
        result = without_worker("--recorded", str(record), *words)
        assert result.exit_code == 2
        assert f"{words[0]} has no meaning with --recorded" in result.stderr
    Path("other.py").write_text(SOURCE + "# changed\n")
    assert "another source than other.py" in fault(without_worker("double", "other.py", "--recorded", str(record)))
    assert "a record of double, not of softmax" in fault(without_worker("softmax", "--recorded", str(record)))
    assert without_worker("double", "double/starter.py", "--recorded", str(record), "--trials", "1").exit_code == 0


def test_where_no_config_passes_the_answer_is_no_and_nothing_old_is_left() -> None:
    class Broken(TuneWorker):
        def evaluate(self, candidate: Candidate, purpose: str, incumbent: Incumbent | None = None) -> Evaluation:
            return Evaluation(status=Status.CRASHED, reason="died")

    words = ("tune", "double", "--space", "space.toml", "--out", "out", "--trials", "3")
    assert run(*words, worker=TuneWorker()).exit_code == 0
    result = run(*words, worker=Broken())
    assert result.exit_code == 1
    assert "no config passed" in result.stdout
    assert not Path("out/best_config.json").exists()
    assert "crashed" in Path("out/history.csv").read_text()


def test_what_was_tried_is_on_disk_when_the_worker_fails() -> None:
    class Dying(TuneWorker):
        def evaluate(self, candidate: Candidate, purpose: str, incumbent: Incumbent | None = None) -> Evaluation:
            if len(self.calls) >= 5:
                raise WorkerError("the worker ended without an answer")
            return super().evaluate(candidate, purpose, incumbent)

    words = ("tune", "double", "--space", "space.toml", "--out", "out", "--in-flight", "1", "--trials", "20")
    result = run(*words, worker=Dying())
    assert result.exit_code == 2
    assert "the worker ended without an answer" in result.stderr
    measured = [row for row in history() if row["ms"]]
    assert 1 <= len(measured) <= 5


def test_a_problem_that_does_not_qualify_is_refused_unless_it_is_allowed_and_then_marked() -> None:
    worker = TuneWorker()
    worker.qualification = QualificationReport(problem="double", qualifies=False, reason="zeros would pass")
    assert "zeros would pass" in fault(run("tune", "double", worker=worker))
    result = run("tune", "double", "--unqualified", "--trials", "2", "--out", "out", worker=worker)
    assert "NOT QUALIFIED" in result.stdout
    assert decode(Path("out/best_config.json").read_bytes(), Pinned).unqualified == "zeros would pass"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("double", "--sampler", "annealing"), "there is no sampler 'annealing'"),
        (("double", "none.py"), "no candidate file at 'none.py'"),
        (("double", "--import", "none.csv"), "none.csv cannot be read"),
        (("double", "--recorded", "none.json"), "no recorded space at 'none.json'"),
        (("double", "--space", "none.toml"), "none.toml cannot be read"),
        (("double", "--out", "space.toml"), "--out space.toml is a file"),
    ],
)
def test_what_cannot_be_done_is_one_line(words: tuple[str, ...], said: str) -> None:
    assert said in fault(run("tune", *words, worker=TuneWorker()))


def test_a_problem_or_a_record_must_be_named() -> None:
    result = run("tune")
    assert result.exit_code == 2
    assert "give PROBLEM, or --recorded FILE" in result.stderr


# --- advice -------------------------------------------------------------------------------------------------

NAMED = [{"BLOCK": BEST["BLOCK"], "num_warps": BEST["k.num_warps"]}, {"BLOCK": 96}, {"BLOCK": 512}]


def test_configs_that_a_script_names_are_tried_first_and_the_rest_is_searched() -> None:
    Path("script.jsonl").write_text(json.dumps({"reply": f"```json\n{json.dumps(NAMED)}\n```"}) + "\n")
    words = ("tune", "double", "--space", "space.toml", "--trials", "6", "--out", "out", "--json")
    result = run(*words, "--advisor", "script", "--advisor-option", "file=script.jsonl", worker=TuneWorker())
    document = json.loads(result.stdout)
    launched = [one for one in document["tried"] if one["launched"]]
    assert [one["origin"] for one in launched][:3] == ["default", "advised", "advised"]
    assert launched[1]["config"] == BEST
    assert len(launched) == 6
    assert (document["advice"]["author"], document["advice"]["useless"]) == ("script", 1)
    assert "script named 2 configs to begin with and 1 that are none of the space; the best of them takes 1.000" in (
        result.stderr
    )
    assert "BLOCK" in Path("out/advice.prompt.md").read_text()


def test_the_mailbox_waits_for_an_answer_and_the_same_command_goes_on_with_it() -> None:
    words = ("tune", "double", "--space", "space.toml", "--trials", "4", "--advisor", "mailbox", "--out", "out")
    worker = TuneWorker()
    waiting = run(*words, worker=worker)
    assert waiting.exit_code == 0
    assert "waiting for out/advice.reply.md" in waiting.stderr
    assert worker.calls == []
    assert not Path("out/history.csv").exists()
    assert json.loads(run(*words, "--json", worker=TuneWorker()).stdout) == {"waits_in": "out"}
    Path("out/advice.reply.md").write_text("half of an ans")
    assert "out/advice.reply.md cannot be used" in fault(run(*words, worker=TuneWorker()))
    Path("out/advice.reply.md").write_text(json.dumps(NAMED))
    went_on = run(*words, worker=TuneWorker())
    assert went_on.exit_code == 0
    assert "mailbox named 2 configs" in went_on.stdout


def test_what_an_advisor_cost_is_known_to_the_call_after_the_one_that_paid() -> None:
    usage = {"input_tokens": 70, "output_tokens": 7, "cost_usd": 0.25, "requests": 1}
    Path("script.jsonl").write_text(json.dumps({"reply": json.dumps(NAMED), "usage": usage}) + "\n")
    words = ("tune", "double", "--space", "space.toml", "--trials", "3", "--out", "out", "--json")
    first = run(*words, "--advisor", "script", "--advisor-option", "file=script.jsonl", worker=TuneWorker())
    assert json.loads(first.stdout)["advice"]["usage"]["requests"] == 1
    Path("script.jsonl").write_text(json.dumps({"reply": "another answer, never asked for"}) + "\n")
    again = run(*words, "--advisor", "script", "--advisor-option", "file=script.jsonl", worker=TuneWorker())
    assert json.loads(again.stdout)["advice"]["usage"] == plain(Usage(**usage))
    Path("out/advice.reply.md").write_text(json.dumps(NAMED[:1]))
    by_hand = run(*words, "--advisor", "script", "--advisor-option", "file=script.jsonl", worker=TuneWorker())
    assert json.loads(by_hand.stdout)["advice"]["usage"]["requests"] == 0, "a person wrote this one"


def test_an_answer_that_is_of_no_use_is_said_and_the_search_goes_on() -> None:
    Path("script.jsonl").write_text('{"reply": "take the usual ones"}\n')
    words = ("tune", "double", "--space", "space.toml", "--trials", "3", "--advisor", "script")
    result = run(*words, "--advisor-option", "file=script.jsonl", worker=TuneWorker())
    assert result.exit_code == 0
    assert "script was asked for configs to begin with, in vain: the reply has no JSON list" in result.stdout


def test_a_recorded_space_takes_advice_too(record: Path) -> None:
    Path("script.jsonl").write_text(json.dumps({"reply": json.dumps(NAMED)}) + "\n")
    words = ("tune", "--recorded", str(record), "--trials", "4", "--json", "--advisor", "script")
    document = json.loads(run(*words, "--advisor-option", "file=script.jsonl").stdout)
    launched = [one["origin"] for one in document["tried"] if one["launched"]]
    assert launched[:2] == ["default", "advised"]


def test_options_for_an_advisor_need_one() -> None:
    message = fault(run("tune", "double", "--model", "small", worker=TuneWorker()))
    assert "model is for an advisor, and none is named" in message
