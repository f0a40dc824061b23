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
from pathlib import Path
from typing import Any, TextIO

import click

from kernelwright.codec import document_text
from kernelwright.text.escape import legible


def say(text: str, as_json: bool = False) -> None:
    """Print the answer for people; where a JSON document takes standard output, on standard error.

    A reader that closes the pipe early (`| head`) is no error; any other failure to write is raised.
    """
    if as_json:
        note(text)
        return
    with suppress(BrokenPipeError), silenced(sys.stdout):
        click.echo(legible(text))


def note(text: str) -> None:
    """Print a message beside the answer, on standard error. Text that cannot be written is dropped: a search must not
    end because its output is not read.
    """
    with dropped():
        click.echo(legible(text), err=True)


UNHEARD = frozenset({errno.EPIPE, errno.EIO, errno.ENOSPC, errno.EBADF, errno.EDQUOT})
"""Errors after which output is dropped: the reader ended, the terminal was closed, the disk is full, or there is no
such stream.
"""


@contextmanager
def dropped() -> Iterator[None]:
    """Drop what cannot be written to standard error within the block, and everything after it."""
    try:
        with silenced(sys.stderr):
            yield
    except OSError as error:
        if error.errno not in UNHEARD:
            raise


@contextmanager
def silenced(stream: TextIO) -> Iterator[None]:
    """If writing fails within the block, send all further output nowhere.

    Otherwise text that is still buffered would fail again when the process ends, and change its exit status.
    """
    try:
        yield
    except OSError:
        with suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
        raise


def say_document(document: Any, as_json: bool = True) -> None:
    """Print the one JSON document on standard output, where it was asked for. Raises `OSError` if it cannot be written
    completely, also if the reader has gone.
    """
    if not as_json:
        return
    with silenced(sys.stdout):
        click.echo(document_text(document))


def write_text(text: str, file: str) -> None:
    """Write a file that the user named, and name it."""
    Path(file).write_text(text, encoding="utf-8")
    note(f"written to {file}")


def hand_out(document: Any, file: str | None) -> None:
    """The document of `--json [FILE]`: "-" for standard output; None: nowhere."""
    if file == "-":
        say_document(document)
    elif file is not None:
        write_text(document_text(document) + "\n", file)
