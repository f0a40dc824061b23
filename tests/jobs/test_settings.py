"""`kernelwright.toml`: every field reaches what reads it, what is typed wins, and a mistake is named with its line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import Result

from command_line import PROBLEM, fault, run
from kernelwright.cli.main import cli
from kernelwright.jobs.settings import settings_from
from kernelwright.journal import Journal
from kernelwright.model import SWITCHES, Budget, RunOptions, RunSettings
from kernelwright.model.run import Switch
from llm_server import llm_server
from samples import SOURCE

WHOLE = """\
problem = "double"
starter = "other.py"
strategy = "evolve"
proposer = "mailbox"
trials = 3
minutes = 5
tokens = 1000
usd = 2.5
gpu_seconds = 100.0
seed = 7
in_flight = 2
thinking = 3
dtype = "bfloat16"
cases = "stated"
library = "none"
control = "random"
lessons = "cards"
unqualified = true
known = "others"
no_known = false
no_cache = false
no_source = false
out = "there"
target = "sm_90"

[option]
islands = 1
children = 1

[proposer_option]
settle_s = 0.5
"""
LANES = 'gpus = 1\nworkers = ["ssh:box"]\n'
MODEL = 'problem = "double"\nproposer = "openai"\nmodel = "small"\nbase_url = "http://127.0.0.1:9"\n'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("double").mkdir()
    Path("double/problem.py").write_text(PROBLEM)
    Path("double/starter.py").write_text(SOURCE)
    Path("others/one").mkdir(parents=True)
    Path("others/one/problem.py").write_text(PROBLEM)
    Path("other.py").write_text(SOURCE.replace("BLOCK=1024", "BLOCK=256"))
    return tmp_path


def written(text: str, name: str = "kernelwright.toml") -> None:
    Path(name).write_text(text)


def settings_of(folder: str) -> RunSettings:
    with Journal.open(Path(folder)) as journal:
        return journal.info.settings


def optimize(*words: str, **environment: str) -> Result:
    result = run("optimize", *words, **environment)
    assert result.exit_code in (0, 1), result.stderr
    return result


def test_every_field_reaches_the_run() -> None:
    written(WHOLE)
    result = optimize()
    assert "settings from kernelwright.toml" in result.stderr
    settings = settings_of("there")
    assert settings == RunSettings(
        problem="double",
        strategy="evolve",
        strategy_options={"operators": "portfolio", "tuning": 4, "islands": 1, "children": 1},
        proposer="mailbox",
        proposer_options={"settle_s": 0.5},
        seed=7,
        budget=Budget(trials=3, minutes=5, tokens=1000, usd=2.5, gpu_seconds=100.0),
        in_flight=2,
        thinking=3,
        dtype="bfloat16",
        cases="stated",
        control="random",
        lessons="cards",
        known="others",
        unqualified=True,
        library="none",
        starter="other.py",
    )
    with Journal.open(Path("there")) as journal:
        assert journal.info.starter is not None
        assert "BLOCK=256" in journal.info.starter.source


def test_the_two_fields_of_models_reach_the_proposer_and_the_target_the_worker() -> None:
    written(MODEL)
    words = ("--trials", "2", "--proposer-option", "attempts=1", "--option", "tuning=0")
    assert run("optimize", *words, "--out", "run").exit_code == 2, "an address is typed, or confirmed"
    result = run("optimize", *words, "--out", "run", "--base-url", "http://127.0.0.1:9")
    assert "127.0.0.1" in result.stderr, "nobody listens there"
    with llm_server() as server:
        run("optimize", *words, "--out", "run", "--base-url", server.url)
    assert settings_of("run").proposer_options == {"attempts": 1, "model": "small", "base_url": server.url}
    targets: list[str | None] = []

    def start(target: str | None) -> Any:
        targets.append(target)
        raise click.ClickException("no worker today")

    from click.testing import CliRunner

    from kernelwright.cli.context import Parts

    written('problem = "double"\ntarget = "sm_80"\n')
    CliRunner().invoke(cli, ["optimize"], obj=Parts(start_worker=start))
    assert targets == ["sm_80"]


def test_the_problem_s_text_is_withheld_where_the_file_says_so_and_lessons_do_not_go_with_it() -> None:
    written('problem = "double"\nno_source = true\nout = "there"\n')
    optimize()
    assert settings_of("there").no_source
    refused = run("optimize", "--lessons", "cards")
    assert refused.exit_code == 2
    assert "leave --lessons or --no-source out" in refused.stderr


def test_every_field_is_an_option_of_optimize_and_these_tests_set_each() -> None:
    command = cli.get_command(click.Context(cli), "optimize")
    assert command is not None
    names = {param.name for param in command.params}
    assert set(RunOptions.__struct_fields__) <= names
    assert all(
        f"\n{name} = " in f"\n{WHOLE}{MODEL}{LANES}" or f"[{name}]" in WHOLE for name in RunOptions.__struct_fields__
    )


def test_what_is_typed_wins_and_single_keys_of_a_table_too() -> None:
    written(WHOLE)
    optimize("--out", "run", "--trials", "2", "--seed", "1", "--option", "islands=2", "--starter", "double/starter.py")
    settings = settings_of("run")
    assert (settings.budget.trials, settings.budget.minutes, settings.seed) == (2, 5, 1)
    assert settings.strategy_options["islands"] == 2
    assert settings.strategy_options["children"] == 1
    with Journal.open(Path("run")) as journal:
        assert journal.info.starter is not None
        assert "BLOCK=1024" in journal.info.starter.source


def test_another_strategy_or_proposer_comes_without_the_options_of_the_files_own() -> None:
    written(WHOLE.replace('control = "random"\n', "") + "")
    optimize("--out", "run", "--strategy", "greedy", "--proposer", "builtin", "--option", "steps=1")
    settings = settings_of("run")
    assert settings.strategy_options == {"ahead": 4, "steps": 1}, "the builtin proposer varies numbers only"
    assert settings.proposer_options == {}


def test_a_file_that_is_named_is_read_instead_of_the_one_in_the_folder() -> None:
    written('problem = "double"\ntrials = 2\nseed = 1\n')
    written('problem = "double"\ntrials = 2\nseed = 2\n', "other.toml")
    optimize("--settings", "other.toml", "--out", "run")
    assert settings_of("run").seed == 2


def test_a_resumed_run_reads_no_file() -> None:
    optimize("double", "--out", "run", "--trials", "2")
    written('problem = "other"\ntrials = 99\nnonsense = 1\n')
    result = optimize("--resume", "run", "--trials", "3")
    assert "settings from" not in result.stderr
    assert "3 of 3 trials" in result.stdout
    assert "--settings was decided when the run began" in run("optimize", "--resume", "run", "--settings", "x").stderr


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('problem = "double"\n\nwidht = 4\n', "kernelwright.toml, line 3: there is no field 'widht'"),
        ("trails = 4\n", "did you mean trials? its fields: problem, starter, strategy"),
        ("seed = 1\n[options]\nwidth = 4\n", "line 2: there is no field 'options' (did you mean option?"),
        ('problem = "double"\ntrials = "many"\n', "line 2: trials cannot be used"),
        ("trials = 0\n", "line 1: trials cannot be used"),
        ('seed = 1\ncontrol = "greedy"\n', "line 2: control cannot be used"),
        ("[option]\nwidth = [1]\n", "line 1: option cannot be used"),
        ("gpus = 0\n", "line 1: gpus cannot be used"),
        ('seed = 1\nworkers = "ssh:box"\n', "line 2: workers cannot be used"),
        ("minutes = inf\n", "kernelwright.toml, line 1: minutes cannot be used"),
        ("usd = nan\n", "kernelwright.toml, line 1: usd cannot be used"),
        ("trials = \n", "kernelwright.toml is not TOML"),
        (f"trials = {'9' * 5000}\n", "kernelwright.toml is not TOML"),
    ],
)
def test_a_mistake_is_one_line_that_says_where_and_what_is_allowed(text: str, words: str) -> None:
    written(text)
    assert words in fault(run("optimize", "double"))


def test_a_file_that_is_missing_and_a_request_without_a_problem_are_refused() -> None:
    assert "settings file gone.toml cannot be read" in fault(run("optimize", "double", "--settings", "gone.toml"))
    assert "give PROBLEM (or problem = … in kernelwright.toml) or --resume RUN." in run("optimize").stderr


@pytest.mark.parametrize("switch", SWITCHES, ids=lambda switch: switch.name)
def test_a_switch_is_off_unless_it_is_given_and_then_the_run_has_it(switch: Switch) -> None:
    given = RunOptions(problem="double", **{switch.name: True})  # type: ignore[arg-type]
    assert getattr(settings_from(given), switch.name) is True
    assert getattr(settings_from(RunOptions(problem="double")), switch.name) is False
