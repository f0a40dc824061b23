"""The result of a reader: candidates with what their source claimed of them, and what could not be read.

A claim is kept and shown, and decides nothing but the order in which seeds are tried.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

import msgspec

from kernelwright.errors import RequestError
from kernelwright.model import Candidate, Record, Scalar
from kernelwright.propose.reply import Unusable, checked, same
from kernelwright.textfile import read_text

MOST = 2**62
"""No time, size or score comes near it."""


class Seed(Record, frozen=True, kw_only=True):
    """name: unique among those of one import. origin: the file it was in. recorded_us: what the source timed, None
    where it did not. recorded: whatever else it said, such as a dtype, a device or a score."""

    name: str
    candidate: Candidate
    origin: str
    recorded_us: float | None = None
    recorded: dict[str, Scalar] = msgspec.field(default_factory=dict)


@dataclass(frozen=True)
class Found:
    """useless: what was there and is no seed, with the reason, by name."""

    seeds: tuple[Seed, ...]
    useless: dict[str, str]


class Gathering:
    """Seeds as they come: each code once, in the order of their claims."""

    def __init__(self) -> None:
        self.seeds: list[Seed] = []
        self.useless: dict[str, str] = {}

    def add(
        self, name: str, source: str, origin: Path, recorded: dict[str, Scalar], time_us: float | None = None
    ) -> None:
        """Keep a source that could be a candidate; of equal ones, the first, with the least time that was claimed."""
        try:
            candidate = Candidate(source=checked(source))
        except Unusable as error:
            self.useless[name] = str(error)
            return
        for place, other in enumerate(self.seeds):
            if same(other.candidate, candidate):
                times = [one for one in (other.recorded_us, time_us) if one is not None]
                fields = {"recorded_us": min(times, default=None), "recorded": {**recorded, **other.recorded}}
                self.seeds[place] = msgspec.structs.replace(other, **fields)
                return
        self.seeds.append(
            Seed(name=name, candidate=candidate, origin=str(origin), recorded_us=time_us, recorded=recorded)
        )

    def found(self) -> Found:
        """The fastest claim first; what claims no time keeps its place behind."""
        ordered = sorted(self.seeds, key=lambda seed: (seed.recorded_us is None, seed.recorded_us or 0.0))
        return Found(seeds=tuple(ordered), useless=self.useless)


def text_of(path: Path) -> str:
    """Raises `RequestError`."""
    try:
        return read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise RequestError(f"{path} cannot be read: {error}", "give a text file in UTF-8") from error


def object_of(path: Path) -> dict[str, Any]:
    """A JSON object; empty where the file is none, because a claim that cannot be read is no claim."""
    if not path.is_file():  # a pipe is never read out
        return {}
    try:
        content = json.loads(read_text(path))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def scalars(content: dict[str, Any], names: Sequence[str] | None = None) -> dict[str, Scalar]:
    """The plain values of an object, or those of `names`."""
    kept = content if names is None else {name: content[name] for name in names if name in content}
    return {str(name): value for name, value in kept.items() if isinstance(value, bool | str) or is_number(value)}


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether it is a number that can be computed with: JSON has some of 400 digits, and infinite ones."""
    return isinstance(value, int | float) and not isinstance(value, bool) and -MOST < value < MOST
