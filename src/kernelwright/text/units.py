"""Formats times, sizes, shares and counts as text.

A reader must see whether a time was measured or estimated: `time_text` and `label` (for the heading of a column) take
its `Kind`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

Kind = Literal["measured", "estimate"]


class Unit(NamedTuple):
    """The unit of a column of times. us: one unit in microseconds."""

    name: str
    us: float


MICROSECOND = Unit("µs", 1.0)
MILLISECOND = Unit("ms", 1000.0)


def unit_for(times_us: Iterable[float | None]) -> Unit:
    """One unit for a column: milliseconds if the smallest time is at least one millisecond."""
    known = [time for time in times_us if time is not None]
    return MILLISECOND if known and min(known) >= MILLISECOND.us else MICROSECOND


def label(unit: Unit, kind: Kind | None) -> str:
    """The heading of a column of times: "ms", or "ms, estimate"."""
    return f"{unit.name}, estimate" if kind == "estimate" else unit.name


def number_text(time_us: float | None, unit: Unit) -> str:
    """A time for a column with the heading `label`; "-" for None."""
    if time_us is None:
        return "-"
    value = time_us / unit.us
    return f"{value:.3f}" if value < 10 else f"{value:.2f}" if value < 100 else f"{value:.1f}"


def microseconds_text(time_us: float) -> str:
    """A time with four digits, for a table of times in µs that also has times of milliseconds."""
    return f"{time_us:.0f}" if time_us >= 1000 else f"{time_us:.4g}"


def time_text(time_us: float, kind: Kind | None) -> str:
    """A time outside of a table: "31.20 µs", or "31.20 µs (estimate)"."""
    unit = unit_for([time_us])
    text = f"{number_text(time_us, unit)} {unit.name}"
    return f"{text} (estimate)" if kind == "estimate" else text


def share_text(fraction: float | None) -> str:
    """A fraction as a percentage for people; "-" for None."""
    return "-" if fraction is None else f"{100 * fraction:.1f} %" if fraction < 0.0995 else f"{100 * fraction:.0f} %"


def range_text(ends: tuple[float, float] | None, digits: int = 2) -> str:
    """The interval of a ratio: "1.44 to 1.46"; "-" for None."""
    return "-" if ends is None else f"{ends[0]:.{digits}f} to {ends[1]:.{digits}f}"


def interval_text(ends_us: tuple[float, float] | None, unit: Unit) -> str:
    """The interval of a time, for a column with the heading `label`; "-" for None."""
    return "-" if ends_us is None else f"{number_text(ends_us[0], unit)} to {number_text(ends_us[1], unit)}"


def times_text(ratio: float) -> str:
    """A speedup: "1.45x"."""
    return f"{ratio:.2f}x"


def bytes_text(size_bytes: float) -> str:
    """A size with a decimal prefix, as is usual for bandwidths."""
    for prefix, scale in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if size_bytes >= scale:
            return f"{size_bytes / scale:.3g} {prefix}B"
    return f"{size_bytes:.0f} B"


def count_text(count: int, noun: str) -> str:
    """ "1 trial", "2 trials"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def duration_text(seconds: float) -> str:
    """A duration for people: "8.2 s", "4 min 5 s", "2 h 10 min"."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
