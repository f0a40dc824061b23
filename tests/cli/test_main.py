"""The front door: the table of verbs, what is imported when, and how faults end."""

from __future__ import annotations

import signal
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from kernelwright.cli.main import GROUPS, VERBS, cli, one_line
from kernelwright.errors import MachineError, ProblemError

HEAVY = ("torch", "triton", "numpy", "rich", "urllib3", "sqlite3")


def imported_by(*words: str) -> set[str]:
    """Top-level packages that `python -m kernelwright WORDS` imports."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "kernelwright", *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    names = [line.rsplit("|", 1)[1].strip() for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {name.partition(".")[0] for name in names}


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["bench", "--help"]])
def test_help_imports_nothing_heavy(words: list[str]) -> None:
    imported = imported_by(*words)
    assert "click" in imported
    assert imported.isdisjoint(HEAVY)


@pytest.mark.parametrize("name", VERBS)
def test_every_verb_says_the_same_in_the_list_and_in_its_own_help(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    assert command.name == name
    assert command.get_short_help_str(limit=200).rstrip(".") == VERBS[name].summary.partition(";")[0].rstrip(".")
    assert CliRunner().invoke(cli, [name, "--help"]).exit_code == 0


def test_the_list_of_commands_names_every_verb_below_its_group() -> None:
    text = CliRunner().invoke(cli, ["--help"]).stdout
    below = {group: text.split(f"\n{group}:\n")[1].split("\n\n")[0] for group in GROUPS}
    assert {group: [name for name in verbs if f"  {name} " not in below[group]] for group, verbs in GROUPS.items()} == {
        group: [] for group in GROUPS
    }
    assert list(VERBS) == [name for verbs in GROUPS.values() for name in verbs]


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ProblemError("x.py does not define Model", "see docs"), "error: x.py does not define Model (see docs)\n"),
        (MachineError("first\n  second"), "error: first second\n"),
        (PermissionError(13, "Permission denied", "runs/a"), "error: Permission denied: runs/a\n"),
    ],
)
def test_a_fault_is_one_line_on_standard_error_and_status_2(error: Exception, line: str) -> None:
    @click.command(cls=type(cli))
    def front() -> None: ...

    @click.command()
    def fail() -> None:
        raise error

    group = type("OneVerb", (type(cli),), {"get_command": lambda self, ctx, name: fail})("front")
    result = CliRunner().invoke(group, ["fail"])
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", line)


def test_a_defect_leaves_a_traceback_and_status_2_not_1() -> None:
    code = (
        "import kernelwright.cli.main as m, kernelwright.cli.new as n, sys\n"
        "n.new.callback = lambda **_: 1 / 0\n"
        "sys.argv = ['kernelwright', 'new', 'x']\n"
        "m.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "ZeroDivisionError" in done.stderr


def test_an_interrupt_after_the_last_word_ends_the_process_without_another() -> None:
    """Python waits for its threads then, as a search's may be at work until the worker has ended."""
    code = (
        "import kernelwright.cli.main as m, kernelwright.cli.new as n, os, signal, sys, threading, time\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "def late():\n"
        "    while threading.main_thread().is_alive(): time.sleep(0.01)\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "def interrupted(**_):\n"
        "    threading.Thread(target=late).start()\n"
        "    raise KeyboardInterrupt\n"
        "n.new.callback = interrupted\n"
        "sys.argv = ['kernelwright', 'new', 'x']\n"
        "m.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "interrupted\n")


def test_line_breaks_are_folded() -> None:
    assert one_line("a\n  b\n\nc") == "a b c"
