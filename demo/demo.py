"""What kernelwright does, in two minutes on a laptop: `make demo`. Each number is marked replayed or measured."""

from __future__ import annotations

import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path

from rich.console import Console
from rich.live import Live

import kernelwright
from kernelwright.jobs.display import table
from kernelwright.jobs.tune import replay
from kernelwright.journal import Journal
from kernelwright.model import Status
from kernelwright.problems.paths import shipped_gallery
from kernelwright.report.page import html_page
from kernelwright.report.progress import Progress
from kernelwright.report.verdict import verdict_sentence
from kernelwright.report.view import RunView, read_run
from kernelwright.spaces import recorded
from kernelwright.text.units import duration_text, time_text, times_text

HERE = Path(__file__).parent
PROBLEM, CHEAT = HERE / "softmax.py", HERE / "cheat.py"
SPACE = "matmul_leaky_relu"
OUT = Path("runs") / "demo"
REPLAY_S = 15.0
"""How long the recorded run is shown on a terminal."""


def main() -> None:
    gallery = shipped_gallery()
    assert gallery is not None, "the gallery comes with kernelwright"
    began_s = time.monotonic()
    judged(gallery / "softmax" / "best.py")
    replayed(gallery / "max_pool3d" / "runs" / "mailbox")
    tuned()
    print(f"\nAll of it took {duration_text(time.monotonic() - began_s)} here (measured). The run's page, replayed:")
    print(OUT.resolve() / "report.html")


def judged(kernel: Path) -> None:
    """An honest kernel passes on the user's file, and one that cheats is refused with its line."""
    print(f"1. A KernelBench-style PyTorch file goes in: {PROBLEM.name}, a Model that calls torch.softmax.")
    print("   Two kernels are judged on it, confined, on inputs that they never saw, by Triton's CPU interpreter.")
    began_s = time.monotonic()
    honest, cheat = kernelwright.verify_all(PROBLEM, [kernel, CHEAT], notify=lambda line: None)
    cases = sum(result.status is Status.PASSED for result in honest.evaluation.results)
    print(f"   best.py of the gallery: {honest.evaluation.status.value}, right on {cases} small cases (measured).")
    print(f"   {CHEAT.name}: {cheat.evaluation.status.value}: {cheat.evaluation.reason.partition(';')[0]}.")
    print(f"   That took {duration_text(time.monotonic() - began_s)} (measured). Without a GPU nothing is timed.")


def replayed(folder: Path) -> None:
    """A run that was recorded on an H200, to its confirmed kernel; a page of it in OUT."""
    with Journal.open(folder) as journal:
        view = read_run(journal)
        info = view.info
        print(
            f"\n2. A run that an {info.environment.device} measured on {info.created[:10]}. An assistant wrote kernels"
        )
        print(f"   for {info.problem.name}, and the tuner varied them: {len(view.trials)} trials (replayed).")
        if sys.stdout.isatty():
            show(journal)
        print(f"   {verdict_sentence(view)} (replayed)")
        steps(view)
        OUT.mkdir(parents=True, exist_ok=True)
        (OUT / "report.html").write_text(html_page(view), encoding="utf-8")


def show(journal: Journal) -> None:
    """The live panel, event by event, by the clock of the record."""
    events = journal.history()
    progress = Progress(journal.info)
    with Live(console=Console(), refresh_per_second=10, transient=True) as live:
        for event in events:
            progress.take(event)
            live.update(table(progress, datetime.fromisoformat(event.time)))
            time.sleep(REPLAY_S / len(events))


def steps(view: RunView) -> None:
    """Which trials led, by number."""
    best_us, led = float("inf"), []
    for trial in view.trials:
        if trial.score_us is not None and trial.score_us < best_us:
            best_us = trial.score_us
            led.append(time_text(trial.score_us, "measured"))
    print(f"   Its best, one after the other: {', '.join(led)} (replayed).")


def tuned() -> None:
    """A search over configs whose times were measured once and are looked up now."""
    print(f"\n3. A search over the configs of {SPACE}, every one of which an H200 once timed:")
    with tempfile.TemporaryDirectory() as scratch:
        found = replay(SPACE, out=Path(scratch) / "tuned", notify=lambda line: None).outcome
    assert found is not None
    choice = found.joint
    assert choice is not None
    assert choice.default_us is not None
    assert found.least_us is not None
    every = len(recorded.load(recorded.shipped()[SPACE]).entries)
    ratio, time_us = times_text(choice.default_us / choice.time_us), time_text(choice.time_us, "measured")
    print(
        f"   {len(found.tried)} of {every} configs tried; the choice takes {time_us}, {ratio} as fast as the default;"
    )
    print(f"   the best of the record takes {time_text(found.least_us, 'measured')} (all replayed).")


if __name__ == "__main__":
    main()
