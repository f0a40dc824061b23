"""What a hostile candidate learns and reaches in the real recorder, and that an honest one is not hindered.

Below the static check, which refuses `import os` before anything runs. The attacks are also run by an ordinary process
of the same user, where they succeed: so what stops them is the confinement.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).parents[2]
KEYS = {"OPENAI_API_KEY": "sk-planted-openai-0001", "ANTHROPIC_API_KEY": "sk-planted-anthropic-0002"}

ATTACKS = '''
import ctypes, gc, json, os, re, socket
from pathlib import Path

def everything_in_memory():
    """Keys among the strings that the collector's objects hold, or hold in a dict (of plain strings it tracks none)."""
    held = [thing for thing in gc.get_objects() if type(thing) in (dict, list, tuple, set)]
    held += [inner for thing in list(held) for inner in gc.get_referents(thing) if type(inner) is dict]
    found = []
    for thing in held:
        texts = [v.decode("latin-1") if type(v) is bytes else v for v in gc.get_referents(thing)]
        found += [text for text in texts if type(text) is str and re.fullmatch("sk-planted-[a-z]+-[0-9]+", text)]
    if not found:
        raise LookupError("none")
    return found

def variable(name):
    getenv = ctypes.CDLL(None).getenv
    getenv.restype = ctypes.c_char_p
    value = getenv(name)
    if value is None:
        raise LookupError("not set")
    return value

attacks = {
    "variables": lambda: os.environ["OPENAI_API_KEY"],
    "variables in C": lambda: variable(b"ANTHROPIC_API_KEY"),
    "own variables in /proc": lambda: Path("/proc/self/environ").read_bytes(),
    "coordinator's variables in /proc": lambda: Path("/proc/@COORDINATOR@/environ").read_bytes(),
    "parent's variables in /proc": lambda: Path(f"/proc/{os.getppid()}/environ").read_bytes(),
    "anybody's variables in /proc": lambda: next(Path("/proc").glob("[0-9]*/environ")).read_bytes(),
    "the repository": lambda: Path("@REPOSITORY@/pyproject.toml").read_text(),
    "a problem": lambda: Path("@REPOSITORY@/gallery/softmax/problem.py").read_text(),
    "a run's folder": lambda: Path("@RUN_FOLDER@/journal.db").read_text(),
    "the user's home": lambda: os.listdir("@USER_HOME@"),
    "accounts": lambda: Path("/etc/passwd").read_text(),
    "a port of this machine": lambda: socket.create_connection(("127.0.0.1", @PORT@), 5).close(),
    "writing into a run's folder": lambda: Path("@RUN_FOLDER@/forged").write_text("forged"),
    "signalling the coordinator": lambda: os.kill(@COORDINATOR@, 0),
}
reached = {}
for what, attack in attacks.items():
    try:
        reached[what] = repr(attack())
    except Exception as error:
        reached[what] = f"refused: {type(error).__name__}"
try:
    reached["memory"] = repr(everything_in_memory())
except LookupError:
    reached["memory"] = "refused: LookupError"
