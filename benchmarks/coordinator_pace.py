"""What the coordinator computes for each trial of a long run, and what the server of `watch` computes for its clients.

    python benchmarks/coordinator_pace.py trials [--trials 1000 5000] [--strategy beam] [--json FILE]
    python benchmarks/coordinator_pace.py watch [--trials 1000] [--clients 20] [--seconds 30] [--json FILE]

Needs no GPU. `trials` runs whole sessions with the fakes of the tests, which compute nothing, and takes the CPU time of
this process over the first and the last hundred trials. `watch` serves a run of that many trials, which grows by one
each second, to clients that read the page and its events as a browser does; they and the run are another process.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from kernelwright.jobs import session
from kernelwright.jobs.display import lines_to
from kernelwright.jobs.runs import OpenRun
from kernelwright.jobs.worker import Desk
from kernelwright.journal import Event, EventKind, Journal
from kernelwright.model import Budget, Candidate, Proposal, Request, RunInfo, Usage
from kernelwright.propose.protocol import Context
from kernelwright.report.live import HOST, LiveRun, LiveServer

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
import fakes
from long_run import write_long_run
from samples import passed, short_run

SOME = 100
"""Trials over which a mean is taken."""


def different(request: Request, context: Context) -> Proposal:
    """A candidate that nobody proposed before: a round of equal ones would end the search."""
    source = f"BLOCK = {8 << (request.number * 7 % 12)}\n# number {request.number}\n"
    usage = Usage(input_tokens=3000, output_tokens=1500, cost_usd=0.001, requests=1)
    return Proposal(author="fake", candidate=Candidate(source=source), usage=usage)


def paced(trials: int, strategy: str, budget: Budget, folder: Path) -> dict[str, Any]:
    """One session of that number of trials. cpu_ms: a trial, by when; whole_s: CPU time, with the views at the end."""
    told_s: list[float] = []

    @contextmanager
    def display(info: RunInfo, earlier: Any) -> Iterator[Callable[[Event], None]]:
        with lines_to(lambda line: None)(info, earlier) as take:

            def on_event(event: Event) -> None:
                take(event)
                if event.kind is EventKind.TOLD:
                    told_s.append(time.process_time())

            yield on_event

    session.build_proposer = lambda *_: fakes.FakeProposer(answer=different, at_once=True)
    info = fakes.run_info(strategy=strategy, in_flight=4, no_cache=True, proposer="script")
    began_s = time.process_time()
    with Journal.create(folder / "run", info) as journal:
        desk = Desk(lambda line: None, display=display)
        session.run_session(OpenRun(journal, fakes.FakeWorker(), budget), desk)
    first, last = (mean_ms(told_s[start : start + SOME + 1]) for start in (0, len(told_s) - SOME - 1))
    return {"trials": len(told_s), "strategy": strategy, "budget": sorted(limits(budget)), "first_100_cpu_ms": first,
            "last_100_cpu_ms": last, "whole_s": round(time.process_time() - began_s, 1)}  # fmt: skip


def limits(budget: Budget) -> list[str]:
    return [name for name in budget.__struct_fields__ if getattr(budget, name) is not None]


def mean_ms(at_s: Sequence[float]) -> float:
    return round((at_s[-1] - at_s[0]) / (len(at_s) - 1) * 1e3, 2)


def watched(trials: int, clients: int, seconds: float, folder: Path) -> dict[str, Any]:
    """CPU of the server a second, while clients follow a run that grows."""
    run = write_long_run(folder / "run", trials, is_over=False)
    with subprocess.Popen([sys.executable, __file__, "clients", str(run), str(clients), str(seconds)],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:  # fmt: skip
        assert other.stdin is not None
        assert other.stdout is not None
        other.stdout.readline()  # the run is at work
        with LiveServer(LiveRun(run), port=0) as server:
            thread = threading.Thread(target=server.serve_forever)
            thread.start()
            began_s, began_cpu_s = time.monotonic(), time.process_time()
            other.stdin.write(f"{server.server_port}\n")
            other.stdin.flush()
            found = json.loads(other.stdout.readline())
            wall_s, cpu_s = time.monotonic() - began_s, time.process_time() - began_cpu_s
            server.shutdown()
            thread.join()
    return {"trials": trials, "clients": clients, "seconds": round(wall_s, 1), "cpu_s_per_s": round(cpu_s / wall_s, 3),
            **found}  # fmt: skip


def follow(folder: Path, clients: int, seconds: float) -> None:
    """The other process: writes one trial a second, and reads as that number of browsers."""
    with Journal.open(folder, writable=True) as journal:
        first = len(journal.trials())
        print("at work", flush=True)
        port, end_s = int(sys.stdin.readline()), time.monotonic() + seconds
        waits_s: list[float] = []
        threads = [threading.Thread(target=read, args=(port, end_s, waits_s)) for _ in range(clients)]
        for thread in threads:
            thread.start()
        trial = short_run(measured=True)[1]
        for number in range(first, first + int(seconds)):
            journal.append_asked(Request(number=number, operator=trial.request.operator, round=number, parents=(0,)))
            journal.append_proposed(number, trial.proposal)
            journal.append_evaluated(number, passed(30.0 + number, measured=True))
            journal.append_told(number)
            time.sleep(1.0)
        for thread in threads:
            thread.join()
        print(json.dumps({"pages": len(waits_s), "page_s": round(statistics.median(waits_s), 3)}), flush=True)


def read(port: int, end_s: float, waits_s: list[float]) -> None:
    """One browser: the page, and again whenever its events say that it changed."""

    def page() -> None:
        began_s = time.monotonic()
        connection = HTTPConnection(HOST, port, timeout=600)
        connection.request("GET", "/")
        assert b"data-live" in connection.getresponse().read()
        connection.close()
        waits_s.append(time.monotonic() - began_s)

    page()
    stream = HTTPConnection(HOST, port, timeout=60)
    stream.request("GET", "/events")
    for line in stream.getresponse():
        if line.startswith(b"event: changed"):
            page()
        if time.monotonic() > end_s:
            break
    stream.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["trials", "watch"])
    parser.add_argument("--trials", type=int, nargs="*", default=[1000, 5000])
    parser.add_argument("--strategy", default="beam")
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--json", type=Path, metavar="FILE")
    given = parser.parse_args()
    rows = []
    for trials in given.trials:
        every = Budget(trials=trials, minutes=600.0, usd=1e4, tokens=10**10, gpu_seconds=1e7)
        for budget in (Budget(trials=trials), every) if given.what == "trials" else (every,):
            with tempfile.TemporaryDirectory(dir="/dev/shm") as scratch:  # the disk is another subject
                if given.what == "trials":
                    rows.append(paced(trials, given.strategy, budget, Path(scratch)))
                else:
                    rows.append(watched(trials, given.clients, given.seconds, Path(scratch)))
            print(json.dumps(rows[-1]), flush=True)
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] == ["clients"]:
        follow(Path(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
    else:
        main()
