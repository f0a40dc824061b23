"""What a settings file and a journal may not decide alone: nothing is sent, read or written that was not typed."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import Result

import searching
from command_line import PROBLEM, fault, run
from fakes import FakeWorker
from kernelwright.jobs.consent import HARMLESS, remembered_in
from kernelwright.journal import Journal
from kernelwright.propose.options import MailboxOptions, ModelOptions
from llm_server import llm_server
from samples import SOURCE

SECRET = "s3cret-of-the-user"
LIMITS = ("--trials", "2", "--option", "tuning=0", "--in-flight", "1")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    project = tmp_path / "project"
    (project / "double").mkdir(parents=True)
    monkeypatch.chdir(project)
    Path("double/problem.py").write_text(PROBLEM)
    Path("double/starter.py").write_text(SOURCE)
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GITHUB_TOKEN", "MY_KEY"):
        monkeypatch.setenv(name, SECRET)
    return tmp_path


def settings(text: str, name: str = "kernelwright.toml") -> None:
    Path(name).write_text(f'problem = "double"\n{text}')


def model(url: str, more: str = "", proposer: str = "openai") -> str:
    options = f"[proposer_option]\nattempts = 1\n{more}"
    return f'proposer = "{proposer}"\nmodel = "m"\nbase_url = "{url}"\n{options}'


def optimize(*words: str, worker: FakeWorker | None = None) -> Result:
    return run("optimize", "--out", "run", *LIMITS, *words, worker=worker)


@pytest.mark.parametrize("proposer", ["openai", "anthropic"])
@pytest.mark.parametrize("more", ["", 'key_env = "GITHUB_TOKEN"', 'key_env = "MY_KEY"'])
@pytest.mark.parametrize("named", [False, True])
def test_a_settings_file_sends_nothing_to_an_address_that_was_not_typed(proposer: str, more: str, named: bool) -> None:
    with llm_server() as server:
        settings(model(server.url, more, proposer), "s.toml" if named else "kernelwright.toml")
        worker = FakeWorker()
        words = ("--settings", "s.toml") if named else ()
        line = fault_after_notes(optimize(*words, worker=worker))
        assert server.seen == []
    assert f"type --base-url {server.url}" in line
    assert ("--proposer-option key_env=" in line) == bool(more)
    assert SECRET not in line
    assert worker.calls == []
    assert not Path("run").exists()


def fault_after_notes(result: Result) -> str:
    assert result.exit_code == 2, result.output
    assert isinstance(result.exception, SystemExit)
    *notes, line = result.stderr.splitlines()
    assert line.startswith("error: ")
    assert all(note.startswith("settings from") for note in notes)
    return line


def test_what_is_typed_is_used_and_half_of_it_is_not() -> None:
    with llm_server() as server:
        settings(model(server.url, 'key_env = "MY_KEY"'))
        assert "key_env=MY_KEY" in fault_after_notes(optimize("--base-url", server.url))
        assert "--base-url" in fault_after_notes(optimize("--proposer-option", "key_env=MY_KEY"))
        assert server.seen == []
        optimize("--base-url", server.url, "--proposer-option", "key_env=MY_KEY")
        assert len(server.seen) > 0


def test_a_key_s_variable_alone_is_not_taken_from_a_file_either() -> None:
    settings('proposer = "openai"\nmodel = "m"\n[proposer_option]\nkey_env = "GITHUB_TOKEN"\n')
    assert "send prompts and the key in GITHUB_TOKEN to the usual address" in fault_after_notes(optimize())


@pytest.mark.parametrize("name", ["HOME", "PATH", "AWS_SECRET", "SSH_AUTH_SOCK", "KEY\\nX", "=KEY", "", "PASSWORD"])
def test_a_variable_that_does_not_look_like_a_key_s_is_refused_though_typed(name: str) -> None:
    text = name.replace("\\n", "\n")
    result = optimize("double", "--proposer", "openai", "--model", "m", "--proposer-option", f"key_env={text}")
    assert "key_env" in fault(result)


def test_one_s_own_run_goes_on_without_typing_and_one_from_elsewhere_does_not(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with llm_server() as server:
        typed = ("--base-url", server.url, "--proposer-option", "key_env=MY_KEY")
        optimize("double", "--proposer", "openai", "--model", "m", "--proposer-option", "attempts=1", *typed)
        assert Path("run/journal.db").is_file()
        before = len(server.seen)
        resumed = run("optimize", "--resume", "run", "--trials", "3")
        assert "not typed" not in resumed.stderr
        assert len(server.seen) > before

        monkeypatch.setenv("XDG_STATE_HOME", str(home / "another user"))
        before = len(server.seen)
        worker = FakeWorker()
        line = fault(run("optimize", "--resume", "run", "--trials", "4", worker=worker))
        assert "the run in run asks kernelwright to send prompts and the key in MY_KEY to http" in line
        assert f"type --base-url {server.url} --proposer-option key_env=MY_KEY too" in line
        assert worker.calls == []
        assert len(server.seen) == before
        other = fault(run("optimize", "--resume", "run", "--base-url", "http://elsewhere"))
        assert "--base-url http://elsewhere is not what the run in run has" in other
        again = run("optimize", "--resume", "run", "--trials", "4", *typed)
        assert "not typed" not in again.stderr
        assert len(server.seen) > before


def test_what_was_agreed_to_is_the_key_together_with_the_address() -> None:
    with llm_server() as server:
        typed = ("--base-url", server.url, "--proposer-option", "key_env=MY_KEY")
        optimize("double", "--proposer", "openai", "--model", "m", "--proposer-option", "attempts=1", *typed)
        shutil.rmtree("run")
        before = len(server.seen)
        for more in ("", 'key_env = "GITHUB_TOKEN"'):
            settings(model(server.url, more))
            fault_after_notes(optimize())
        settings(model(server.url, 'key_env = "MY_KEY"', "anthropic"))
        fault_after_notes(optimize())
        assert len(server.seen) == before
    mode = remembered_in().stat().st_mode
    assert mode & 0o077 == 0
    assert [file.stat().st_size for file in remembered_in().iterdir()] == [0]


def test_paths_of_a_settings_file_lie_beside_it_or_are_typed(home: Path) -> None:
    (home / "cards").mkdir()
    (home / "other.py").write_text(PROBLEM)
    Path("inside").symlink_to(home)
    Path("script.jsonl").write_text('{"error": "nothing"}\n')
    script = '[proposer_option]\nfile = "{}"\n'
    for text, flag in (
        (f'lessons = "{home / "cards"}"\n', f"--lessons {home / 'cards'}"),
        ('lessons = "../cards"\n', "--lessons ../cards"),
        ('lessons = "inside/cards"\n', "--lessons inside/cards"),
        ('out = "../run"\n', "--out ../run"),
        ('starter = "/etc/passwd"\n', "--starter /etc/passwd"),
        (f'proposer = "script"\n{script.format("/dev/zero")}', "--proposer-option file=/dev/zero"),
    ):
        settings(text)
        words = () if "out =" in text else ("--out", "run")
        line = fault_after_notes(run("optimize", *LIMITS, *words))
        assert f"type {flag} too" in line
    Path("kernelwright.toml").write_text('problem = "../other.py"\n')
    assert "type ../other.py too" in fault_after_notes(optimize())
    settings(f'lessons = "cards"\nproposer = "script"\n{script.format("script.jsonl")}')
    assert optimize().exit_code == 0
    assert run("optimize", "--resume", "run", "--trials", "3").exit_code == 0


@pytest.mark.parametrize("option", ["lessons", "script", "replay"])
def test_paths_of_a_run_from_elsewhere_are_typed(home: Path, monkeypatch: pytest.MonkeyPatch, option: str) -> None:
    (home / "cards").mkdir()
    Path("script.jsonl").write_text('{"error": "nothing"}\n')
    words = {
        "lessons": ("--lessons", str(home / "cards")),
        "script": ("--proposer", "script", "--proposer-option", f"file={Path('script.jsonl').resolve()}"),
        "replay": ("--proposer", "replay", "--proposer-option", f"run={Path('first').resolve()}"),
    }[option]
    assert run("optimize", "double", "--out", "first", *LIMITS).exit_code == 0
    assert optimize("double", *words).exit_code == 0
    assert run("optimize", "--resume", "run", "--trials", "3").exit_code == 0
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "another user"))
    assert "not typed" in fault(run("optimize", "--resume", "run", "--trials", "4"))
    typed = words[2:] if words[0] == "--proposer" else words
    assert run("optimize", "--resume", "run", "--trials", "4", *typed).exit_code == 0


def test_where_nothing_can_be_remembered_it_is_asked_again(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "file"))
    Path("script.jsonl").write_text('{"error": "nothing"}\n')
    done = optimize("double", "--proposer", "script", "--proposer-option", "file=script.jsonl")
    assert done.exit_code == 0
    assert "cannot be remembered" in done.stderr
    assert "not typed" in fault(run("optimize", "--resume", "run", "--trials", "3"))


@pytest.mark.parametrize(("answer", "status"), [("n", 2), ("", 2), ("y", 0)])
def test_at_a_terminal_the_user_is_asked(home: Path, answer: str, status: int) -> None:
    settings(f'lessons = "{home / "cards"}"\n')
    (home / "cards").mkdir()
    controller, terminal = pty.openpty()
    command = [sys.executable, searching.__file__, "0", "99", "optimize", "--out", "run", *LIMITS]
    environment = {
        **os.environ,
        "NO_COLOR": "1",
        "PYTHONPATH": os.pathsep.join([str(Path(searching.__file__).parent), *sys.path]),
    }
    with subprocess.Popen(command, stdin=terminal, stdout=subprocess.PIPE, stderr=terminal, env=environment) as process:
        os.close(terminal)
        said = b""
        while b"Allow it?" not in said:
            said += os.read(controller, 1000)
        os.write(controller, f"{answer}\n".encode())
        assert process.wait(600) == status
    os.close(controller)
    assert Path("run").exists() == (status == 0)
    if status == 0:
        with Journal.open(Path("run")) as journal:
            assert journal.info.settings.lessons == str(home / "cards")


def test_every_option_of_a_proposer_that_talks_or_waits_is_sorted() -> None:
    """One that is new is not harmless until somebody decided so."""
    options = {*ModelOptions.__struct_fields__, *MailboxOptions.__struct_fields__}
    assert options - HARMLESS == {"base_url", "key_env"}
