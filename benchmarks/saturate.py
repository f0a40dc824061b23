"""How busy a search keeps its GPUs, without one: the real loop, journal and strategies, and a worker that sleeps.

    python benchmarks/saturate.py --trials 200 --compile-s 1.2 --gpu-s 0.25 --thinking-s 20 --thinking 8 --in-flight 6
    python benchmarks/saturate.py --trials 3000 --compile-s 0 --gpu-s 0 --in-flight 64 --folder /dev/shm/saturate

Each evaluation sleeps for --compile-s beside others, then for --gpu-s while it has one of --gpus. Each proposal takes
--thinking-s. Busy is the share of the GPUs' time, from the first request to the last trial, that evaluations had them.
CPU is what the coordinator itself computed for each trial.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from kernelwright.journal import Journal
from kernelwright.model import Budget, Candidate, Evaluation, Incumbent, Proposal, Request
from kernelwright.propose.protocol import Context
from kernelwright.run import optimize
from kernelwright.search import build_strategy

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
import fakes


@dataclass
class Sleeping(fakes.FakeWorker):
    compile_s: float = 0.0
    gpu_s: float = 0.0
    gpus: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(1))
    busy_s: list[float] = field(default_factory=list)

    def evaluate(self, candidate: Candidate, purpose: str, incumbent: Incumbent | None = None) -> Evaluation:
        time.sleep(self.compile_s)
        with self.gpus:
            began_s = time.monotonic()
            time.sleep(self.gpu_s)
            self.busy_s.append(time.monotonic() - began_s)
        return fakes.evaluation_of(candidate, purpose)


def different(request: Request, context: Context) -> Proposal:
    """A candidate that nobody proposed before: a round of equal ones would end the search."""
    block = 8 << (request.number * 7 % 12)
    return Proposal(author="fake", candidate=Candidate(source=f"BLOCK = {block}\n# number {request.number}\n"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--strategy", default="beam")
    parser.add_argument("--compile-s", type=float, default=1.2)
    parser.add_argument("--gpu-s", type=float, default=0.25)
    parser.add_argument("--gpus", type=int, default=1)
    parser.add_argument("--thinking-s", type=float, default=0.0)
    parser.add_argument("--thinking", type=int, default=None)
    parser.add_argument("--in-flight", type=int, default=4)
    parser.add_argument("--ahead", type=int, help="option of the strategy")
    parser.add_argument("--folder", type=Path, help="for the journal: on a RAM file system the disk does not count")
    given = parser.parse_args()
    folder = given.folder or Path(tempfile.mkdtemp())
    limits = {} if given.thinking is None else {"thinking": given.thinking}
    info = fakes.run_info(strategy=given.strategy, in_flight=given.in_flight, **limits)
    worker = Sleeping(compile_s=given.compile_s, gpu_s=given.gpu_s, gpus=threading.Semaphore(given.gpus))
    proposer = fakes.FakeProposer(answer=different, delay_s=given.thinking_s)
    strategy = build_strategy(given.strategy, info.starter, 0, {} if given.ahead is None else {"ahead": given.ahead})
    journal = Journal.create(folder / "run", info)
    began_s, began_cpu_s = time.monotonic(), time.process_time()
    outcome = optimize(journal, strategy, proposer, worker, budget=Budget(trials=given.trials))
    wall_s, cpu_s = time.monotonic() - began_s, time.process_time() - began_cpu_s
    trials = len(journal.trials())
    journal.close()
    shutil.rmtree(folder)
    print(
        f"{trials} trials in {wall_s:.1f} s: {trials / wall_s:.2f} a second, GPUs busy "
        f"{sum(worker.busy_s) / (wall_s * given.gpus):.0%}, CPU {cpu_s / trials * 1e3:.2f} ms a trial ({outcome.detail})"
    )


if __name__ == "__main__":
    main()
