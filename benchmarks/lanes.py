"""A search on one and on several GPUs of a host: evaluations a minute, false gains, shifts of ratios, lost workers.

    python benchmarks/lanes.py search FOLDER gallery/softmax --gpus 1 --trials 150
    python benchmarks/lanes.py search FOLDER gallery/softmax --gpus 2 --trials 600 [--kills 20] [--workers ray*2]
    python benchmarks/lanes.py table FOLDER

`search` runs `kernelwright optimize` once. The script proposer answers with the problem's best kernel (`best.py`) under
other names, every second time with one tunable changed, so that each candidate is recorded, compiled, judged and timed
anew. `--kills` sends SIGKILL to a supervisor (the process of a GPU), each time to the one that has run longest, evenly
over the trials. `table` reads the journals:

- a minute, busy: evaluations, and the share of the GPUs' time, between 10 % and 90 % of the told trials;
- false gains: timed cases of renamed copies that the search took for faster than the best candidate so far, which is
  another copy, or a changed kernel where one is faster than all copies;
- shift: how far the median score of a changed kernel, over that of the copies, differs between the runs of a problem.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path

from kernelwright.journal import Event, EventKind, Journal, fold
from kernelwright.model import Evaluation, LaneChange, Status, Trial
from kernelwright.search.convergence import gpu_s
from kernelwright.source import find_tunables
from kernelwright.text.table import table

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "reliability")]

import processes  # noqa: E402
from pace import variants  # noqa: E402

LEAST_TRIALS = 10
"""A run with fewer told trials is left out of the table."""

MOST_CHANGED = 6
"""Changed kernels; each is tried many times, since its median ratio is compared."""


# --- the search ---------------------------------------------------------------------------------------------


def replies(problem: Path, count: int) -> Iterator[dict[str, object]]:
    """Renamed copies of the best kernel; every second one with one tunable changed."""
    source = (problem / "best.py").read_text(encoding="utf-8")
    changes = changed_configs(source)
    for number, candidate in enumerate(variants(source, count)):
        change = changes[number // 2 % len(changes)] if number % 2 else {}
        config = {renamed(key, number): value for key, value in change.items()}
        yield {"source": candidate.source, "config": config, "note": json.dumps(change)}


def renamed(key: str, number: int) -> str:
    """The key of a tunable where `variants` renamed the kernels: "kernel.num_warps", or a constant's own name."""
    kernel, dot, rest = key.partition(".")
    return f"{kernel}_{number}.{rest}" if dot else key


def changed_configs(source: str) -> list[dict[str, int]]:
    """Configs that differ from the source in one tunable, by one step of its choices."""
    found: list[dict[str, int]] = []
    for tunable in find_tunables(source):
        if tunable.idle:
            continue
        at = tunable.choices.index(tunable.default)
        found += [
            {tunable.key: choice} for choice in tunable.choices[max(0, at - 1) : at + 2] if choice != tunable.default
        ]
    return found[:: max(1, len(found) // MOST_CHANGED)][:MOST_CHANGED]


def search(folder: Path, problem: Path, options: argparse.Namespace) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    place = options.workers.partition(":")[0].partition("*")[0] or "gpus"
    count = gpus_in(options.gpus)
    run = folder / f"{problem.name}-{place}-{count}-{options.trials}-{options.kills}-{time.time_ns() // 10**6 % 10**7}"
    scratch = run.with_suffix(".tmp")
    scratch.mkdir()
    answers = run.with_suffix(".jsonl")
    answers.write_text(
        "".join(f"{json.dumps(reply)}\n" for reply in replies(problem, options.trials)), encoding="utf-8"
    )
    command = [
        sys.executable, "-m", "kernelwright", "optimize", str(problem), "--starter", str(problem / "best.py"),
        "--proposer", "script", "--proposer-option", f"file={answers}", "--strategy", "random", "--option",
        f"ahead={16 * count}", "--option", f"patience={options.trials}", "--trials", str(options.trials),
        "--in-flight", str(options.in_flight * count), "--no-known", "--no-cache", "--out", str(run),
        *(["--workers", options.workers] if options.workers else ["--gpus", options.gpus]),
    ]  # fmt: skip
    start_s = time.monotonic()
    with (
        run.with_suffix(".log").open("w") as log,
        subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, "TMPDIR": str(scratch)}) as process,
    ):
        kills = kill(run, scratch, process, options.kills, options.trials) if options.kills else 0
        process.wait()
    took_s = time.monotonic() - start_s
    print(f"{run.name}: exit status {process.returncode}, {took_s:.0f} s, {kills} kills", flush=True)


def gpus_in(text: str) -> int:
    """The number of GPUs that a text for `--gpus` names."""
    if text == "all":
        raise SystemExit("--gpus: give a number or UUIDs here, since the file's name and the limits depend on it")
    return int(text) if text.isdecimal() else text.count(",") + 1


def kill(run: Path, scratch: Path, process: subprocess.Popen[bytes], kills: int, trials: int) -> int:
    """End the supervisor that has run longest, again and again, evenly over the trials of a run. Returns how many."""
    done = 0
    while process.poll() is None and done < kills:
        time.sleep(0.2)
        if told(run) < trials * (0.1 + 0.8 * done / kills):
            continue
        lanes = [one for one in processes.of_run(scratch) if one.role == "supervisor"]
        if lanes:
            processes.kill(lanes[0])  # the lowest process id: it started first
            done += 1
    return done


