"""Shell completion of problems and runs; verbs and options are completed by click from the commands."""

from __future__ import annotations

from pathlib import Path

import click
from click.shell_completion import CompletionItem

from kernelwright.problems.paths import gallery_problems


def problems(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names in the galleries that begin like the word; files where no name does."""
    found = [CompletionItem(name) for name in gallery_problems(Path.cwd()) if name.startswith(incomplete)]
    return found or files(incomplete)


def runs(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The folders in ./runs; files where no run begins like the word."""
    folders = sorted(str(folder) for folder in Path("runs").glob("*") if folder.is_dir())
    found = [CompletionItem(folder) for folder in folders if folder.startswith(incomplete)]
    return found or files(incomplete)


def files(incomplete: str) -> list[CompletionItem]:
    """Let the shell complete the word to a file."""
    return [CompletionItem(incomplete, type="file")]
