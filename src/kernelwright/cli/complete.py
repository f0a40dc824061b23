"""Shell completion of problems and runs; verbs and options are completed by click from the commands."""

from __future__ import annotations

from pathlib import Path

import click
from click.shell_completion import CompletionItem

from kernelwright.problems.gallery import gallery_problems


def problems(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of the galleries, or files where none begins so."""
    found = [CompletionItem(name) for name in gallery_problems(Path.cwd()) if name.startswith(incomplete)]
    return found or files(incomplete)


def runs(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The folders in ./runs, or files where none begins so."""
    folders = sorted(str(folder) for folder in Path("runs").glob("*") if folder.is_dir())
    found = [CompletionItem(folder) for folder in folders if folder.startswith(incomplete)]
    return found or files(incomplete)


def files(incomplete: str) -> list[CompletionItem]:
    """What the shell itself completes a word to."""
    return [CompletionItem(incomplete, type="file")]
