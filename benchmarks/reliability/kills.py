"""Kill -9 at random moments of a search, resume until it ends, and compare with the same search undisturbed.

A run counts when it is over; its line says what was killed and what differed.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from processes import Process, gone_after_s, kill, of_run
from provider import Provider
from table import Row, Table

from kernelwright.codec import plain
from kernelwright.journal import EventKind, Journal
from proposing import KERNEL

STANDIN = Path(__file__).resolve().parent / "standin.py"
MOST_SESSIONS = 40
SESSION_LIMIT_S = 600.0
RECORDED_S = 0.2
"""An answer that arrived so shortly before a kill may not be in the journal."""

PROBLEM = '''"""Twice the input."""
import torch

CASES = [dict(name="small", n=96, small=True), dict(name="large", n=4096)]
n = 4096


class Model(torch.nn.Module):
    def forward(self, x):
        return 2 * x


def get_inputs():
    return [torch.randn(n)]


def get_init_inputs():
    return []
'''


STARTER = KERNEL.replace("    y = torch.empty_like(x)", "    x = x.contiguous()\n    y = torch.empty_like(x)")
assert STARTER != KERNEL


@dataclass(frozen=True)
class Plan:
    """A search that ends the same way each time. in_order: whether its events come in one order. roles: what may be
    killed, each as likely as it is often here."""

    name: str
    words: tuple[str, ...]
    in_order: bool
    roles: tuple[str, ...]


COORDINATOR = ("coordinator",) * 9 + ("worker",)
EVERYTHING = ("coordinator", "coordinator", "judge", "supervisor", "fork server", "compiler", "bench", "recorder")
SCRIPTED = ("--strategy", "random", "--proposer", "script", "--proposer-option", "file=SCRIPT", "--in-flight", "3")

PLANS = {
    "stand-in": (
        Plan("builtin", ("--trials", "14", "--in-flight", "1"), True, COORDINATOR),
        Plan("planned", ("--proposer", "openai", "--model", "m", "--base-url", "URL", "--proposer-option", "plan=true",
                         "--proposer-option", "attempts=1", "--option", "tuning=0", "--trials", "9",
                         "--in-flight", "1"), True, COORDINATOR),
        Plan("scripted", (*SCRIPTED, "--trials", "16"), False, COORDINATOR),
        Plan("evolved", ("--strategy", "evolve", "--trials", "14", "--in-flight", "1", "--seed", "3"), True,
             COORDINATOR),
    ),
    "real": (
        Plan("builtin", ("--trials", "5", "--in-flight", "1"), True, EVERYTHING),
        Plan("scripted", (*SCRIPTED, "--trials", "8"), False, EVERYTHING),
    ),
}  # fmt: skip
KILLS_PER_RUN = {"stand-in": 4, "real": 8}


def kills(table: Table, work: Path, mode: str, wanted: int) -> None:
    """Runs until the table has that many kills of the mode."""
    number = 0
    while True:
        rows = [row for row in table.rows() if row["kind"] == "run" and row["mode"] == mode]
        done = sum(len(row["killed"]) for row in rows)
        if done >= wanted:
            return
        number = max([number, *(row["number"] + 1 for row in rows)])
        chosen = PLANS[mode][number % len(PLANS[mode])]
        with prepared(work, mode, chosen) as (folder, words, provider):
            undisturbed = reference(work, mode, chosen, words, provider)
            row = disturbed(folder, mode, number, chosen, words, provider, undisturbed)
            table.append({"kind": "run", "mode": mode, "number": number, "plan": chosen.name, **row})
            print(f"{mode} {number} {chosen.name}: {row['killed']} {'same' if row['same_trials'] else 'DIFFERENT'}")
            if is_clean(row):
                shutil.rmtree(folder)
            else:
                folder.rename(work / f"{mode}-{number}-{time.time():.0f}")
        number += 1


def is_clean(row: Row) -> bool:
    odd = ("asked_twice", "left_running", "left_files", "tracebacks", "fault")
    return row["same_trials"] and row["same_events"] is not False and not any(row[name] for name in odd)


@contextmanager
def prepared(work: Path, mode: str, plan: Plan) -> Iterator[tuple[Path, list[str], Provider]]:
    """A folder of its own for a run, the command that begins it, and its model."""
    folder = work / f"{mode}-now-{os.getpid()}"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "double").mkdir(parents=True)
    (folder / "double" / "problem.py").write_text(PROBLEM)
    (folder / "double" / "starter.py").write_text(STARTER)
    replies = [f"```python\n{STARTER.replace('BLOCK = 256', f'BLOCK = {2**k}')}```\n" for k in range(4, 14)]
    replies.insert(3, "no code")
    (folder / "script.py").write_text(f"REPLIES = {replies * 3!r}\n")
    provider = Provider()
    named = {"URL": provider.url, "file=SCRIPT": f"file={folder / 'script.py'}"}
    words = ["optimize", str(folder / "double"), "--out", str(folder / "run")]
    try:
        yield folder, [*words, *(named.get(word, word) for word in plan.words)], provider
    finally:
        provider.close()


def command(mode: str, words: list[str]) -> list[str]:
    return (
        [sys.executable, str(STANDIN), *words] if mode == "stand-in" else [sys.executable, "-m", "kernelwright", *words]
    )


def begin(folder: Path, mode: str, words: list[str]) -> subprocess.Popen[bytes]:
    scratch = folder / "tmp"
    scratch.mkdir(exist_ok=True)
    environment = {**os.environ, "TMPDIR": str(scratch), "OPENAI_API_KEY": "sk-none", "NO_COLOR": "1"}
    with (folder / "log.txt").open("ab") as log:
        return subprocess.Popen(
            command(mode, words), stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment,
            start_new_session=True, cwd=folder,
        )  # fmt: skip


def reference(work: Path, mode: str, plan: Plan, words: list[str], provider: Provider) -> dict[str, Any]:
    """The search undisturbed, made once in this process for each plan: its events, trials, and seconds until the last
    event. After that a kill only meets the run's pages."""
    if (mode, plan.name) not in _references:
        folder = Path(words[3]).parent
        start_s = time.time()
        process = begin(folder, mode, words)
        process.wait(SESSION_LIMIT_S)
        if not is_over(folder):
            raise SystemExit(f"the undisturbed search {mode} {plan.name} failed: see {folder}/log.txt")
        with Journal.open(folder / "run") as journal:
            last = datetime.fromisoformat(journal.events()[-1].time).timestamp()
        _references[mode, plan.name] = {"seconds": last - start_s, **record(folder)}
        shutil.rmtree(folder / "run")
        provider.answered.clear()
    return _references[mode, plan.name]


