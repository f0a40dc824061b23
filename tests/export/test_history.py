"""`history.csv` and T4: written whole, and read back as nothing but configs to try."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from kernelwright.errors import ConfigError
from kernelwright.export.history import COLUMNS, history_rows, history_text
from kernelwright.export.t4 import INVALIDITY, t4_document, t4_rows
from kernelwright.model import Status
from kernelwright.spaces.samplers.simple import exhaustive
from kernelwright.spaces.space import Config
from kernelwright.spaces.stated import configs_from
from kernelwright.tune import Outcome, Settings, tune
from tuned import BEST, DEFAULT, SOURCE, SPACE, FakeDevice, problem

SEED = """\
timestamp,name,ms,tflops,status,config
2026-01-05 10:00:00,manual_baseline,0.7400,182.69,success,"{'BLOCK': 128, 'num_warps': 4, 'ACTIVATION': 'leaky_relu'}"
2026-01-05 10:00:09,fused_gen_0_var_0,N/A,0,correctness_fail,"{'BLOCK': 64, 'num_warps': 2}"
2026-01-05 10:00:21,llm_variant_1,0.6710,204.71,success,"{'BLOCK': 256, 'num_warps': 8}"
"""


def fails(config: Config) -> tuple[Status, str] | None:
    return (Status.WRONG, "off\nby 3") if config["BLOCK"] == 32 else None


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    device = FakeDevice(cases=("big", "wide"), fails=fails)
    settings = Settings(sampler="exhaustive")
    info = problem("big", "wide")
    return tune(device, SPACE, problem=info, candidate=SOURCE, settings=settings, sampler=exhaustive)


@pytest.fixture
def rows(outcome: Outcome) -> list[dict[str, str]]:
    text = history_text(outcome.tried, outcome.cases, outcome.kind, outcome.device, outcome.library)
    return list(csv.DictReader(io.StringIO(text)))


def test_every_config_has_a_row_for_each_case_and_failures_have_one(rows: list[dict[str, str]]) -> None:
    assert tuple(rows[0]) == COLUMNS
    assert len(rows) == 16 * 2 + 4
    failed = [row for row in rows if row["status"] == "wrong"]
    assert len(failed) == 4
    assert {(row["ms"], row["tflops"], row["case"], row["reason"]) for row in failed} == {("", "", "", "off by 3")}


def test_times_say_what_they_are_and_rates_come_from_the_work_of_the_case(rows: list[dict[str, str]]) -> None:
    best = next(row for row in rows if row["case"] == "big" and json.loads(row["config"]) == BEST)
    assert float(best["ms"]) == pytest.approx(0.1)
    assert float(best["tflops"]) == pytest.approx(2.0)  # 200 MFLOP in 100 µs
    assert (best["kind"], best["device"]) == ("measured", "Fake GPU")
    assert int(best["generation"]) >= 0


def test_a_history_read_back_gives_its_configs_fastest_first(outcome: Outcome, tmp_path: Path) -> None:
    path = tmp_path / "history.csv"
    path.write_text(history_text(outcome.tried, outcome.cases, outcome.kind, outcome.device, outcome.library))
    found, useless = configs_from(history_rows(path), SPACE)
    assert useless == 0
    assert len(found) == 20
    assert found[0] == BEST
    assert {config["BLOCK"] for config in found[16:]} == {32}


def test_a_history_of_the_config_tuner_that_this_format_follows_is_read(tmp_path: Path) -> None:
    path = tmp_path / "history.csv"
    path.write_text(SEED)
    found, useless = configs_from(history_rows(path), SPACE)
    assert found == [BEST, DEFAULT, {"BLOCK": 64, "k.num_warps": 2}]
    assert useless == 0


def test_a_history_with_a_column_for_each_value_is_read(tmp_path: Path) -> None:
    path = tmp_path / "history.csv"
    path.write_text("name,BLOCK,k.num_warps,ms\na,64,8,0.3\nb,256,8,0.1\n")
    assert configs_from(history_rows(path), SPACE)[0] == [BEST, {"BLOCK": 64, "k.num_warps": 8}]


@pytest.mark.parametrize(
    "text", ["", "a,b\n1,2\n", "config\n__import__('os').abort()\n", "config\n[1]\n", 'config\n"{1: open}"\n', "\0"]
)
def test_what_holds_no_config_is_refused_and_never_run(tmp_path: Path, text: str) -> None:
    path = tmp_path / "history.csv"
    path.write_text(text)
    if text.startswith("a,b"):
        assert configs_from(history_rows(path), SPACE) == ([], 1)
        return
    with pytest.raises(ConfigError):
        history_rows(path)


def test_t4_has_what_its_schema_asks_for(outcome: Outcome) -> None:
    document = json.loads(json.dumps(t4_document(outcome.tried, outcome.kind, outcome.device, outcome.library)))
    assert document["schema_version"] == "1.0.0"
    assert len(document["results"]) == 20
    for result in document["results"]:
        assert set(result) >= {"configuration", "times", "invalidity", "correctness"}
        assert result["invalidity"] in ("timeout", "compile", "runtime", "correctness", "constraints", "correct")
        assert isinstance(result["correctness"], int)
        assert all(isinstance(one["name"], str) and isinstance(one["unit"], str) for one in result["measurements"])
        assert isinstance(result["times"]["runtimes"], list)
    wrong = next(one for one in document["results"] if one["configuration"]["BLOCK"] == 32)
    assert (wrong["invalidity"], wrong["correctness"], wrong["times"]["runtimes"]) == ("correctness", 0, [])


def test_every_status_has_a_word_in_t4() -> None:
    assert set(INVALIDITY) == set(Status)


def test_t4_times_are_milliseconds_and_stages_bear_its_names(outcome: Outcome) -> None:
    results = t4_document(outcome.tried, outcome.kind, outcome.device, outcome.library)["results"]
    best = next(one for one in results if one["configuration"] == BEST)
    measured = {one["name"]: one["value"] for one in best["measurements"]}
    assert measured["time big"] == pytest.approx(0.1)
    assert best["times"]["compilation_time"] == 500.0
    assert best["times"]["benchmark"] == 100.0
    assert measured["time is"] == "measured"


def test_t4_read_back_gives_its_configs_fastest_first(outcome: Outcome, tmp_path: Path) -> None:
    path = tmp_path / "t4.json"
    path.write_text(json.dumps(t4_document(outcome.tried, outcome.kind, outcome.device, outcome.library)))
    found, _ = configs_from(t4_rows(path), SPACE)
    fastest = min((one for one in outcome.tried if one.score_us is not None), key=lambda one: one.score_us or 0.0)
    assert found[0] == fastest.config
    assert len(found) == 20
    assert {config["BLOCK"] for config in found[16:]} == {32}


def test_a_t4_file_of_kernel_tuner_is_read(tmp_path: Path) -> None:
    def one(block: int, time_ms: float, invalidity: str = "correct") -> object:
        return {
            "timestamp": "2024-05-01", "configuration": {"BLOCK": block, "code": "a.cu"}, "objectives": ["time"],
            "times": {"compilation": 300.1, "framework": 1.0, "search_algorithm": 0.2, "validation": 0, "runtimes": []},
            "invalidity": invalidity, "correctness": 1,
            "measurements": [{"name": "time", "value": time_ms, "unit": "ms"}],
        }  # fmt: skip

    path = tmp_path / "results.json"
    entries = [one(64, 0.3), one(32, 0.01, "compile"), one(256, 0.1)]
    path.write_text(json.dumps({"schema_version": "1.0.0", "results": entries}))
    assert [config["BLOCK"] for config in t4_rows(path)] == [256, 64, 32]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"results": [1]}', '{"results": [{"configuration": 3}]}'])
def test_what_is_no_t4_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "t4.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match="is no T4 results file"):
        t4_rows(path)
