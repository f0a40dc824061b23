"""`export`: take a kernel away, as a package or in another project's format.

Not a search and no judge: what is exported was confirmed by its run, or is verified now. The rule: a folder that holds
something is not written over, and what a package says of itself (`check`) is seen before it is handed out.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kernelwright.cli.gate import unqualified_option
from kernelwright.cli.output import note, say, say_document
from kernelwright.cli.parts import Parts, pass_parts, target_option
from kernelwright.errors import MachineError, RequestError

if TYPE_CHECKING:
    from kernelwright.export.subject import Subject

DEFAULT = "op"


@click.command()
@click.argument("what", metavar="RUN|CANDIDATE")
@click.option("--problem", metavar="PROBLEM", help="What a candidate's file is for; a run knows.")
@click.option("--trial", type=int, metavar="N", help="Another trial of the run than the one that stands.")
@click.option(
    "--config",
    multiple=True,
    metavar="KEY=VALUE|FILE",
    help="Values for the tunables of a candidate's file. Repeatable.",
)
@click.option(
    "--format",
    "format_name",
    default=DEFAULT,
    show_default=True,
    help="op, kernelbench, hf-kernels, config, csv or trace.",
)
@click.option("--out", metavar="DIR", help="The folder to write, new or empty (default: exports/PROBLEM-FORMAT).")
@click.option("--name", metavar="NAME", help="The package's name (default: fast_PROBLEM).")
@click.option(
    "--results",
    metavar="FILE[:ROW]",
    help="A bench report to go by until the package has measured itself; ROW: the kernel's name in it (default: best).",
)
@click.option(
    "--measure/--no-measure", default=None, help="Whether to time the package here (default: where there is a GPU)."
)
@click.option(
    "--vary",
    multiple=True,
    metavar="NAME=V,V",
    help="Time these sizes too, every combination; names are the problem's. Repeatable.",
)
@click.option("--dtypes", metavar="D,D", help="Dtypes of the sizes of --vary.")
@unqualified_option
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
@target_option
@pass_parts
@click.pass_context
def export(
    ctx: click.Context,
    parts: Parts,
    what: str,
    problem: str | None,
    trial: int | None,
    config: tuple[str, ...],
    format_name: str,
    out: str | None,
    name: str | None,
    results: str | None,
    measure: bool | None,
    vary: tuple[str, ...],
    dtypes: str | None,
    unqualified: bool,
    target: str | None,
    as_json: bool,
) -> None:
    """Write a kernel out for use elsewhere.

    RUN is a run's folder: the kernel that stands is exported. CANDIDATE is a Python file with ModelNew or
    kernel_function, which is verified first. The default format is a package to install or vendor, with the kernel as
    an operator of PyTorch that falls back to PyTorch wherever the kernel was not measured to be faster. Exit status 1:
    the candidate is wrong, or the package fails its own check.

    Of a RUN no file is executed, but the package (format op) that is made of its kernel and its problem's text is
    executed with your rights, to check it: read both first if the run is from elsewhere.
    """
    from kernelwright.cli.exported import Asked, WrongCandidateError, subject_of
    from kernelwright.export.exporters import EXPORTERS
    from kernelwright.export.names import unfit

    exporter = EXPORTERS.get(format_name)
    if exporter is None:
        raise RequestError(f"there is no format {format_name!r}", f"choose one of {', '.join(EXPORTERS)}")
    if name is not None and (why := unfit(name)):
        raise RequestError(
            f"{name!r} cannot be a package's name: {why}", "use letters a to z, digits and _, beginning with a letter"
        )
    try:
        subject = subject_of(parts, Asked(what, problem, trial, config, name, results, unqualified, target))
    except WrongCandidateError as error:
        say(f"not exported: {error}", as_json)
        if as_json:
            say_document({"folder": None, "reason": str(error)})
        ctx.exit(1)
    if exporter.of_run and subject.run is None:
        raise RequestError(f"format {format_name} is of a run, and {what} is a candidate", "give a run's folder")
    folder = Path(out) if out is not None else Path("exports") / f"{subject.problem.name}-{format_name}"
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise RequestError(f"{folder} holds something already", "name another folder with --out, or remove it")
    measures = format_name == DEFAULT and (subject.environment.device is not None if measure is None else measure)
    subject = replace(subject, measures=measures)
    files = exporter.files(subject)
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    checked = None
    if format_name == DEFAULT:
        if measures:
            measured(folder, subject, [*(f"--vary={one}" for one in vary), *([f"--dtypes={dtypes}"] if dtypes else [])])
        checked = check(folder, subject)
    say(f"{folder}: {exporter.summary}", as_json)
    say("\n".join(f"  {path}" for path in sorted(files)), as_json)
    if format_name == DEFAULT:
        if not has_figures(folder, subject):
            say(
                "nothing was measured, so PyTorch serves every call; once it is installed on a machine with a GPU:",
                as_json,
            )
            say(f"  python -m {subject.package}.benchmark --write", as_json)
        if checked:
            say(f"next:\n  pip install {folder}\n  kernelwright recheck {folder}", as_json)
    if as_json:
        say_document({"folder": str(folder), "format": format_name, "files": sorted(files), "check": checked})
    ctx.exit(1 if checked is False else 0)


def measured(folder: Path, subject: Subject, options: list[str]) -> None:
    """Have the package time itself and keep the figures."""
    note("timing the package against PyTorch")
    if packaged(folder, subject, "benchmark", ["--write", *options]) != 0:
        raise MachineError(f"the benchmark of {folder} failed", "see its messages above; --no-measure leaves it out")


def has_figures(folder: Path, subject: Subject) -> bool:
    """Whether the package knows a device on which the kernel was timed; on any other PyTorch serves."""
    wins = json.loads((folder / subject.package / "wins.json").read_text(encoding="utf-8"))
    return wins["device"] is not None


def check(folder: Path, subject: Subject) -> bool:
    return packaged(folder, subject, "check", []) == 0


def packaged(folder: Path, subject: Subject, module: str, words: list[str]) -> int:
    """Run a module of the package in a process of its own; what it prints goes to standard error."""
    path = os.pathsep.join([str(folder.resolve()), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", f"{subject.package}.{module}", *words]
    return subprocess.run(command, stdout=2, env={**os.environ, "PYTHONPATH": path}).returncode
