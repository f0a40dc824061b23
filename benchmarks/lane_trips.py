"""Time of a request and its answer on a lane: what a place of workers adds to each evaluation.

`python benchmarks/lane_trips.py PLACE… [--count 300]`, PLACE as in `optimize --workers`, or `here` for a GPU of this
machine. Each lane is asked to judge a text as long as the softmax's best kernel that is not Python; the worker refuses
it at once, so that nearly all of the time is that of the messages. The places take turns, request by request.
"""

from __future__ import annotations

import argparse
import statistics
import time
from contextlib import ExitStack
from pathlib import Path

from kernelwright.evaluator.places import choose, find_gpus, lanes_at, start_lanes
from kernelwright.evaluator.protocol import Worker
from kernelwright.model import Candidate, Status
from kernelwright.text.table import table

PROBLEM = Path(__file__).parent.parent / "gallery" / "softmax"


def trip_ms(worker: Worker, source: str) -> float:
    start_s = time.perf_counter()
    status = worker.evaluate(Candidate(source=source), "search").status
    took_s = time.perf_counter() - start_s
    if status is not Status.COMPILE_ERROR:
        raise SystemExit(f"a text that is not Python got the status {status.value}")
    return took_s * 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("places", nargs="+")
    parser.add_argument("--count", type=int, default=300)
    options = parser.parse_args()
    source = (PROBLEM / "best.py").read_text(encoding="utf-8")
    if len(set(options.places)) < len(options.places):
        parser.error("name each place once")
    found: dict[str, list[float]] = {}
    ready_s = {}
    with ExitStack() as stack:
        workers = {}
        for place in options.places:
            start_s = time.monotonic()
            lanes = choose("1", find_gpus()) if place == "here" else lanes_at(place)
            workers[place] = stack.enter_context(start_lanes(lanes))
            workers[place].load(str(PROBLEM))
            ready_s[place] = time.monotonic() - start_s
        for number in range(options.count):
            for place, worker in workers.items():
                found.setdefault(place, []).append(trip_ms(worker, f"{source}\n)  # {number}\n"))
    rows = []
    for place, times_ms in found.items():
        ordered = sorted(times_ms)
        rows.append([place, f"{ready_s[place]:.1f}", *(f"{one:.2f}" for one in (
            ordered[0], statistics.median(ordered), ordered[len(ordered) * 95 // 100], ordered[-1]))])  # fmt: skip
    print(table(["place", "ready after, s", "least, ms", "median, ms", "95 % within, ms", "most, ms"], rows))


if __name__ == "__main__":
    main()
