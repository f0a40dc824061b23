"""How busy searches keep many lanes that differ, die and are taken away, without a GPU: the real loop, journal,
strategies and fleet, and workers that sleep.

    python benchmarks/fleet.py --lanes 100 --runs 25 --scale 0.25 --trials 48 --spread 0.04 --deaths 24 --spots 2
    python benchmarks/fleet.py --lanes 8 --gpu-s 0.1 0.1 --compile-s 0.3 --answers none --trials 400

Each run is a process with its share of the lanes and a journal. An evaluation sleeps for --compile-s beside others,
then for a time between the two of --gpu-s, times the lane's speed, while it has the lane's GPU. A proposal takes as
long as one of the run in --answers did, whose requests were answered by a model and by the built-in tuner. --scale
multiplies all of these times, and --start-s, so that an hour can pass in minutes; what the coordinator computes and
writes is not scaled, so a small scale asks more of it. --deaths lanes die at times drawn over all runs, and --spots
times --spot-share of all lanes is asked to end at once, as spot machines are; each starts again after --start-s.

Busy is the share of all lanes' time, dead or not, that evaluations which were kept had a GPU: over the whole of each
run, and between 10 % and 90 % of its time, without its begin and its end.
"""

from __future__ import annotations

import argparse
import json
import logging
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path

from kernelwright.errors import WorkerLost
from kernelwright.evaluator.fleet import Fleet
from kernelwright.journal import EventKind, Journal
from kernelwright.model import PROTOCOL, Budget, Candidate, Evaluation, Hello, Incumbent, Proposal, Request, Status
from kernelwright.propose.protocol import Context
from kernelwright.run import optimize
from kernelwright.search import build_strategy

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
import fakes

ANSWERS = Path(__file__).parent.parent / "gallery" / "max_pool3d" / "runs" / "mailbox"
TICK_S = 0.01
"""How often it is looked whether a lane has to die."""
TOGETHER_S = 8.0
"""Until all processes of the runs have started, so that they begin together."""


@dataclass(frozen=True)
class Result:
    """Of one run, or of all. busy_s, steady_s: that lanes had, by evaluations that were kept, over the whole of the run
    and between 10 % and 90 % of it; lanes_s, steady_lanes_s: what was there to have. starts: of workers."""

    trials: int
    asked: int
    twice: int
    blamed: int
    starts: int
    wall_s: float
    cpu_s: float
    busy_s: float
    lanes_s: float
    steady_s: float
    steady_lanes_s: float


@dataclass
class Sleeping(fakes.FakeWorker):
    """A lane's worker. gone: when it died; asked: whether it was told to. spans: from when to when evaluations that
    were kept had its GPU."""

    hello: Hello | None = None
    compile_s: float = 0.0
    gpu_s: tuple[float, float] = (0.0, 0.0)
    spans: list[tuple[float, float]] = field(default_factory=list)
    gpu: threading.Lock = field(default_factory=threading.Lock)
    gone: threading.Event = field(default_factory=threading.Event)
    asked: bool = False

    def evaluate(self, candidate: Candidate, purpose: str, incumbent: Incumbent | None = None) -> Evaluation:
        was_gone = self.gone.is_set()
        if was_gone or self.gone.wait(self.compile_s):
            raise self._lost(was_gone)
        gpu_s = random.Random(candidate.id).uniform(*self.gpu_s)
        with self.gpu:
            began_s = time.monotonic()
            if self.gone.wait(gpu_s):
                raise self._lost(False)
            self.spans.append((began_s, time.monotonic()))
        return fakes.evaluation_of(candidate, purpose)

    def _lost(self, was_gone: bool) -> WorkerLost:
        error = WorkerLost("it sleeps for ever")
        error.from_outside = self.asked or was_gone
        return error


def different(request: Request, context: Context) -> Proposal:
    """A candidate that nobody proposed before: a round of equal ones would end the search."""
    block = 8 << (request.number * 7 % 12)
    return Proposal(author="fake", candidate=Candidate(source=f"BLOCK = {block}\n# number {request.number}\n"))