print("REPORT " + json.dumps(reached), flush=True)
'''

HONEST = """
import torch
import triton
import triton.language as tl


@triton.jit
def twice_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(out_ptr + offsets, 2 * x, mask=offsets < n)


def kernel_function(x):
    out = torch.empty_like(x)
    twice_kernel[(triton.cdiv(x.numel(), 128),)](x, out, x.numel(), BLOCK=128)
    return out
"""

LATE = """
import inspect, linecache, tempfile, traceback, warnings
import torch.utils.benchmark, torch._inductor.config, xml.dom.minidom, sqlite3, decimal
import numpy as np

assert "def kernel_function" in inspect.getsource(kernel_function)
assert linecache.getline(__file__, 2).startswith("import")
with tempfile.TemporaryFile() as file:
    file.write(b"x" * 1000000)
del file  # which keeps its place between calls, as an iterator does
a = torch.from_numpy(np.ones((1500, 1500), "float32"))
assert (a.exp() @ a).shape == (1500, 1500)
print("all of it")
"""

CANDIDATES = {
    "hostile": HONEST + ATTACKS,
    "honest": HONEST,
    "late": HONEST + LATE,
    "exits": HONEST + "import os\nos._exit(3)\n",
    "aborts": HONEST + "import os\nos.abort()\n",
    "endless": HONEST + "while True:\n    pass\n",
    "greedy": HONEST + "hoard = []\nwhile True:\n    hoard.append(bytes(1 << 28))\n",
    "many": HONEST + "import os\nwhile True:\n    os.fork()\n",
}


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        yield server.getsockname()[1]


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    (folder / "journal.db").write_text("a journal")
    return folder


@pytest.fixture(scope="module")
def outcomes(port: int, run_folder: Path) -> dict[str, Any]:
    """What came of each candidate; on standard output and error of the coordinator there is nothing else."""
    program = Path(__file__).with_name("confined_recordings.py")
    given = {name: placed(source, port, run_folder) for name, source in CANDIDATES.items()}
    result = subprocess.run([sys.executable, str(program)], input=json.dumps(given), capture_output=True, text=True,
                            timeout=1200, env=os.environ | KEYS)  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    assert result.stdout.count("\n") == 1
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def placed(source: str, port: int, run_folder: Path) -> str:
    names = {"PORT": str(port), "RUN_FOLDER": str(run_folder), "REPOSITORY": str(REPOSITORY),
             "USER_HOME": str(Path.home())}  # fmt: skip
    for name, text in names.items():
        source = source.replace(f"@{name}@", text)
    return source


def reached(log: str) -> dict[str, str]:
    line = next(line for line in log.splitlines() if line.startswith("REPORT "))
    found: dict[str, str] = json.loads(line.removeprefix("REPORT "))
    return found


def skip_unless(outcome: dict[str, Any], *measures: str) -> None:
    """Any one of the measures is enough."""
    states = {name: outcome["confinement"][name] for name in measures}
    if "in force" not in states.values():
        pytest.skip(f"not to be had here: {states}")


def test_no_key_of_a_service_reaches_a_candidate(outcomes: dict[str, Any]) -> None:
    outcome = outcomes["hostile"]
    found = reached(outcome["log"])
    assert found["variables"] == "refused: KeyError"
    assert found["variables in C"] == found["memory"] == "refused: LookupError"
    for text in (outcome["log"], json.dumps(outcome["answer"])):
        assert not any(key in text for key in KEYS.values())


def test_a_candidate_reads_and_writes_nothing_outside_of_its_folders(
    outcomes: dict[str, Any], run_folder: Path
) -> None:
    skip_unless(outcomes["hostile"], "landlock", "own_root")
    found = reached(outcomes["hostile"]["log"])
    for what in ("own variables in /proc", "coordinator's variables in /proc", "parent's variables in /proc",
                 "anybody's variables in /proc", "the repository", "a problem", "a run's folder", "the user's home",
                 "accounts", "writing into a run's folder"):  # fmt: skip
        assert found[what].startswith("refused: "), (what, found[what])
    assert not (run_folder / "forged").exists()


def test_a_candidate_connects_to_nothing(outcomes: dict[str, Any]) -> None:
    skip_unless(outcomes["hostile"], "network_namespace", "system_calls")
    assert reached(outcomes["hostile"]["log"])["a port of this machine"].startswith("refused: ")


def test_a_candidate_signals_nobody(outcomes: dict[str, Any]) -> None:
    skip_unless(outcomes["hostile"], "process_namespace", "system_calls")
    assert reached(outcomes["hostile"]["log"])["signalling the coordinator"].startswith("refused: ")


def test_the_same_attacks_succeed_where_nothing_confines(port: int, run_folder: Path) -> None:
    source = placed(ATTACKS, port, run_folder).replace("@COORDINATOR@", str(os.getpid()))
    result = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=600,
                            env=os.environ | KEYS, check=True)  # fmt: skip
    found = reached(result.stdout)
    for what in ("variables", "variables in C", "own variables in /proc", "memory"):
        assert "sk-planted" in found[what], what
    (run_folder / "forged").unlink()
    refused = {what for what, text in found.items() if text.startswith("refused: ")}
    assert refused <= {"anybody's variables in /proc"}  # which may be another user's


def test_what_a_candidate_prints_is_log_and_its_recording_is_as_good_as_any(outcomes: dict[str, Any]) -> None:
    hostile, honest = outcomes["hostile"], outcomes["honest"]
    for outcome in (hostile, honest):
        del outcome["answer"]["recordings"][0]["taken"]  # the branches of each, and the hostile one has more
    assert hostile["answer"] == honest["answer"]
    assert honest["answer"]["recordings"][0]["status"] == "passed"
    assert honest["log"] == ""
    assert hostile["log"].startswith("REPORT ")


def test_late_imports_sources_and_scratch_files_work_with_everything_in_force(outcomes: dict[str, Any]) -> None:
    outcome = outcomes["late"]
    assert outcome["answer"] is not None, (outcome["ended"], outcome["log"])
    assert outcome["answer"]["recordings"][0]["reason"] == ""
    assert outcome["log"] == "all of it\n"


def test_how_a_candidate_ends_its_process_is_told(outcomes: dict[str, Any]) -> None:
    assert outcomes["exits"]["ended"] == "ended with exit status 3"
    # An abort of the first process of a namespace ends with SEGV.
    assert outcomes["aborts"]["ended"] in ("was killed by SIGABRT", "was killed by SIGSEGV")
    assert outcomes["endless"]["ended"] == "timeout"


def test_hoarding_memory_and_processes_ends_in_a_reason(outcomes: dict[str, Any]) -> None:
    skip_unless(outcomes["greedy"], "limits")
    assert "MemoryError" in outcomes["greedy"]["answer"]["recordings"][0]["reason"]
    skip_unless(outcomes["many"], "system_calls", "process_limit")
    reason = outcomes["many"]["answer"]["recordings"][0]["reason"]
    assert "PermissionError" in reason or "BlockingIOError" in reason


def test_nothing_of_a_candidate_outlives_its_recording(outcomes: dict[str, Any]) -> None:
    assert not [name for name, outcome in outcomes.items() if outcome["left"]]
