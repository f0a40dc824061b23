"""Odd input of five kinds: command lines, settings files, replies of a model, journals, problem files.

Looked for: a traceback, a key that was shown or written, a command that does not end, a status that means nothing,
and of a problem file a fault that does not name it. Each case runs in a process and a folder of its own,
except problem files, which share one real worker.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import odd
from kills import PROBLEM
from msgspec.structs import replace
from odd_problems import problem
from table import Row, Table

from fakes import ENVIRONMENT, FakeWorker, evaluation_of
from kernelwright.cli.context import Parts
from kernelwright.cli.main import VERBS, cli
from kernelwright.errors import ProblemError, WorkerError
from kernelwright.evaluator.client import ProcessWorker, start_worker
from kernelwright.model import Candidate, Evaluation, Status
from proposing import KERNEL

SHARES = {"command line": 0.35, "settings": 0.15, "replies": 0.2, "journals": 0.15, "problems": 0.15}
LIMIT_S = 120.0
NO_GPU = replace(ENVIRONMENT, device=None)
"""`doctor` times its canaries on a GPU, which the fake does not know."""
STATUSES = (0, 1, 2, 130)
SERVED = ("watch",)
"""A verb that runs until it is interrupted."""
GOOD = f"```python\n{KERNEL.replace('BLOCK = 256', 'BLOCK = 512')}```\n"


def fuzz(table: Table, work: Path, cases: int, only: str | None) -> None:
    """Every case that the table does not have yet."""
    done = {(row["category"], row["index"]) for row in table.rows() if row["kind"] == "fuzz"}
    for category, share in SHARES.items():
        wanted = [index for index in range(round(cases * share)) if (category, index) not in done]
        if wanted and only in (None, category):
            run: Callable[[Table, Path, list[int]], None] = problems if category == "problems" else commands(category)
            run(table, work, wanted)


# --- commands ----------------------------------------------------------------------------------------------------


def commands(category: str) -> Callable[[Table, Path, list[int]], None]:
    def run(table: Table, work: Path, wanted: list[int]) -> None:
        template = prepared(work)
        with odd_provider() as provider:
            for index in wanted:
                chance = random.Random(f"{category} {index}")
                folder = work / f"{category.replace(' ', '-')}-{index}"
                shutil.rmtree(folder, ignore_errors=True)
                shutil.copytree(template, folder, symlinks=True)
                odd.write_files(folder)
                words, environment = CASES[category](chance, folder, provider)
                flags, detail = watched(words, folder, environment)
                row: Row = {"kind": "fuzz", "category": category, "index": index, "flags": flags}
                if flags:
                    row["detail"] = {"words": [word[:200] for word in words], "said": detail}
                    print(f"{category} {index}: {', '.join(flags)}: {words!r:.200}")
                else:
                    shutil.rmtree(folder)
                table.append(row)

    return run


def prepared(work: Path) -> Path:
    """A folder with a problem and a finished run of it."""
    template = work / "template"
    if template.exists():
        return template
    making = work / "template-now"
    shutil.rmtree(making, ignore_errors=True)
    (making / "double").mkdir(parents=True)
    (making / "double" / "problem.py").write_text(PROBLEM)
    (making / "double" / "starter.py").write_text(KERNEL)
    (making / "script.py").write_text(f"REPLIES = {[GOOD]!r}\n")
    flags, said = watched(["optimize", "double", "--trials", "6", "--out", "run"], making, {})
    if flags:
        raise SystemExit(f"the run to be damaged could not be made: {flags} {said}")
    making.rename(template)
    return template


def watched(words: list[str], folder: Path, environment: dict[str, str]) -> tuple[list[str], str]:
    """What is to be flagged of one command, and the end of what it said."""
    log = folder / ".said"
    pid = os.fork()
    if pid == 0:
        status = 2
        try:
            status = inside(words, folder, environment, log)
        finally:
            os._exit(status)
    status, end_s = None, time.monotonic() + LIMIT_S
    while status is None and time.monotonic() < end_s:
        ended, how = os.waitpid(pid, os.WNOHANG)
        status = os.waitstatus_to_exitcode(how) if ended else None
        time.sleep(0.01)
    flags = []
    if status is None:
        flags.append("hang")
        os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    elif status not in STATUSES:
        flags.append(f"status {status}")
    said = log.read_bytes() if log.exists() else b""
    if b"Traceback (most recent call last)" in said:
        flags.append("traceback")
    if odd.SECRET.encode() in said or any(holds_key(path) for path in folder.rglob("*")):
        flags.append("key")
    return flags, said[-2000:].decode(errors="replace")


def holds_key(path: Path) -> bool:
    return path.is_file() and not path.is_symlink() and odd.SECRET.encode() in path.read_bytes()


def judged(candidate: Candidate, purpose: str) -> Evaluation:
    """The fakes know only candidates with a block."""
    if re.search(r"BLOCK\s*=\s*\d", candidate.source):
        return evaluation_of(candidate, purpose)
    return Evaluation(status=Status.COMPILE_ERROR, reason="it has no block")


def inside(words: list[str], folder: Path, environment: dict[str, str], log: Path) -> int:
    """In the child: the command line with a fake worker; its status."""
    os.setsid()
    os.chdir(folder)
    os.environ.update(environment)
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    sys.argv = ["kernelwright", *words]
    try:
        cli(
            args=words,
            prog_name="kernelwright",
            obj=Parts(start_worker=lambda target: closing(FakeWorker(answer=judged, where=NO_GPU))),
        )
    except SystemExit as end:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
        return end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException:  # noqa: BLE001 - this is what is looked for
        traceback.print_exc()
        sys.stderr.flush()
        return 2
    return 0


# --- what each category runs ------------------------------------------------------------------------------------


def command_line(chance: random.Random, folder: Path, provider: OddProvider) -> tuple[list[str], dict[str, str]]:
    verb = chance.choice([name for name in VERBS if name not in SERVED] + ["optimize"] * 4 + ["tune"] * 2)
    options = list(cli.get_command(None, verb).params)  # type: ignore[arg-type, union-attr]
    words = [verb]
    for one in options:
        if one.param_type_name == "argument":
            words.append(odd.value(chance) if chance.random() < 0.4 else usual(one.name or ""))
    named = [one for one in options if one.param_type_name == "option"]
    for one in chance.sample(named, min(len(named), chance.choice([0, 1, 1, 2, 3]))):
        words.append(one.opts[0])
        if not getattr(one, "is_flag", False):
            words.append(odd.value(chance))
    if verb in ("optimize", "tune") and "--trials" not in words and "--recorded" not in words:
        words += ["--trials", "2"]
    return [word for word in words if "\0" not in word], odd.environment(chance)


def usual(name: str) -> str:
    return {
        "problem": "double",
        "candidate": "double/starter.py",
        "candidates": "double/starter.py",
        "run": "run",
        "number": "1",
        "file": "double/starter.py",
        "trial": "1",
        "name": "fresh",
        "package": "folder",
        "first": "run",
        "second": "run",
    }.get(name, "run")


def settings(chance: random.Random, folder: Path, provider: OddProvider) -> tuple[list[str], dict[str, str]]:
    content = odd.settings(chance)
    name = chance.choice(["kernelwright.toml", "other.toml"])
    (folder / name).write_bytes(content)
    words = ["optimize"] + (["--settings", name] if name == "other.toml" else [])
    if chance.random() < 0.1:
        words = ["optimize", "--settings", chance.choice(odd.PATHS)]
    return [*words, *chance.choice([[], ["double", "--trials", "2"], ["double"]])], odd.environment(chance)


def replies(chance: random.Random, folder: Path, provider: OddProvider) -> tuple[list[str], dict[str, str]]:
    provider.chance = chance
    given = ["edits=diff"] * chance.randrange(2) + ["plan=true"] * chance.randrange(2)
    options = ["timeout_s=20", "attempts=2", *given]
    words = [
        "optimize",
        "double",
        "--proposer",
        "openai",
        "--model",
        "m",
        "--base-url",
        provider.url,
        "--trials",
        "4",
        "--option",
        "tuning=0",
        "--out",
        "new",
    ]
    return [*words, *(word for one in options for word in ("--proposer-option", one))], {"OPENAI_API_KEY": odd.SECRET}


def journals(chance: random.Random, folder: Path, provider: OddProvider) -> tuple[list[str], dict[str, str]]:
    odd.damage(folder / "run" / "journal.db", chance)
    verbs = [
        ["report", "run"],
        ["report", "run", "--json"],
        ["show", "run"],
        ["show", "run", "1"],
        ["runs", "."],
        ["compare", "run", "run"],
        ["export", "run"],
        ["optimize", "--resume", "run", "--trials", "8"],
        ["reply", "run", "1", "double/starter.py"],
        ["pause", "run"],
        ["stop", "run"],
        ["profile", "run"],
    ]
    return chance.choice(verbs), {}


CASES = {"command line": command_line, "settings": settings, "replies": replies, "journals": journals}


class OddProvider:
    """A model whose answers are drawn from `chance`."""

    def __init__(self) -> None:
        self.chance = random.Random(0)
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                status, headers, body = odd.reply(outer.chance, GOOD)
                with contextlib.suppress(OSError):
                    self.send_response(status)
                    for name, value in headers.items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                """Nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()