_references: dict[tuple[str, str], dict[str, Any]] = {}


def disturbed(
    folder: Path, mode: str, number: int, plan: Plan, words: list[str], provider: Provider, undisturbed: dict[str, Any]
) -> Row:
    """One run with kills until it is over, compared."""
    chance = random.Random(f"{mode} {number} {time.time()}")
    wanted = chance.randint(1, KILLS_PER_RUN[mode])
    killed: list[str] = []
    moments: list[float] = []
    gone_s, left, fault = 0.0, [], ""
    sessions = 0
    while not is_over(folder) and not fault:
        sessions += 1
        resume = ["optimize", "--resume", words[3]]
        process = begin(folder, mode, resume if (Path(words[3]) / "journal.db").exists() else words)
        while len(killed) < wanted and process.poll() is None:
            role = struck(folder, process, chance, plan, undisturbed["seconds"])
            if role is not None:
                killed.append(role)
                moments.append(time.monotonic())
        try:
            status = process.wait(SESSION_LIMIT_S)
        except subprocess.TimeoutExpired:
            fault = f"a session took over {SESSION_LIMIT_S:.0f} s"
            process.kill()
            process.wait()
            status = -1
        found_s = gone_after_s(folder / "tmp", 30.0)
        if found_s is None:
            left += [one.role for one in of_run(folder / "tmp")]
            for one in of_run(folder / "tmp"):
                kill(one)
        elif status == -9:
            gone_s = max(gone_s, found_s)
        if status not in (0, 1, -9) and len(killed) == 0:
            fault = f"status {status} without a kill"
        if sessions >= MOST_SESSIONS:
            fault = f"not over after {sessions} sessions"
    found = record(folder)
    log = (folder / "log.txt").read_text(errors="replace")
    return {
        "killed": killed,
        "sessions": sessions,
        "same_trials": found["trials"] == undisturbed["trials"],
        "same_events": found["events"] == undisturbed["events"] if plan.in_order else None,
        "asked_twice": asked_twice(provider, moments),
        "left_running": left,
        "left_files": sorted(path.name for path in (folder / "tmp").iterdir()),
        "gone_s": gone_s,
        "tracebacks": log.count("Traceback (most recent call last)"),
        "fault": fault,
    }


