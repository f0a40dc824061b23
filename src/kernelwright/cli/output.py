"""Where a verb's words go: its answer to standard output, or to standard error when a JSON document takes that.

Not formatting. The rule: with `--json` standard output holds exactly one JSON document, and what a candidate or a
model wrote cannot act on a terminal.
"""

from __future__ import annotations

from typing import Any

import click
import msgspec

from kernelwright.codec import encode
from kernelwright.legible import legible


def say(text: str, as_json: bool = False) -> None:
    """For people: the answer, or with a JSON document on standard output, on standard error."""
    click.echo(legible(text), err=as_json)


def note(text: str) -> None:
    """For people, beside the answer: always on standard error."""
    click.echo(legible(text), err=True)


def document_text(document: Any) -> str:
    """A record or plain data as indented JSON."""
    return msgspec.json.format(encode(document), indent=2).decode()


def say_document(document: Any) -> None:
    """The one JSON document on standard output."""
    click.echo(document_text(document))