@contextlib.contextmanager
def odd_provider() -> Any:
    provider = OddProvider()
    try:
        yield provider
    finally:
        provider.server.shutdown()
        provider.server.server_close()


# --- problem files ----------------------------------------------------------------------------------------------


def problems(table: Table, work: Path, wanted: list[int]) -> None:
    """All in one worker, which is started again only where it ended."""
    worker: ProcessWorker | None = None
    try:
        for index in wanted:
            worker = worker or start_worker(limits={"judge_s": 60.0})
            file = work / f"odd_{index}.py"
            file.write_text(problem(random.Random(f"problems {index}")), encoding="utf-8")
            start_s = time.monotonic()
            flags, said = [], ""
            try:
                worker.load(str(file))
                worker.qualify()
            except ProblemError as error:
                said = str(error)
                if file.name not in said:
                    flags.append("fault without its file")
            except WorkerError as error:
                said = str(error)
                flags.append("internal error")
            if "Traceback (most recent call last)" in said:
                flags.append("traceback")
            if time.monotonic() - start_s > LIMIT_S:
                flags.append("hang")
            if worker.ended is not None:
                flags.append("the worker ended")
                worker.close()
                worker = None
            row: Row = {"kind": "fuzz", "category": "problems", "index": index, "flags": flags}
            if flags:
                row["detail"] = {"file": str(file), "said": said[-2000:]}
                print(f"problems {index}: {', '.join(flags)}: {said!r:.200}")
            else:
                file.unlink(missing_ok=True)
            table.append(row)
    finally:
        if worker is not None:
            worker.close()
