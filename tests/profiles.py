"""Profiles that Nsight Compute took on an H200, as the worker reads them. The rule: nothing in them is made up."""

from __future__ import annotations

from pathlib import Path

from kernelwright.model import LaunchProfile
from kernelwright.worker.profile.ncu_csv import launches
from kernelwright.worker.profile.readings import CHOSEN

RECORDED = Path(__file__).parent / "worker" / "profile" / "recorded"


def recorded(name: str) -> tuple[LaunchProfile, ...]:
    """name: of a file in `RECORDED`, without its suffix."""
    return launches((RECORDED / f"{name}.csv").read_text(), {metric: ours for ours, metric in CHOSEN.items()})
