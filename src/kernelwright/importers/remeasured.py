"""Results of imported seeds: the time that the source recorded and the time measured here, in separate columns."""

from __future__ import annotations

import msgspec

from kernelwright.importers.seed import Seed
from kernelwright.model import Environment, Evaluation, LibraryMode, Record, Scalar, titled
from kernelwright.report.evaluation import mode_text
from kernelwright.source import render
from kernelwright.text.escape import comment
from kernelwright.text.table import table
from kernelwright.text.units import time_text


class Remeasured(Record, frozen=True, kw_only=True):
    """A seed and its evaluation here."""

    seed: Seed
    evaluation: Evaluation

    @property
    def score_us(self) -> float | None:
        return self.evaluation.score_us


class Imported(Record, frozen=True, kw_only=True):
    """The document of `import --json`. importer: name of the importer that read the source. starter: the evaluation of
    the problem's starter, None if there is none. left: names of seeds beyond the limit. useless: by entry that is not a
    seed, the reason. best: name of the fastest seed that passed. library: the library steps that seeds were allowed.
    dtype: as in `ProblemInfo`."""

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
    dtype: str | None = None


def best_of(seeds: tuple[Remeasured, ...]) -> Remeasured | None:
    timed = [one for one in seeds if one.score_us is not None]
    return min(timed, key=lambda one: one.score_us or 0.0, default=None)


def imported_text(imported: Imported) -> str:
    """A table of the seeds, in the order in which they were tried."""
    rows = [[one.seed.name, recorded_text(one.seed), here_text(one.evaluation), said(one)] for one in imported.seeds]
    if imported.starter is not None:
        rows.append(["(the problem's own)", "", here_text(imported.starter), imported.starter.reason])
    lines = [titled(imported.problem, imported.dtype), table(["seed", "recorded", "here", ""], rows, left=[""])]
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
    """The reason of a failure; for other seeds the claims of the source besides the time."""
    if one.score_us is None:
        return " ".join(one.evaluation.reason.split())[:80]
    return ", ".join(f"{name} {shown(value)}" for name, value in one.seed.recorded.items())


def shown(value: Scalar) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def source_text(seed: Seed) -> str:
    """The seed as a starter file: its source with the config written in, below a comment with its origin."""
    source = render(seed.candidate.source, seed.candidate.config)
    return f"{comment(f'imported: {seed.name} of {seed.origin}')}\n{source.rstrip()}\n"
