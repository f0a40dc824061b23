"""Exceptions of the conversion."""

from __future__ import annotations


class NotConverted(Exception):
    """The generated code cannot become a candidate; the message says why in one line."""


class UnknownText(NotConverted):
    """A line or a kernel of a form that the conversion does not know; the message shows it."""
