"""How long the views of a long run take to make, and how large they are.

    python benchmarks/views.py [TRIALS…]     (default: 1000 5000)

Needs no GPU. The run is made up (tests/long_run.py): a fifth of its trials fail, two fifths are written by a model
whose prompts and replies are 4 kB each. Each view is made as the command line makes it, reading the journal included.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from kernelwright.journal import Journal
from kernelwright.report.evolution import evolution_log
from kernelwright.report.page import html_page
from kernelwright.report.text import report_text
from kernelwright.report.trace_rounds import TraceRounds
from kernelwright.report.trials import trials_table
from kernelwright.report.view import RunView, read_run
from long_run import write_long_run

VIEWS: dict[str, Callable[[RunView], str]] = {
    "report.txt": report_text,
    "show": trials_table,
    "report.html": html_page,
    "EVOLUTION_LOG.md": evolution_log,
}


def main(counts: list[int]) -> None:
    print(f"{'trials':>6}  {'view':<22}{'wall s':>8}{'CPU s':>8}{'MB':>8}")
    for trials in counts:
        for is_chain in (False, True):
            with tempfile.TemporaryDirectory() as scratch:
                measure(write_long_run(Path(scratch) / "run", trials, is_chain=is_chain), trials, is_chain)


def measure(folder: Path, trials: int, is_chain: bool) -> None:
    """is_chain: every trial is made from the one before."""
    kind = ", chain" if is_chain else ""
    row(trials, f"journal.db{kind}", (), (folder / "journal.db").stat().st_size)
    for name, make in VIEWS.items():
        began = now()
        with Journal.open(folder) as journal:
            text = make(read_run(journal))
        row(trials, f"{name}{kind}", since(began), len(text.encode()))
    began = now()
    with Journal.open(folder) as journal:
        TraceRounds(folder).write(read_run(journal))
    size = sum(file.stat().st_size for file in (folder / "trace").rglob("*") if file.is_file())
    row(trials, f"trace, at once{kind}", since(began), size)


def now() -> tuple[float, float]:
    """Seconds that have passed, and those that this process has computed."""
    return time.monotonic(), time.process_time()


def since(began: tuple[float, float]) -> tuple[float, ...]:
    return tuple(end - start for end, start in zip(now(), began, strict=True))


def row(trials: int, name: str, spent: tuple[float, ...], size_bytes: int) -> None:
    wall, cpu = [f"{one:.2f}" for one in spent] or ["", ""]
    print(f"{trials:>6}  {name:<22}{wall:>8}{cpu:>8}{size_bytes / 1e6:>8.2f}", flush=True)


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]] or [1000, 5000])
