"""Output of the commands: the answer goes to standard output, or to standard error where a JSON document takes that.

With `--json` standard output holds exactly one JSON document, and what a candidate or a model wrote cannot act on a
terminal.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

import click

from kernelwright.codec import document_text as document_text
from kernelwright.text.escape import legible


def say(text: str, as_json: bool = False) -> None:
    """For people: the answer, or with a JSON document on standard output, on standard error.

    A reader who left before the end (`| head`) has what was wanted; any other failure to write it is raised.
    """
    if as_json:
        note(text)
        return
    with suppress(BrokenPipeError), silenced(sys.stdout):
        click.echo(legible(text))


def note(text: str) -> None:
    """For people, beside the answer: always on standard error. What cannot be written is dropped: nothing that is worth
    its cost ends because its output is not read."""
    with dropped():
        click.echo(legible(text), err=True)


UNHEARD = frozenset({errno.EPIPE, errno.EIO, errno.ENOSPC, errno.EBADF, errno.EDQUOT})
"""The reader ended, the terminal was closed, the disk is full, there is no such stream."""


@contextmanager
def dropped() -> Iterator[None]:
    """What cannot be written to standard error within the block is dropped, and so is everything after it."""
    try:
        with silenced(sys.stderr):
            yield
    except OSError as error:
        if error.errno not in UNHEARD:
            raise


@contextmanager
def silenced(stream: TextIO) -> Iterator[None]:
    """Where writing fails within the block, send everything further to nowhere.

    What the stream still has buffered would fail again when the process ends, and change its exit status.
    """
    try:
        yield
    except OSError:
        with suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
        raise


def say_document(document: Any) -> None:
    """The one JSON document on standard output. Raises `OSError` where it cannot be written, also for want of a reader:
    half a document is none."""
    with silenced(sys.stdout):
        click.echo(document_text(document))
