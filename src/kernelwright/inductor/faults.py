"""Exceptions of the conversion."""

from __future__ import annotations


class NotConverted(Exception):
    """The generated code cannot become a candidate; the message says why in one line."""


class LeaveIt(NotConverted):
    """A library call is the whole computation, so a kernel cannot gain anything (`left`)."""
