"""How busy this machine is, to give programs that run beside others the time they need."""

from __future__ import annotations

import time
from functools import cache

CALIBRATION_S = 0.2
MOST = 50.0


@cache
def slowness() -> float:
    """Wall time of a piece of work over its processor time, measured once: about 1 on an idle machine, at most MOST."""
    began, used = time.perf_counter(), time.process_time()
    while time.process_time() - used < CALIBRATION_S:
        pass
    return min(MOST, max(1.0, (time.perf_counter() - began) / (time.process_time() - used)))


def scaled(limits: dict[str, float]) -> dict[str, float]:
    """Time limits in s for an idle machine, as they are for this one."""
    return {name: limit * slowness() for name, limit in limits.items()}