def struck(
    folder: Path, process: subprocess.Popen[bytes], chance: random.Random, plan: Plan, seconds: float
) -> str | None:
    """Kill something of the run at a random moment; its role, None where the session ended before."""
    until_s = time.monotonic() + chance.uniform(0.1, seconds)
    while time.monotonic() < until_s:
        if process.poll() is not None:
            return None
        time.sleep(0.005)
    role = chance.choice(plan.roles)
    waited_s = time.monotonic()
    while process.poll() is None:
        found = [one for one in of_run(folder / "tmp") if is_role(one, role)]
        if found:
            time.sleep(chance.uniform(0.0, 0.03))
            victim = chance.choice(found)
            if victim.pid not in {one.pid for one in of_run(folder / "tmp")}:
                continue
            kill(victim)
            return role
        if time.monotonic() - waited_s > 10:
            role = "coordinator"
    return None


def is_role(process: Process, role: str) -> bool:
    """A confined child does not say what it is."""
    return process.role == role or (process.role == "confined" and role in ("recorder", "compiler"))


def is_over(folder: Path) -> bool:
    if not (folder / "run" / "journal.db").exists():
        return False
    with Journal.open(folder / "run") as journal:
        sessions = journal.sessions()
    return bool(sessions) and sessions[-1].reason in ("finished", "trials")


VOLATILE = ("seconds", "stages_s", "log", "results", "reason", "confinement")
"""What differs between two runs of the same search: clock readings, logs, and errors on inputs from secret seeds."""


def record(folder: Path) -> dict[str, Any]:
    """events: the search in its order, without its sessions. trials: the same by number, as a set would be."""
    if not (folder / "run" / "journal.db").exists():
        return {"events": [], "trials": []}
    with Journal.open(folder / "run") as journal:
        events = [
            [event.kind.value, event.number, steady(plain(event.payload))]
            for event in journal.events()
            if event.kind not in (EventKind.STARTED, EventKind.STOPPED)
        ]
        trials = [
            [
                trial.number,
                trial.request.operator.value,
                trial.proposal.candidate.id if trial.proposal.candidate else trial.proposal.error,
                trial.evaluation.status.value if trial.evaluation else None,
                trial.score_us,
            ]
            for trial in journal.trials()
        ]
    return {"events": events, "trials": trials}


def steady(value: Any) -> Any:
    """Without what is `VOLATILE`."""
    if isinstance(value, dict):
        return {key: steady(one) for key, one in value.items() if key not in VOLATILE}
    return [steady(one) for one in value] if isinstance(value, list | tuple) else value


def asked_twice(provider: Provider, moments: list[float]) -> int:
    """Prompts that were answered again although their first answer came well before the kill that followed it."""
    seen: dict[str, float] = {}
    count = 0
    for digest, at_s in provider.answered:
        if digest in seen:
            between = [moment for moment in moments if seen[digest] <= moment <= at_s]
            count += not between or between[0] - seen[digest] > RECORDED_S
        seen[digest] = at_s
    return count
