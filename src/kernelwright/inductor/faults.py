"""Why generated text does not become a candidate."""

from __future__ import annotations


class NotConverted(Exception):
    """Why generated text does not become a candidate, in one line."""


class LeaveIt(NotConverted):
    """The library is the computation: there is nothing for a kernel to win (`left`)."""
