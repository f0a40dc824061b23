"""The profile files of a round's trace: the counters of a kernel.

`*_ncu_metrics.json` holds what Nsight Compute read and nothing else, under its own names; what other tools said is in
`*_profile.json`, each figure with its tool.
"""

from __future__ import annotations

from typing import Any

from kernelwright.codec import plain
from kernelwright.model import Profile, Trial
from kernelwright.report.view import RunView

NCU = "ncu"


def profile_files(prefix: str, trial: Trial | None, view: RunView) -> dict[str, Any]:
    """Contents by name: `<prefix>_ncu_metrics.json` and `<prefix>_profile.json`, where the trial was profiled."""
    profiles = view.profiles.get(trial.number, ()) if trial is not None else ()
    if not profiles:
        return {}
    files: dict[str, Any] = {f"{prefix}_profile.json": [plain(profile) for profile in profiles]}
    counted = {profile.case: ncu_metrics(profile) for profile in profiles if profile.tool == NCU}
    if counted:
        files[f"{prefix}_ncu_metrics.json"] = counted
    return files


def ncu_metrics(profile: Profile) -> list[dict[str, Any]]:
    """For each launch the metrics by their names in Nsight Compute. Values are in our units: µs, bytes, fractions."""
    return [
        {
            "kernel": launch.kernel,
            "metrics": {
                counter.metric: {"value": counter.value, "unit": counter.unit}
                for counter in launch.counters
                if counter.tool == NCU
            },
        }
        for launch in profile.launches
    ]
