"""`import`: judges and times kernels that another program found, to start a search from."""

from __future__ import annotations

from typing import Any

import click

from kernelwright.cli import complete
from kernelwright.cli.context import (
    dtype_option,
    json_option,
    library_option,
    loading_options,
    unqualified_option,
    worker_command,
)
from kernelwright.cli.output import say, say_document
from kernelwright.importers.remeasured import imported_text
from kernelwright.jobs import importing as job
from kernelwright.jobs.worker import Desk
from kernelwright.model import Loading


@click.command("import")
@click.argument("problem", shell_complete=complete.problems)
@click.argument("source")
@click.option("--from", "kind", metavar="KIND", help="kernelagent, openevolve, history or python (default: detected).")
@click.option("--candidate", metavar="FILE", help="The kernel that a history's configs are for (default: the starter).")
@click.option("--limit", type=click.IntRange(min=1), default=job.DEFAULT_LIMIT, show_default=True, help="Most to try.")
@click.option("--out", metavar="DIR", help="The folder to write, new or empty (default: imports/PROBLEM-KIND).")
@loading_options(dtype_option, library_option, unqualified_option, which="derived")
@json_option
@worker_command
def import_seeds(
    ctx: click.Context, desk: Desk, /, problem: str, source: str, loading: Loading, as_json: bool, **given: Any
) -> None:
    """Judge and time kernels that another program found.

    SOURCE is a folder of KernelAgent artifacts, an OpenEvolve checkpoint, a config tuner's history.csv, or any file
    with kernel_function or ModelNew. They are untrusted like any candidate. Recorded times are shown beside those found
    here; what passes is written to DIR, the fastest as best.py. Exit status 1: none passed.

    Of SOURCE nothing is executed but kernels, confined; PROBLEM's file is executed with your rights.
    """
    found = job.import_seeds(problem, source, desk=desk, loading=loading, **given)
    say(imported_text(found.imported), as_json)
    if found.best is not None:
        mode = "" if loading.library is None else f" --library {loading.library}"
        say(f"next:\n  kernelwright optimize {problem} --starter {found.best}{mode}", as_json)
    say_document(found.imported, as_json)
    ctx.exit(0 if found.best is not None else 1)
