"""`gallery`: lists the problems that come with kernelwright; verbs take them by name."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from kernelwright.cli.context import json_option
from kernelwright.cli.output import say, say_document
from kernelwright.problems.paths import gallery_problems
from kernelwright.report.gallery import gallery_line, gallery_text


@click.command()
@json_option
def gallery(as_json: bool) -> None:
    """List the problems that come with kernelwright, with their recorded speed.

    Those in ./gallery are listed, too. Each is named without a path: `kernelwright bench softmax`.

    Nothing of the problems is executed.
    """
    lines = [gallery_line(file) for file in gallery_problems(Path.cwd()).values()]
    if as_json:
        say_document([asdict(line) for line in lines])
    else:
        say(gallery_text(lines))
