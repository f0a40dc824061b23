"""`export`: writes a kernel out, as a package or in another project's format."""

from __future__ import annotations

from typing import Any

import click

from kernelwright.cli import complete, options
from kernelwright.cli.context import (
    config_option,
    dtype_option,
    json_option,
    library_option,
    loading_options,
    unqualified_option,
    worker_command,
)
from kernelwright.cli.output import say, say_document
from kernelwright.export.exporters import EXPORTERS
from kernelwright.jobs import export as job
from kernelwright.jobs.exportable import ExportSource
from kernelwright.jobs.worker import Desk
from kernelwright.model import Loading


@click.command()
@click.argument("what", metavar="RUN|CANDIDATE", shell_complete=complete.runs)
@click.option("--problem", metavar="PROBLEM", help="The problem of a candidate's file; a run has its own.")
@click.option("--trial", type=int, metavar="N", help="Another trial of the run than the confirmed best.")
@config_option("tunables of a candidate's file")
@click.option(
    "--format",
    "format_name",
    default=job.PACKAGE,
    show_default=True,
    help="op, kernelbench, hf-kernels, config, csv or trace.",
)
@click.option("--out", metavar="DIR", help="The folder to write, new or empty (default: exports/PROBLEM-FORMAT).")
@click.option("--name", metavar="NAME", help="The package's name (default: fast_PROBLEM).")
@click.option(
    "--results",
    metavar="FILE[:ROW]",
    help="A bench report to use until the package has measured itself; ROW: the kernel's name in it (default: best).",
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
@loading_options(dtype_option, library_option, unqualified_option, which="derived")
@json_option
@worker_command
def export(
    ctx: click.Context,
    desk: Desk,
    /,
    what: str,
    config: tuple[str, ...],
    format_name: str,
    loading: Loading,
    as_json: bool,
    **given: Any,
) -> None:
    """Write a kernel out for use elsewhere.

    RUN is a run's folder: the confirmed best is exported. CANDIDATE is a Python file with ModelNew or
    kernel_function, which is verified first. The default format is a package to install or vendor, with the kernel as
    an operator of PyTorch that falls back to PyTorch wherever the kernel was not measured to be faster. Exit status 1:
    the candidate is wrong, or the package fails its own check.

    Of a RUN no file is executed, but the package (format op) written from its kernel and its problem's text is
    executed with your rights, to check it: read both first if the run is from elsewhere.
    """
    source = {name: given.pop(name) for name in ("problem", "trial", "name", "results")}
    source |= {"config": options.config(config), "loading": loading}
    found = job.export(ExportSource(what, **source), desk=desk, format=format_name, **given)
    if found.folder is None:
        say(f"not exported: {found.reason}", as_json)
        say_document(found.document(), as_json)
        ctx.exit(1)
    say(f"{found.folder}: {EXPORTERS[format_name].summary}", as_json)
    say("\n".join(f"  {path}" for path in found.files), as_json)
    say(found.library, as_json)
    if found.checked is not None and not found.has_figures:
        say(
            "nothing was measured, so PyTorch serves every call; once it is installed on a machine with a GPU:", as_json
        )
        say(f"  python -m {found.package}.benchmark --write", as_json)
    if found.checked:
        say(f"next:\n  pip install {found.folder}\n  kernelwright recheck {found.folder}", as_json)
    say_document(found.document(), as_json)
    ctx.exit(1 if found.checked is False else 0)
