"""`tune`: the best config of one candidate. No model writes anything; only tunables change.

Here are its options and the files that it writes; `kernelwright.tune` does the work. The rule: what was found so far
is on disk whatever ends the search, and where times come from stands in every file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kernelwright.cli import options
from kernelwright.cli.gate import pass_gate, unqualified_option
from kernelwright.cli.output import document_text, note, say, say_document
from kernelwright.cli.parts import Parts, pass_parts, target_option
from kernelwright.errors import RequestError

if TYPE_CHECKING:
    from kernelwright.model import CaseInfo, ProblemInfo
    from kernelwright.tune import Device, Outcome, Settings, Tried
    from kernelwright.tuning.protocol import Sampler, SamplerFactory
    from kernelwright.tuning.space import Config, Space

Rows = list[dict[str, Any]]

DEFAULT_TRIALS = 60
"""Where no limit is given: about a minute on a GPU, and a tenth or more of most spaces."""

IN_FLIGHT = 4
"""One is timed while others are recorded and verified; a sampler learns nothing within so many."""


@click.command()
@click.argument("problem", required=False)
@click.argument("candidate", required=False)
@click.option(
    "--sampler",
    default="model",
    show_default=True,
    help="What to try next: model (a surrogate), random, local, exhaustive, or optuna (needs it installed).",
)
@click.option(
    "--trials",
    type=click.IntRange(min=1),
    help=f"Stop after so many configs (default where no limit is given: {DEFAULT_TRIALS}; exhaustive: all).",
)
@click.option("--minutes", type=click.FloatRange(min=0, min_open=True), help="Ask for nothing more after so many.")
@click.option("--seed", type=int, default=0, show_default=True, help="Decides every random choice.")
@click.option("--space", metavar="FILE", help="The space, as TOML or a Python dict (default: found in the source).")
@click.option(
    "--case", "cases", multiple=True, metavar="NAME", help="Tune for this case only. Repeatable; default: all timed."
)
@click.option("--dtype", help="Run the full-size cases in this dtype (torch's name) instead of their own.")
@click.option(
    "--in-flight",
    type=click.IntRange(min=1),
    default=IN_FLIGHT,
    show_default=True,
    help="Configs of one generation: tried at once, told to the sampler together.",
)
@click.option("--no-early-stop", is_flag=True, help="Go on to the limit even if the sampler expects nothing more.")
@click.option(
    "--import",
    "imported",
    metavar="FILE",
    help="Try the configs of this history.csv or T4 file first; their times are not believed.",
)
@click.option(
    "--recorded",
    metavar="FILE",
    help="Replay this recorded space (or one that ships, by its name) instead of measuring; needs no GPU.",
)
@unqualified_option
@click.option("--out", metavar="DIR", help="Where the results go (default: a new folder under ./tuned).")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
@target_option
@pass_parts
@click.pass_context
def tune(ctx: click.Context, parts: Parts, /, problem: str | None, candidate: str | None, **given: Any) -> None:
    """Search the configs of a candidate: block sizes, warps, stages.

    PROBLEM is a file, a folder with problem.py, or a name in ./gallery; CANDIDATE a Python file, by default the
    problem's starter.py. Neither is needed with --recorded. The folder gets best_config.json, configs.py (for
    triton.autotune), history.csv, t4.json and report.txt. Exit status 1: no config passed.
    """
    from kernelwright.tune import Settings

    if given["recorded"] is None and problem is None:
        raise click.UsageError("give PROBLEM, or --recorded FILE.")
    unlimited = given["trials"] is None and given["minutes"] is None and given["sampler"] != "exhaustive"
    settings = Settings(
        sampler=given["sampler"],
        seed=given["seed"],
        trials=DEFAULT_TRIALS if unlimited else given["trials"],
        minutes=given["minutes"],
        in_flight=given["in_flight"],
        early_stop=not given["no_early_stop"],
        dtype=given["dtype"],
    )
    check_sampler(settings.sampler)
    rows = imported_rows(given["imported"])
    if given["recorded"] is not None:
        for name in ("cases", "space", "dtype", "target", "unqualified"):
            if given[name]:
                flag = next(param.opts[0] for param in ctx.command.params if param.name == name)
                raise click.UsageError(f"{flag} has no meaning with --recorded: the record decides it.")
        outcome = replayed(given["recorded"], problem, candidate, settings, rows, given["out"])
    else:
        assert problem is not None
        outcome = measured(parts, problem, candidate, settings, rows, given)
    from kernelwright.report.tuning import tuning_document, tuning_text

    say(tuning_text(outcome), given["as_json"])
    if given["as_json"]:
        say_document(tuning_document(outcome))
    ctx.exit(0 if outcome.joint is not None else 1)


def measured(
    parts: Parts, problem: str, candidate: str | None, settings: Settings, rows: Rows, given: dict[str, Any]
) -> Outcome:
    """On a worker: measured on its GPU, or estimated without one."""
    from kernelwright.model import Candidate
    from kernelwright.problems import find_problem, read_problem_text
    from kernelwright.tune import LiveDevice
    from kernelwright.tune.stated import found_space, stated_space
    from kernelwright.tuning import SAMPLERS

    found = find_problem(problem)
    read_problem_text(found.file)
    if candidate is None and found.starter is None:
        raise RequestError(f"{found.name} has no starter.py beside it", "name the CANDIDATE to tune")
    source = options.candidate(candidate or str(found.starter)).source
    with parts.start_worker(given["target"]) as worker:
        info = worker.load(str(found.file), settings.dtype, timed=given["cases"], narrow=True)
        pass_gate(worker, problem, given["unqualified"])
        autotune = worker.compile(Candidate(source=source)).autotune
        if given["space"] is not None:
            space = stated_space(Path(given["space"]), source, autotune)
        else:
            space = found_space(source, autotune)
        job = Job(info, source, space, LiveDevice(worker, source, info), settings, rows, given["out"])
        return job.run(SAMPLERS[settings.sampler], worker.qualify().reason if given["unqualified"] else "")


def replayed(
    file: str, problem: str | None, candidate: str | None, settings: Settings, rows: Rows, out: str | None
) -> Outcome:
    """From a record: no worker, no GPU, and every time called replayed."""
    from kernelwright.tune import ReplayedDevice
    from kernelwright.tune.within import Within
    from kernelwright.tuning import SAMPLERS
    from kernelwright.tuning.recorded import load
    from kernelwright.tuning.space import size

    recorded = load(record_file(file))
    if problem is not None and Path(problem).name != recorded.problem:
        raise RequestError(f"{file} is a record of {recorded.problem}, not of {problem}", "leave PROBLEM out")
    if candidate is not None and options.candidate(candidate).source != recorded.candidate:
        raise RequestError(f"{file} is a record of another source than {candidate}", "leave CANDIDATE out")
    if len(recorded.entries) < size(recorded.space):
        note(f"{file} holds {len(recorded.entries)} of {size(recorded.space)} configs; no other is asked for")

    def held(space: Space, seed: int, first: tuple[Config, ...] = ()) -> Sampler:
        return Within(SAMPLERS[settings.sampler](space, seed, first=first), recorded)

    job = Job(recorded.problem, recorded.candidate, recorded.space, ReplayedDevice(recorded), settings, rows, out)
    return job.run(held)


def record_file(name: str) -> Path:
    """A file, or the name of a record that ships with kernelwright."""
    from importlib import resources

    if Path(name).exists():
        return Path(name)
    shipped = Path(str(resources.files("kernelwright.tuning"))) / "spaces"
    found = {path.name.partition(".")[0]: path for path in sorted(shipped.glob("*.json*"))}
    if name not in found:
        raise RequestError(f"no recorded space at {name!r}", f"give a file, or one of {', '.join(found) or 'none'}")
    return found[name]


@dataclass
class Job:
    """One tuning, and the files it leaves."""

    problem: ProblemInfo | str
    source: str
    space: Space
    device: Device
    settings: Settings
    rows: Rows
    """What a file to import holds, fastest first."""
    out: str | None
    tried: list[Tried] = field(default_factory=list)

    def run(self, sampler: SamplerFactory, unqualified: str = "") -> Outcome:
        """Tune and write everything; on an interrupt or a fault at least the history so far."""
        from kernelwright import tune as tuner
        from kernelwright.report.tuning import tried_line

        imported = imported_configs(self.rows, self.space)
        folder = self._folder()
        note(f"results: {folder}; device: {self.device.name}")

        def on_tried(tried: Tried) -> None:
            self.tried.append(tried)
            note(tried_line(tried, self.device.kind))

        try:
            outcome = tuner.tune(
                self.device,
                self.space,
                problem=self.problem,
                candidate=self.source,
                settings=self.settings,
                sampler=sampler,
                imported=imported,
                on_tried=on_tried,
                on_stage=note,
                unqualified=unqualified,
            )
        finally:
            self._write_tried(folder)
        self._write_choices(folder, outcome)
        return outcome

    @property
    def name(self) -> str:
        return self.problem if isinstance(self.problem, str) else self.problem.name

    @property
    def cases(self) -> Sequence[CaseInfo]:
        return () if isinstance(self.problem, str) else self.problem.cases

    def _folder(self) -> Path:
        import datetime

        from kernelwright.cli.session import fresh_folder

        if self.out is not None:
            folder = Path(self.out)
        else:
            now = datetime.datetime.now(datetime.timezone.utc)
            folder = fresh_folder(Path("tuned"), f"{self.name}-{now:%Y%m%d-%H%M%S}")
        if folder.exists() and not folder.is_dir():
            raise RequestError(f"--out {folder} is a file; a folder was expected", "name a folder")
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _write_tried(self, folder: Path) -> None:
        from kernelwright.export.history import history_text
        from kernelwright.export.t4 import t4_document

        text = history_text(self.tried, self.cases, self.device.kind, self.device.name)
        (folder / "history.csv").write_text(text, encoding="utf-8")
        document = t4_document(self.tried, self.device.kind, self.device.name)
        (folder / "t4.json").write_text(document_text(document) + "\n", encoding="utf-8")

    def _write_choices(self, folder: Path, outcome: Outcome) -> None:
        from kernelwright.export.best_config import pinned
        from kernelwright.export.triton_configs import triton_configs_text
        from kernelwright.report.tuning import tuning_text

        (folder / "report.txt").write_text(tuning_text(outcome) + "\n", encoding="utf-8")
        chosen = pinned(outcome)
        files = {
            "best_config.json": None if chosen is None else document_text(chosen) + "\n",
            "configs.py": None if chosen is None else triton_configs_text(chosen),
        }
        for name, text in files.items():
            if text is None:
                (folder / name).unlink(missing_ok=True)  # of an earlier tuning in this folder: it holds no more
            else:
                (folder / name).write_text(text, encoding="utf-8")


def imported_rows(file: str | None) -> Rows:
    """What a history.csv or a T4 file (.json) holds."""
    from kernelwright.export.history import history_rows
    from kernelwright.export.t4 import t4_rows

    if file is None:
        return []
    return t4_rows(Path(file)) if Path(file).suffix == ".json" else history_rows(Path(file))


def imported_configs(rows: Rows, space: Space) -> list[Config]:
    """The configs to try first; what lies outside of the space is left out, and said."""
    from kernelwright.tune.stated import configs_from

    found, useless = configs_from(rows, space)
    if rows:
        note(f"{len(found)} imported configs are tried first" + f"; {useless} are none of this space" * bool(useless))
    return found


def check_sampler(name: str) -> None:
    """Raises `ConfigError` for one that does not exist or is not installed, before a worker starts."""
    from kernelwright.tuning import build_sampler
    from kernelwright.tuning.space import Parameter, Space

    build_sampler(name, Space(parameters=(Parameter(name="any", choices=(1,), default=1),)), 0)