def answers_s(run: str) -> list[float]:
    """How long each proposal of a kept run took, from its request on; none for "none"."""
    if run == "none":
        return [0.0]
    with Journal.open(Path(run)) as journal:
        events = journal.events()
    asked = {one.number: datetime.fromisoformat(one.time) for one in events if one.kind is EventKind.ASKED}
    proposed = [one for one in events if one.kind is EventKind.PROPOSED]
    return [(datetime.fromisoformat(one.time) - asked[one.number]).total_seconds() for one in proposed]


class Host:
    """Starts the lanes of one run, and lets them die."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given, self.draw = given, random.Random(f"{given.seed} {given.run}")
        self.speeds = [max(0.2, self.draw.gauss(1, given.spread)) for _ in range(given.lanes)]
        self.alive: dict[str, Sleeping] = {}
        self.every: list[Sleeping] = []
        self.over = threading.Event()

    def fleet(self) -> Fleet:
        return Fleet({f"lane {number}": lambda number=number: self.start(number) for number in range(self.given.lanes)})

    def start(self, number: int) -> Sleeping:
        given = self.given
        time.sleep(given.start_s * given.scale)
        hello = Hello(
            protocol=PROTOCOL, kernelwright="0", host="here", device="Fake GPU", gpu=f"GPU-{number}", target="sm_90",
            driver="1", torch="2", triton="3", cores=1,
        )  # fmt: skip
        low_s, high_s = (self.speeds[number] * given.scale * one for one in given.gpu_s)
        worker = Sleeping(hello=hello, compile_s=given.compile_s * given.scale, gpu_s=(low_s, high_s))
        self.alive[f"lane {number}"] = worker
        self.every.append(worker)
        return worker

    def kill(self, expected_s: float) -> None:
        """Until the end. The times of spot losses are the same for all runs."""
        given = self.given
        deaths = [random.Random(f"death {given.seed} {one}") for one in range(given.deaths)]
        times_s = sorted(draw.uniform(0, expected_s) for draw in deaths if draw.randrange(given.runs) == given.run)
        common = random.Random(f"spot {given.seed}")
        spots_s = sorted(common.uniform(0.1, 0.9) * expected_s for _ in range(given.spots))
        began_s = time.monotonic()
        while not self.over.wait(TICK_S):
            now_s = time.monotonic() - began_s
            while times_s and now_s > times_s[0]:
                times_s.pop(0)
                self.draw.choice([*self.alive.values()]).gone.set()
            while spots_s and now_s > spots_s[0]:
                spots_s.pop(0)
                for worker in [*self.alive.values()]:
                    if self.draw.random() < given.spot_share:
                        worker.asked = True
                        worker.gone.set()


def one_run(given: argparse.Namespace) -> Result:
    """In this process."""
    folder = given.folder or Path(tempfile.mkdtemp())
    limits = {"thinking": given.thinking or 4 * given.lanes, "in_flight": given.in_flight or 4 * given.lanes}
    info = fakes.run_info(strategy="random", **limits)
    ahead = {"ahead": min(1000, limits["thinking"] + limits["in_flight"]), "patience": given.trials}
    strategy = build_strategy("random", info.starter, given.seed, ahead)
    waits_s = [given.scale * one for one in answers_s(given.answers)]
    expected_s = given.trials * given.scale * sum(given.gpu_s) / 2 / given.lanes
    host = Host(given)

    def answer(request: Request, context: Context) -> Proposal:
        time.sleep(random.Random(f"{given.run} {request.number}").choice(waits_s))
        return different(request, context)

    proposer = fakes.FakeProposer(answer=answer, at_once=given.answers == "none")
    with host.fleet() as fleet, Journal.create(folder / f"run {given.run}", info) as journal:
        fleet.load("problem.py")
        time.sleep(max(0.0, given.begin_at - time.time()))
        threading.Thread(target=host.kill, args=(expected_s,), daemon=True).start()
        began_s, began_cpu_s = time.monotonic(), cpu_s()
        optimize(journal, strategy, proposer, fleet, budget=Budget(trials=given.trials))
        ended_s, spent_s = time.monotonic(), cpu_s() - began_cpu_s
        host.over.set()
        evaluated = Counter(event.number for event in journal.events() if event.kind is EventKind.EVALUATED)
        crashed = sum(t.evaluation is not None and t.evaluation.status is Status.CRASHED for t in journal.trials())
    shutil.rmtree(folder / f"run {given.run}" if given.folder else folder)
    wall_s = ended_s - began_s
    steady = (began_s + 0.1 * wall_s, began_s + 0.9 * wall_s)
    spans = [span for worker in host.every for span in worker.spans]
    return Result(
        trials=len(evaluated), asked=given.trials, twice=sum(count > 1 for count in evaluated.values()),
        blamed=crashed, starts=len(host.every) - given.lanes, wall_s=wall_s, cpu_s=spent_s,
        busy_s=within(spans, began_s, ended_s), lanes_s=wall_s * given.lanes,
        steady_s=within(spans, *steady), steady_lanes_s=0.8 * wall_s * given.lanes,
    )  # fmt: skip


def within(spans: list[tuple[float, float]], first_s: float, last_s: float) -> float:
    return sum(max(0.0, min(end_s, last_s) - max(began_s, first_s)) for began_s, end_s in spans)


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def all_runs(given: argparse.Namespace) -> Result:
    """Each in a process; the lanes are shared out among them."""
    shares = [given.lanes // given.runs + (run < given.lanes % given.runs) for run in range(given.runs)]
    begin_at = time.time() + TOGETHER_S + 0.5 * given.runs
    words = [word for word in sys.argv[1:] if word != "--json"]
    processes = [
        subprocess.Popen(
            [sys.executable, __file__, *words, "--run", str(run), "--lanes", str(lanes), "--begin-at", str(begin_at)],
            stdout=subprocess.PIPE, text=True,
        )
        for run, lanes in enumerate(shares)
    ]  # fmt: skip
    results = [Result(**json.loads(process.communicate()[0])) for process in processes]
    sums = {name: sum(getattr(one, name) for one in results) for name in Result.__dataclass_fields__}
    return Result(**{**sums, "wall_s": max(one.wall_s for one in results)})


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lanes", type=int, default=8, help="of all runs together")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--trials", type=int, default=400, help="of each run")
    parser.add_argument("--spread", type=float, default=0.0, help="standard deviation of the lanes' speeds, a fraction")
    parser.add_argument("--deaths", type=int, default=0, help="of all lanes together")
    parser.add_argument("--spots", type=int, default=0, help="losses of many lanes at once")
    parser.add_argument("--spot-share", type=float, default=0.1)
    parser.add_argument("--start-s", type=float, default=20.0, help="until a lane is there")
    parser.add_argument("--compile-s", type=float, default=1.2)
    parser.add_argument("--gpu-s", type=float, nargs=2, default=(5.0, 20.0), metavar=("LEAST", "MOST"))
    parser.add_argument("--answers", default=str(ANSWERS), metavar="RUN", help='a kept run; "none": at once')
    parser.add_argument("--scale", type=float, default=1.0, help="of all times that are slept")
    parser.add_argument("--in-flight", type=int, help="default: 4 for each lane")
    parser.add_argument("--thinking", type=int, help="default: 4 for each lane")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, help="for the journals: on a RAM file system the disk does not count")
    parser.add_argument("--json", action="store_true", help="print the sums as JSON")
    parser.add_argument("--run", type=int, default=None, help=argparse.SUPPRESS)
    parser.add_argument("--begin-at", type=float, default=0.0, help=argparse.SUPPRESS)
    return parser


def main() -> None:
    given = arguments().parse_args()
    logging.disable(logging.WARNING)
    if given.run is not None:
        print(json.dumps(asdict(one_run(given))))
        return
    found = all_runs(given)
    if given.json:
        print(json.dumps(asdict(found)))
        return
    print(
        f"{found.trials} trials in {found.wall_s:.1f} s: {found.trials / found.wall_s:.2f} a second on {given.lanes} "
        f"lanes of {given.runs} runs; busy {found.busy_s / found.lanes_s:.1%}, between 10 % and 90 % of the time "
        f"{found.steady_s / found.steady_lanes_s:.1%}; {found.starts} lanes lost and started again, {found.blamed} "
        f"trials blamed, {found.asked - found.trials} lost, {found.twice} recorded twice; CPU "
        f"{found.cpu_s / found.trials * 1e3:.1f} ms a trial"
    )


if __name__ == "__main__":
    main()
