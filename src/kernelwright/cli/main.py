"""The table of verbs, and the conversion of errors into one line and an exit status."""

from __future__ import annotations

import os
import signal
import sys
from importlib import import_module
from types import TracebackType
from typing import Any, NamedTuple

import click
from click.shell_completion import CompletionItem

from kernelwright import __version__
from kernelwright.cli.context import Parts
from kernelwright.cli.output import dropped, note
from kernelwright.errors import KernelwrightError
from kernelwright.interruption import Ended, stoppable
from kernelwright.options import did_you_mean
from kernelwright.text.escape import encodable, legible, one_line

INTERRUPTED = 130
"""What a shell reports for a command that was interrupted; click's own 1 would read as "the answer is no"."""

ENDED = (128 + signal.SIGTERM, 128 + signal.SIGHUP)
"""Exit statuses after SIGTERM and SIGHUP, which leave the process two seconds."""


class Verb(NamedTuple):
    """The module of a verb, and its summary for `--help`. Its function has the module's name, or the verb's."""

    module: str
    summary: str


GROUPS = {
    "Kernels": {
        "optimize": Verb("optimize", "Search for a faster kernel and prove it right; the main job."),
        "tune": Verb("tune", "Search the configs of a candidate: block sizes, warps, stages."),
        "verify": Verb("verify", "Judge whether candidates compute what the problem asks for."),
        "bench": Verb("bench", "Time PyTorch (eager, compiled), the starter and candidates side by side."),
        "profile": Verb("profile", "Show how far a candidate is from the bound, its bottleneck, and what could help."),
        "export": Verb(
            "export", "Write a kernel out for use elsewhere; by default a package that falls back to PyTorch."
        ),
        "recheck": Verb("recheck", "Check an exported package again: still right, still faster?"),
        "import": Verb("import_seeds", "Judge and time kernels that another program found."),
    },
    "Problems": {
        "model": Verb("model", "Show where the time of a whole model goes, and what could be won before any search."),
        "new": Verb("new", "Write a problem to start from."),
        "check": Verb("check", "Show which trivial answers a problem would accept, and at which tolerance."),
        "gallery": Verb("gallery", "List the problems that come with kernelwright, with their recorded speed."),
    },
    "Runs that are at work": {
        "watch": Verb("watch", "Follow a run in the browser."),
        "pause": Verb("control", "Pause a running search."),
        "resume": Verb("control", "Continue a paused search."),
        "stop": Verb("control", "End a running search; nothing is lost."),
        "reply": Verb("reply", "Hand in the answer to a prompt that a run waits for."),
    },
    "Runs that are over": {
        "report": Verb("report", "Print what a run found."),
        "runs": Verb("runs", "List the runs in a folder."),
        "show": Verb("show", "Print a run's trials, or one of them whole."),
        "compare": Verb("compare", "Compare two runs."),
    },
    "This machine": {
        "doctor": Verb("doctor", "Show what this machine can do, and what it cannot."),
        "mcp": Verb("mcp", "Serve runs to a coding agent over MCP."),
    },
}
"""Verbs by what they are for, each with its module and its summary."""

VERBS = {name: verb for verbs in GROUPS.values() for name, verb in verbs.items()}


class VerbGroup(click.Group):
    """A group that imports a verb only to run it, so that `--help` stays instant."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        verb = VERBS.get(cmd_name)
        if verb is None:
            return None
        module = import_module(f"kernelwright.cli.{verb.module}")
        command = getattr(module, verb.module, None) or getattr(module, cmd_name)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            ctx.fail(f"No such command {name!r}; {did_you_mean(name, VERBS) or 'see kernelwright --help'}")
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Verbs with their summaries. No verb is imported, because the shell waits for the answer."""
        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        return [CompletionItem(name, help=verb.summary) for name, verb in VERBS.items() if name.startswith(incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for group, verbs in GROUPS.items():
            with formatter.section(group):
                formatter.write_dl([(name, verb.summary) for name, verb in verbs.items()])

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        for word in args:
            if encodable(word) != word:
                raise click.UsageError(f"{legible(word)} is not text in UTF-8; a run's journal could not hold it.")
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with stoppable():
                return super().invoke(ctx)
        except Ended as ended:
            note("interrupted")
            raise LeavingError(ended.status) from None
        except KeyboardInterrupt:
            note("interrupted")
            ctx.exit(INTERRUPTED)
        except KernelwrightError as error:
            fault = str(error)
        except OSError as error:
            fault = f"{error.strerror or error}: {error.filename}" if error.filename else error.strerror or str(error)
        note(f"error: {one_line(fault)}")
        ctx.exit(2)


class LeavingError(click.exceptions.Exit):
    """Ends the process at once, without waiting for threads, which may be busy for minutes."""


@click.group(cls=VerbGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 116})
@click.version_option(__version__, prog_name="kernelwright")
def cli() -> None:
    """A faster GPU kernel for a PyTorch computation: proven right, timed honestly, ready to drop in.

    Exit status: 0 done and good; 1 the answer is no (a candidate that is wrong or rejected); 2 the request or the
    machine is at fault.
    """


def main(parts: Parts | None = None) -> None:
    """Run the command line and leave the process with its exit status. parts: what verbs start; None: the usual."""
    sys.excepthook = _report_defect
    try:
        cli(prog_name="kernelwright", obj=parts)
    except SystemExit as leaving:
        with dropped():
            sys.stderr.flush()
        if leaving.code in ENDED:
            os._exit(leaving.code)  # Threads may be busy for minutes, and the process has to end now.
        raise
    finally:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # Unless it is ignored, as in the background.
            # All output is written: let another Ctrl-C end the process without a traceback from Python's shutdown.
            signal.signal(signal.SIGINT, signal.SIG_DFL)


def _report_defect(kind: type[BaseException], value: BaseException, trace: TracebackType | None) -> None:
    """A traceback ends with status 2: Python's own 1 would read as "the answer is no"."""
    sys.__excepthook__(kind, value, trace)
    raise SystemExit(2)