def told(run: Path) -> int:
    return sum(event.kind is EventKind.TOLD for event in events_of(run)) if (run / "journal.db").exists() else 0


def events_of(run: Path) -> list[Event]:
    with closing(Journal.open(run)) as journal:
        return journal.events()


# --- the table ----------------------------------------------------------------------------------------------


def row(name: str, events: list[Event]) -> list[str]:
    trials = fold(events).trials()
    times = sorted(seconds(event) for event in events if event.kind is EventKind.TOLD)
    first_s, last_s = times[len(times) // 10], times[len(times) * 9 // 10]
    inside = [
        event.payload for event in events if event.kind is EventKind.EVALUATED and first_s < seconds(event) <= last_s
    ]
    judged = [one for one in inside if isinstance(one, Evaluation)]
    lanes = {one.lane for one in judged if one.status is not Status.CRASHED}
    changes = Counter(e.payload.what for e in events if isinstance(e.payload, LaneChange))
    copies, gained = false_gains(trials)
    repeated = sum(count > 1 for count in Counter(e.number for e in events if e.kind is EventKind.EVALUATED).values())
    statuses = Counter(trial.evaluation.status.value for trial in trials if trial.evaluation is not None)
    return [
        name, str(len(times)), f"{len(judged) / (last_s - first_s) * 60:.1f}",
        f"{sum(gpu_s(one, ()) for one in judged) / (last_s - first_s) / len(lanes):.0%}",
        f"{times[0] - seconds(events[0]):.0f} + {times[-1] - times[0]:.0f} + {seconds(events[-1]) - times[-1]:.0f}",
        f"{gained} of {copies}", str(changes["lost"]), f"{len(trials) - len(times)}, {repeated}",
        ", ".join(f"{count} {status}" for status, count in sorted(statuses.items())),
    ]  # fmt: skip


def false_gains(trials: tuple[Trial, ...]) -> tuple[int, int]:
    """Timed cases of unchanged copies that raced, and how many of them the search took for faster."""
    results = [result for trial in trials if is_copy(trial) and trial.evaluation for result in trial.evaluation.results]
    races = [one.timing.gained for one in results if one.timing is not None and one.timing.gained is not None]
    return len(races), sum(races)


def is_copy(trial: Trial) -> bool:
    return trial.proposal is not None and trial.proposal.note == "{}"


def ratios(events: list[Event]) -> dict[str, list[float]]:
    """Scores of the changed kernels over the median score of the copies, by change."""
    passed = [
        one for one in fold(events).trials() if one.evaluation is not None and one.evaluation.status is Status.PASSED
    ]
    copy_us = statistics.median(one.score_us for one in passed if is_copy(one) and one.score_us is not None)
    found = defaultdict(list)
    for one in passed:
        if one.proposal is not None and one.proposal.note and one.score_us is not None and not is_copy(one):
            found[one.proposal.note].append(one.score_us / copy_us)
    return dict(found)


def seconds(event: Event) -> float:
    return datetime.fromisoformat(event.time).timestamp()


HEADER = ["run", "trials", "a minute", "busy", "start + search + end, s", "false gains", "workers lost",
          "lost, repeated", "status"]  # fmt: skip


def show(folder: Path) -> None:
    runs = [one.parent for one in sorted(folder.glob("*/journal.db"))]
    events = {run.name: events_of(run) for run in runs if told(run) >= LEAST_TRIALS}
    print(table(HEADER, [row(name, one) for name, one in events.items()], left=("run", "status")))
    found = {name: ratios(one) for name, one in events.items()}
    changes = sorted({(name.partition("-")[0], change) for name, one in found.items() for change in one})
    rows = []
    for problem, change in changes:
        medians = {name: statistics.median(one[change]) for name, one in found.items()
                   if name.partition("-")[0] == problem and change in one}  # fmt: skip
        shift = max(medians.values()) / min(medians.values()) - 1
        rows.append(
            [problem, change, *(f"{medians[name]:.4f}" if name in medians else "" for name in found), f"{shift:.2%}"]
        )
    print()
    print(table(["problem", "change", *found, "shift"], rows, left=("problem", "change")))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    searching = verbs.add_parser("search")
    searching.add_argument("folder", type=Path)
    searching.add_argument("problem", type=Path)
    searching.add_argument("--gpus", default="1", help="as in `optimize`: a number, or UUIDs")
    searching.add_argument("--workers", default="", help="as in `optimize`, in place of GPUs here; --gpus: how many")
    searching.add_argument("--trials", type=int, default=150)
    searching.add_argument("--in-flight", type=int, default=6, help="candidates at once for each GPU")
    searching.add_argument("--kills", type=int, default=0)
    verbs.add_parser("table").add_argument("folder", type=Path)
    options = parser.parse_args()
    if options.verb == "search":
        search(options.folder, options.problem, options)
    else:
        show(options.folder)


if __name__ == "__main__":
    main()
