"""Results of imported seeds: the times that their source recorded beside those found here.

Pure: records and a table. A recorded time is never compared with one measured here as if they were of one
device; both are kept, each under its name.
"""

from __future__ import annotations

import msgspec

from kernelwright.importers.seed import Seed
from kernelwright.model import Environment, Evaluation, LibraryMode, Record, Scalar
from kernelwright.report.evaluation import mode_text
from kernelwright.source import render
from kernelwright.text.escape import legible
from kernelwright.text.table import table
from kernelwright.text.units import time_text


class Remeasured(Record, frozen=True, kw_only=True):
    """A seed and how it was judged here."""

    seed: Seed
    evaluation: Evaluation

    @property
    def score_us(self) -> float | None:
        return self.evaluation.score_us


class Imported(Record, frozen=True, kw_only=True):
    """The document of `import --json`. importer: which reader took the source. starter: how the problem's own kernel
    fares, None where there is none. left: seeds beyond the limit, by name; useless: what was no seed, with the reason.
    best: the name of the fastest that passed. library: the library steps that they might
    hold here."""

    schema_version: int = 1
    problem: str
    importer: str
    source: str
    environment: Environment
    starter: Evaluation | None
    seeds: tuple[Remeasured, ...]
    left: tuple[str, ...] = ()
    useless: dict[str, str] = msgspec.field(default_factory=dict)
    best: str | None = None
    library: LibraryMode = "none"


def best_of(seeds: tuple[Remeasured, ...]) -> Remeasured | None:
    timed = [one for one in seeds if one.score_us is not None]
    return min(timed, key=lambda one: one.score_us or 0.0, default=None)


def imported_text(imported: Imported) -> str:
    """The seeds in the order in which they were tried."""
    rows = [[one.seed.name, recorded_text(one.seed), here_text(one.evaluation), said(one)] for one in imported.seeds]
    if imported.starter is not None:
        rows.append(["(the problem's own)", "", here_text(imported.starter), imported.starter.reason])
    lines = [table(["seed", "recorded", "here", ""], rows, left=[""])]
    lines += [f"not a kernel: {name}: {why}" for name, why in imported.useless.items()]
    if mode := mode_text(imported.library):
        lines.append(mode)
    if imported.left:
        lines.append(f"not tried: {', '.join(imported.left)}; --limit tries more")
    return "\n".join(lines)


def recorded_text(seed: Seed) -> str:
    return "" if seed.recorded_us is None else time_text(seed.recorded_us, "measured")


def here_text(evaluation: Evaluation) -> str:
    if evaluation.score_us is None:
        return evaluation.status.value
    return time_text(evaluation.score_us, evaluation.timing_kind)


def said(one: Remeasured) -> str:
    """The reason of a failure; else what the source claimed besides a time."""
    if one.score_us is None:
        return " ".join(one.evaluation.reason.split())[:80]
    return ", ".join(f"{name} {shown(value)}" for name, value in one.seed.recorded.items())


def shown(value: Scalar) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def source_text(seed: Seed) -> str:
    """The seed as a file to start from, its config written in, under a comment that says where it is from."""
    source = render(seed.candidate.source, seed.candidate.config)
    origin = " ".join(legible(f"{seed.name} of {seed.origin}").split())
    return f"# imported: {origin}\n\n{source.rstrip()}\n"
