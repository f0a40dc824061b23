"""Recorded spaces: a space with the result of each config in one file, and a device that replays these results.

A recorded space covers one candidate of one problem on one case. Replayed results are always labelled as such, with the
device and the date of the measurement. A config that was never measured is an error.
"""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterable
from importlib import resources
from pathlib import Path
from typing import Literal

import msgspec

from kernelwright import codec
from kernelwright.errors import RequestError
from kernelwright.model import Environment, LibraryMode, Record, Status
from kernelwright.spaces.protocol import Sampler
from kernelwright.spaces.space import Config, Space, is_valid

SCHEMA_VERSION = 1


class RecordedResources(Record, frozen=True, kw_only=True, array_like=True):
    """Resources of the timed case's kernel, the worst of each if there are several: registers per thread, spills in
    bytes per thread, shared memory in bytes per block, occupancy as a fraction. Kernels of other cases differ: small
    odd shapes may spill when the timed shape does not."""

    registers: int
    spill_bytes: int
    shared_bytes: int
    occupancy: float


class Entry(Record, frozen=True, kw_only=True, array_like=True):
    """The result of one config. places: for each parameter, the index of its value among the choices. time_us: the
    median, None unless it passed. seconds: total time of the evaluation."""

    places: tuple[int, ...]
    status: Status
    time_us: float | None = None
    ci95_us: tuple[float, float] | None = None
    reason: str = ""
    footprint: RecordedResources | None = None
    seconds: float = 0.0


class RecordedSpace(Record, frozen=True, kw_only=True):
    """The content of the file. kind: whether times were measured, or are estimates of a machine without a GPU.
    candidate: the source text. library: the library steps that the candidate was allowed. footprints: software with
    which the footprints were compiled, if they were not compiled during the recording. The record is complete when
    every config of the space has an entry."""

    schema_version: int = SCHEMA_VERSION
    problem: str
    case: str
    candidate: str
    environment: Environment
    kind: Literal["measured", "estimate"]
    space: Space
    footprints: str = ""
    library: LibraryMode = "none"
    entries: tuple[Entry, ...] = ()

    @property
    def best_us(self) -> float | None:
        """The shortest time; None if nothing passed."""
        return min((entry.time_us for entry in self.entries if entry.time_us is not None), default=None)


class RecordedDevice:
    """Replays the recorded result of each config."""

    def __init__(self, recorded: RecordedSpace) -> None:
        self.recorded = recorded
        self.entries = {entry.places: entry for entry in recorded.entries}

    @property
    def name(self) -> str:
        """The device's name to show: "NVIDIA H200, replayed (measured 2026-11-21)"."""
        environment = self.recorded.environment
        device = environment.device or f"no GPU, target {environment.target}"
        how = "measured" if self.recorded.kind == "measured" else "estimated"
        return f"{device}, replayed ({how} {environment.date[:10]})"

    def measure(self, config: Config) -> Entry:
        """The recorded result of a config. Raises `RequestError` if it is not in the space or was never measured."""
        if not is_valid(self.recorded.space, config):
            raise RequestError(
                f"the recorded space of {self.recorded.problem} has no config {config}",
                "its parameters are "
                + "; ".join(f"{one.name} {one.choices}" for one in self.recorded.space.parameters),
            )
        entry = self.entries.get(places(self.recorded.space, config))
        if entry is None:
            raise RequestError(
                f"the config {config} of {self.recorded.problem} was never measured",
                "the record is not complete: go on with benchmarks/record_space.py",
            )
        return entry


class Within:
    """Restricts a sampler to the configs that an incomplete record has.

    Configs without an entry cost no trial. For the sampler they stay in flight: if they were reported as failures, it
    would learn that their neighbours fail.
    """

    def __init__(self, sampler: Sampler, recorded: RecordedSpace) -> None:
        self.expected_gain: float | None = None
        self._sampler = sampler
        self._space = recorded.space
        self._measured = {entry.places for entry in recorded.entries}

    def ask(self) -> Config | None:
        while (config := self._sampler.ask()) is not None:
            if places(self._space, config) in self._measured:
                self.expected_gain = getattr(self._sampler, "expected_gain", None)
                return config
        return None

    def tell(self, config: Config, time_us: float | None) -> None:
        self._sampler.tell(config, time_us)


def places(space: Space, config: Config) -> tuple[int, ...]:
    """For each parameter, the index of a valid config's value among the choices."""
    return tuple(parameter.choices.index(config[parameter.name]) for parameter in space.parameters)


def config_at(space: Space, at: Iterable[int]) -> Config:
    """The inverse of `places`."""
    return {parameter.name: parameter.choices[place] for parameter, place in zip(space.parameters, at, strict=True)}


def load(path: str | os.PathLike[str]) -> RecordedSpace:
    """Read a recorded space. Raises `RequestError` for a file that is missing, damaged, or of another version."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise RequestError(f"{path} cannot be read: {error.strerror or error}") from error
    try:
        recorded = codec.decode(gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data, RecordedSpace)
    except (msgspec.DecodeError, gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise RequestError(f"{path} is not a recorded space: {error}") from error
    if recorded.schema_version != SCHEMA_VERSION:
        raise RequestError(
            f"{path} is a recorded space of version {recorded.schema_version}; {SCHEMA_VERSION} was expected",
            "record it again, or use the kernelwright that wrote it",
        )
    return recorded


def shipped() -> dict[str, Path]:
    """The recorded spaces that come with kernelwright, by name."""
    folder = Path(str(resources.files("kernelwright.spaces"))) / "files"
    return {path.name.partition(".")[0]: path for path in sorted(folder.glob("*.json*"))}


def save(recorded: RecordedSpace, path: str | os.PathLike[str]) -> None:
    """Write to a temporary file and rename it, so that a reader never sees a partial file. A name with .gz is
    compressed.

    Entries are sorted by `places`, so that equal records give equal files.
    """
    ordered = msgspec.structs.replace(recorded, entries=tuple(sorted(recorded.entries, key=lambda one: one.places)))
    data = codec.encode(ordered)
    path = Path(path)
    part = path.with_name(path.name + ".part")
    part.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
    part.replace(path)
