"""What of the sandbox is in force on machines that refuse parts of it, and where no candidate runs.

The table in docs/confinement.md has a row for each of `limited.LIMITS`; here each is measured again.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from command_line import run
from kernelwright.errors import MachineError
from kernelwright.evaluator.client import WEAK_SANDBOX, local, start_worker
from kernelwright.model import Candidate, Status
from limited import LIMITS
from on_device import KERNEL, doubling

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(
        os.geteuid() != 0 or os.uname().machine != "x86_64", reason="only root on x86-64 can take its own rights away"
    ),
]

TESTS = Path(__file__).parents[1]
PAGE = (TESTS.parent / "docs/confinement.md").read_text(encoding="utf-8")
FULL = "Linux 6.18, root"
WEAK = "none of it, root"


def limited(name: str) -> list[str]:
    return [sys.executable, str(TESTS / "limited.py"), name]


@cache
def measured(name: str) -> tuple[str, str]:
    """The line that says what is in force under these limits, and why no candidate may run."""
    command = [*limited(name), sys.executable, "-P", str(Path(__file__).with_name("sandboxed.py"))]
    said = subprocess.run(command, capture_output=True, text=True, timeout=300, env={"PATH": "/usr/bin:/bin"})
    assert said.returncode == 0, said.stderr
    line, refusal = json.loads(said.stdout)
    return line, refusal


def row(name: str) -> str:
    """The row of the page."""
    weak, _, rest = measured(name)[0].rpartition("; ")
    missing = rest.removeprefix("in force").removeprefix(", without ") or "nothing"
    could = weak.removeprefix("WEAK, code of a candidate could ") or "nothing"
    runs = "only with `--weak-sandbox`" if measured(name)[1] else "yes"
    return f"| {name} | {missing} | {could} | {runs} |"


@pytest.mark.parametrize("name", LIMITS)
def test_the_page_says_what_is_measured(name: str) -> None:
    if measured(FULL)[0] != "in force":
        pytest.skip(f"this machine has less than the page's: {measured(FULL)[0]}")
    assert row(name) in PAGE


def test_a_machine_that_lacks_only_user_namespaces_is_no_weak_one() -> None:
    assert measured("no user namespaces, root")[1] == ""


def test_a_worker_refuses_candidates_where_the_user_s_files_are_open_and_runs_them_if_told_to(tmp_path: Path) -> None:
    (tmp_path / "problem.py").write_text(doubling(1 << 13))
    kernel = Candidate(source=KERNEL)
    with start_worker([*limited(WEAK), *local()]) as worker:
        worker.load(str(tmp_path / "problem.py"))
        assert worker.qualify().qualifies is True, "no candidate runs for this"
        environment = worker.environment()
        assert environment.sandbox.startswith("WEAK, code of a candidate could connect to a port")
        assert worker.machine().attempts
        for ask in (
            lambda: worker.evaluate(kernel, "verify"), lambda: worker.compile(kernel, "search"),
            lambda: worker.bench({"mine": kernel}), lambda: worker.profile(kernel, "large"),
        ):  # fmt: skip
            with pytest.raises(MachineError, match="no candidate runs on this machine") as error:
                ask()
            assert "--weak-sandbox" in str(error.value)
    with start_worker([*limited(WEAK), *local(), "--weak-sandbox"]) as worker:
        worker.load(str(tmp_path / "problem.py"))
        assert worker.environment().refusal == ""
        assert worker.environment().sandbox.startswith("WEAK")
        assert worker.evaluate(kernel, "verify").status is Status.PASSED


def test_the_option_reaches_the_workers_of_this_machine_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(WEAK_SANDBOX, raising=False)
    assert "--weak-sandbox" not in local()
    monkeypatch.setenv(WEAK_SANDBOX, "0")
    assert "--weak-sandbox" not in local()
    run("runs", "--help")
    assert run("verify", "softmax", "missing.py", "--weak-sandbox").exit_code == 2
    assert local()[-1] == "--weak-sandbox"


KEEPER = """
import os, subprocess, sys
from kernelwright.python import hide_keys

if sys.argv[1] == "hidden":
    hide_keys()
reader = "import sys; print(open(f'/proc/{sys.argv[1]}/environ').read())"
subprocess.run([sys.executable, "-c", reader, str(os.getpid())], env={})
"""
"""Has a key, and starts a process of the same user that reads its environment."""


@pytest.mark.parametrize(("how", "is_read"), [("hidden", False), ("open", True)])
def test_a_process_with_a_key_shows_its_environment_to_no_other_of_the_user(how: str, is_read: bool) -> None:
    said = subprocess.run(
        [*limited("none of it, a user"), sys.executable, "-c", KEEPER, how], capture_output=True, text=True,
        env={"PATH": "/usr/bin:/bin", "MY_KEY": "planted"},
    )  # fmt: skip
    assert ("planted" in said.stdout) is is_read, said
    assert ("PermissionError" in said.stderr) is not is_read


def test_a_worker_is_started_by_a_process_that_hides_its_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    script = "import sys; from kernelwright.evaluator.client import start_worker\n"
    script += "try: start_worker(['/bin/false'])\nexcept Exception: pass\n"
    script += "import ctypes; print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))"
    for variables, dumpable in (({"MY_TOKEN": "planted"}, "0"), ({}, "1")):
        said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=variables)
        assert said.stdout.strip() == dumpable, said
