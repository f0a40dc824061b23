"""How busy a search keeps many lanes that differ, die and are taken away, without a GPU: the real loop, journal,
strategies and fleet, and workers that sleep.

    python benchmarks/fleet.py --lanes 8 --spread 0.04 --deaths-per-s 0.02 --trials 400
    python benchmarks/fleet.py --lanes 16 --spot-s 5 --spot-share 0.25 --trials 800

Each evaluation sleeps for --compile-s, then for --gpu-s (times the lane's speed) while it has the lane's GPU. A lane
dies --deaths-per-s times a second on average, and starts again after --start-s. Every --spot-s seconds a share of the
lanes is asked to end at once, as spot machines are. Busy is the share of all lanes' time, dead or not, that evaluations
had a GPU.
"""

from __future__ import annotations

import argparse
import logging
import random
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
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

TICK_S = 0.01
"""How often a sleeping evaluation looks whether its lane is still there."""


@dataclass
class Sleeping(fakes.FakeWorker):
    """A lane's worker. gone: when it died; asked: whether it was told to."""

    hello: Hello | None = None
    compile_s: float = 0.0
    gpu_s: float = 0.0
    busy_s: list[float] = field(default_factory=list)
    gpu: threading.Lock = field(default_factory=threading.Lock)
    gone: threading.Event = field(default_factory=threading.Event)
    asked: bool = False

    def evaluate(self, candidate: Candidate, purpose: str, incumbent: Incumbent | None = None) -> Evaluation:
        was_gone = self.gone.is_set()
        if was_gone or self.gone.wait(self.compile_s):
            raise self._lost(was_gone)
        with self.gpu:
            began_s = time.monotonic()
            if self.gone.wait(self.gpu_s):
                raise self._lost(False)
            self.busy_s.append(time.monotonic() - began_s)
        return fakes.evaluation_of(candidate, purpose)

    def _lost(self, was_gone: bool) -> WorkerLost:
        error = WorkerLost("it sleeps for ever")
        error.from_outside = self.asked or was_gone
        return error


def different(request: Request, context: Context) -> Proposal:
    """A candidate that nobody proposed before: a round of equal ones would end the search."""
    block = 8 << (request.number * 7 % 12)
    return Proposal(author="fake", candidate=Candidate(source=f"BLOCK = {block}\n# number {request.number}\n"))


class Host:
    """Starts lanes, and lets them die."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given, self.draw = given, random.Random(given.seed)
        self.speeds = [max(0.2, self.draw.gauss(1, given.spread)) for _ in range(given.lanes)]
        self.alive: dict[str, Sleeping] = {}
        self.every: list[Sleeping] = []
        self.over = threading.Event()

    def fleet(self) -> Fleet:
        return Fleet({f"lane {number}": lambda number=number: self.start(number) for number in range(self.given.lanes)})

    def start(self, number: int) -> Sleeping:
        time.sleep(self.given.start_s)
        hello = Hello(
            protocol=PROTOCOL, kernelwright="0", host="here", device="Fake GPU", gpu=f"GPU-{number}", target="sm_90",
            driver="1", torch="2", triton="3", cores=1,
        )  # fmt: skip
        gpu_s = self.given.gpu_s * self.speeds[number]
        worker = Sleeping(hello=hello, compile_s=self.given.compile_s, gpu_s=gpu_s)
        self.alive[f"lane {number}"] = worker
        self.every.append(worker)
        return worker

    def kill(self) -> None:
        """Until the end."""
        next_spot_s = self.given.spot_s
        began_s = time.monotonic()
        while not self.over.wait(TICK_S):
            if self.draw.random() < self.given.deaths_per_s * TICK_S * self.given.lanes:
                self.draw.choice([*self.alive.values()]).gone.set()
            if next_spot_s and time.monotonic() - began_s > next_spot_s:
                next_spot_s += self.given.spot_s
                for worker in self.draw.sample([*self.alive.values()], int(self.given.spot_share * len(self.alive))):
                    worker.asked = True
                    worker.gone.set()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lanes", type=int, default=8)
    parser.add_argument("--trials", type=int, default=400)
    parser.add_argument(
        "--spread", type=float, default=0.0, help="standard deviation of the lanes' speeds, as a fraction"
    )
    parser.add_argument("--deaths-per-s", type=float, default=0.0, help="of one lane")
    parser.add_argument("--spot-s", type=float, default=0.0, help="seconds between losses of many lanes; 0: none")
    parser.add_argument("--spot-share", type=float, default=0.1)
    parser.add_argument("--start-s", type=float, default=0.5, help="until a lane is there")
    parser.add_argument("--compile-s", type=float, default=0.3)
    parser.add_argument("--gpu-s", type=float, default=0.1)
    parser.add_argument("--in-flight", type=int, help="default: 4 for each lane")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, help="for the journal: on a RAM file system the disk does not count")
    given = parser.parse_args()
    logging.disable(logging.WARNING)
    folder = given.folder or Path(tempfile.mkdtemp())
    info = fakes.run_info(strategy="random", in_flight=given.in_flight or 4 * given.lanes)
    strategy = build_strategy("random", info.starter, given.seed, {"ahead": 4 * given.lanes, "patience": given.trials})
    host = Host(given)
    with host.fleet() as fleet, Journal.create(folder / "run", info) as journal:
        threading.Thread(target=host.kill, daemon=True).start()
        began_s = time.monotonic()
        budget = Budget(trials=given.trials)
        outcome = optimize(journal, strategy, fakes.FakeProposer(answer=different), fleet, budget=budget)
        wall_s = time.monotonic() - began_s
        host.over.set()
        evaluated = Counter(event.number for event in journal.events() if event.kind is EventKind.EVALUATED)
        crashed = sum(t.evaluation is not None and t.evaluation.status is Status.CRASHED for t in journal.trials())
    shutil.rmtree(folder)
    trials, twice = len(evaluated), sum(count > 1 for count in evaluated.values())
    busy = sum(sum(worker.busy_s) for worker in host.every) / (wall_s * given.lanes)
    print(
        f"{trials} trials in {wall_s:.1f} s: {trials / wall_s:.2f} a second on {given.lanes} lanes, busy {busy:.0%}; "
        f"{len(host.every) - given.lanes} lanes lost and started again, {crashed} trials blamed, "
        f"{given.trials - trials} lost, {twice} recorded twice ({outcome.detail})"
    )


if __name__ == "__main__":
    main()
