"""The lanes of a run (one lane is one worker on one GPU): where each is, how busy it was, and its losses. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from kernelwright.journal import LaneTally
from kernelwright.text.escape import legible
from kernelwright.text.table import Grid, Section
from kernelwright.text.units import count_text, share_text

MOST_SHOWN = 16
"""Largest number of lanes with a line each. If there are more, those with the most losses have one, and the others
share one.
"""

NAME_WIDTH, GPU_WIDTH = 18, 16
"""Characters of a column, so that a line fits into 80."""

UUID_WIDTH = len("GPU-5f0e1234")

HEADER = ("lane", "GPU", "busy", "evaluated", "lost", "state")


def lanes_section(lanes: Mapping[str, LaneTally], at_work_s: float) -> Section | None:
    """None where the run has no lanes."""
    if not lanes:
        return None
    shown, folded = split(lanes)
    rows = [row(shorten(one.name, NAME_WIDTH), [one], at_work_s) for one in shown]
    if folded:
        rows.append(row(f"{len(folded)} others", folded, at_work_s))
    notes = [summary_text(lanes, at_work_s)]
    if lost_s := sum(one.lost_s for one in lanes.values()):
        count = sum(one.losses for one in lanes.values())
        notes.append(f"lost with {count_text(count, 'worker')} and done again: at most {lost_s:.1f} s of their GPUs")
    return Section("lanes", "Lanes", Grid(HEADER, tuple(rows), frozenset({"GPU", "state"})), tuple(notes))


def lane_rows(lanes: Mapping[str, LaneTally], at_work_s: float) -> list[tuple[str, str]]:
    """Label and text of the rows of a live display: all together, then each."""
    if not lanes:
        return []
    shown, folded = split(lanes)
    rows = [("lanes", summary_text(lanes, at_work_s))]
    rows += [(shorten(one.name, NAME_WIDTH), line([one], at_work_s)) for one in shown]
    return [*rows, (f"{len(folded)} others", line(folded, at_work_s))] if folded else rows


def summary_text(lanes: Mapping[str, LaneTally], at_work_s: float) -> str:
    every = list(lanes.values())
    shares = [share for one in every if (share := busy_share([one], at_work_s)) is not None]
    parts = [f"{count_text(len(every), 'lane')}: {states_text(every)}"]
    if shares:
        spread = f" ({share_text(min(shares))} to {share_text(max(shares))})" if len(shares) > 1 else ""
        parts.append(f"busy {share_text(busy_share(every, at_work_s))}{spread}")
    return ", ".join(parts)


def line(lanes: Sequence[LaneTally], at_work_s: float) -> str:
    _, gpu, busy, evaluated, lost, state = row("", lanes, at_work_s)
    losses = f", lost {lost} times" if lost not in ("0", "1") else ", lost once" if lost == "1" else ""
    return ", ".join(part for part in (gpu, f"busy {busy}", f"{evaluated} evaluated{losses}", state) if part)


def row(name: str, lanes: Sequence[LaneTally], at_work_s: float) -> tuple[str, ...]:
    devices = list(dict.fromkeys(one.device or "none" for one in lanes))
    share = busy_share(lanes, at_work_s)
    return (
        name,
        shorten(devices[0].removeprefix("NVIDIA "), GPU_WIDTH) if len(devices) == 1 else "",
        "-" if share is None else share_text(share),
        str(sum(one.evaluations for one in lanes)),
        str(sum(one.losses for one in lanes)),
        states_text(lanes) if len(lanes) > 1 else lanes[0].state,
    )


def states_text(lanes: Sequence[LaneTally]) -> str:
    return ", ".join(f"{count} {state}" for state, count in Counter(one.state for one in lanes).most_common())


def busy_share(lanes: Sequence[LaneTally], at_work_s: float) -> float | None:
    """Of the time for which the run had them, up or not, the part in which evaluations had the GPU; None without a
    GPU."""
    here_s = sum(one.here_s(at_work_s) for one in lanes if one.device is not None)
    return sum(one.gpu_s for one in lanes if one.device is not None) / here_s if here_s > 0 else None


def split(lanes: Mapping[str, LaneTally]) -> tuple[list[LaneTally], list[LaneTally]]:
    """Those that are shown one by one, in their order, and those that are not."""
    every = list(lanes.values())
    if len(every) <= MOST_SHOWN:
        return every, []
    ranked = sorted(every, key=lambda one: (-one.losses, every.index(one)))
    chosen = {one.name for one in ranked[: MOST_SHOWN - 1]}
    return [one for one in every if one.name in chosen], [one for one in every if one.name not in chosen]


def shorten(text: str, width: int) -> str:
    """A UUID by its beginning; other names by their beginning and their end, which often is a number."""
    text = legible(text)
    if text.startswith(("GPU-", "MIG-")) and len(text) > UUID_WIDTH:
        return text[:UUID_WIDTH]
    return text if len(text) <= width else f"{text[: width - 6]}…{text[-5:]}"
