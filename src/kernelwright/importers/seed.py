"""The result of an importer: seeds, which are candidates with the claims of their source, and unusable entries."""

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
from kernelwright.textfile import read_given, read_text

MOST = 2**62
"""Upper limit of numbers. No time, size or score comes near it."""


class Seed(Record, frozen=True, kw_only=True):
    """A candidate to try. name: unique within one import. origin: the file that contained it. recorded_us: the time
    that the source recorded, None if it has none. recorded: other claims, such as a dtype, a device or a score."""

    name: str
    candidate: Candidate
    origin: str
    recorded_us: float | None
    recorded: dict[str, Scalar] = msgspec.field(default_factory=dict)


@dataclass(frozen=True)
class Found:
    """All seeds of an import. useless: by name of an entry that is not a seed, the reason."""

    seeds: tuple[Seed, ...]
    useless: dict[str, str]


class Gathering:
    """Collects seeds. Sources with the same code become one seed."""

    def __init__(self) -> None:
        self.seeds: list[Seed] = []
        self.useless: dict[str, str] = {}

    def add(
        self, name: str, source: str, origin: Path, recorded: dict[str, Scalar], time_us: float | None = None
    ) -> None:
        """Add a source if it can be a candidate. Of sources with the same code the first is kept, with the shortest
        claimed time."""
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
        """The seeds, the fastest claim first; seeds without a claimed time last, in the order of `add`."""
        ordered = sorted(self.seeds, key=lambda seed: (seed.recorded_us is None, seed.recorded_us or 0.0))
        return Found(seeds=tuple(ordered), useless=self.useless)


def text_of(path: Path) -> str:
    """The text of a file. Raises `RequestError`."""
    return read_given(path, RequestError, "give a text file in UTF-8")


def object_of(path: Path) -> dict[str, Any]:
    """The JSON object in a file; empty if there is none, because claims are optional."""
    if not path.is_file():  # reading a pipe might never end
        return {}
    try:
        content = json.loads(read_text(path))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def scalars(content: dict[str, Any], names: Sequence[str] | None = None) -> dict[str, Scalar]:
    """The numbers, strings and booleans of an object; names: only these keys."""
    kept = content if names is None else {name: content[name] for name in names if name in content}
    return {str(name): value for name, value in kept.items() if isinstance(value, bool | str) or is_number(value)}


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether a value is a number between -MOST and MOST: JSON may contain numbers of 400 digits, and infinite ones."""
    return isinstance(value, int | float) and not isinstance(value, bool) and -MOST < value < MOST
