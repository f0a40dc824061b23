"""Importer for a config tuner's `history.csv`: configs of the problem's starter (or of --candidate) with their times.

`export.history` has the format. A row that names no tunable of the kernel is not a seed.
"""

from __future__ import annotations

from pathlib import Path

from kernelwright.errors import RequestError
from kernelwright.export.history import timed_rows
from kernelwright.importers.seed import Found, Seed
from kernelwright.model import Candidate
from kernelwright.spaces.stated import configs_from, found_space
from kernelwright.spaces.written import candidate_for


def claims(path: Path) -> bool:
    return path.suffix == ".csv"


def read(path: Path, starter: Candidate | None) -> Found:
    if starter is None:
        raise RequestError(f"{path} holds configs, and there is no kernel to try them on", "give one with --candidate")
    space = found_space(starter.source, {})
    seeds: list[Seed] = []
    useless: dict[str, str] = {}
    for place, (row, time_ms) in enumerate(timed_rows(path)):
        configs, _ = configs_from([row], space)
        if not configs:
            useless[f"config {place}"] = (
                "none of its names is a tunable of the kernel, or a value is none of its choices"
            )
            continue
        candidate = candidate_for(starter.source, configs[0])
        if any(seed.candidate == candidate for seed in seeds):
            continue
        time_us = None if time_ms is None else 1000 * time_ms
        seeds.append(Seed(name=f"config {place}", candidate=candidate, origin=str(path), recorded_us=time_us))
    return Found(seeds=tuple(seeds), useless=useless)
