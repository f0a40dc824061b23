"""Clocks and throttle reasons of a GPU during a measurement, and which slowdowns make a gain doubtful."""

from __future__ import annotations

from collections.abc import Sequence

from kernelwright.model.base import Record

POWER_CAP = "power_cap"
"""Throttle reason for the GPU's power limit. A compute-bound kernel reaches the limit in every run: products of
8192x8192 ran at 1470 to 1785 MHz instead of 1980 in each of four benches on an H200 (gallery/matmul*/results)."""

FORCED = frozenset({"hardware_slowdown", "software_thermal", "hardware_thermal", "power_brake"})
"""Throttle reasons by temperature or by the machine's power supply. They do not depend on the kernel that runs."""


class Clocks(Record, frozen=True, kw_only=True):
    """NVML readings before and after sampling, while the GPU is busy: the lowest clocks, the highest temperature and
    power, and every throttle reason but idle."""

    sm_mhz: int | None = None
    memory_mhz: int | None = None
    temperature_c: int | None = None
    power_w: float | None = None
    throttle: tuple[str, ...] = ()

    @property
    def slowdowns(self) -> tuple[str, ...]:
        """The throttle reasons that lower the clock of a running kernel, without a clock limit that the user set."""
        return tuple(reason for reason in self.throttle if reason == POWER_CAP or reason in FORCED)

    @property
    def is_forced(self) -> bool:
        """Whether a slowdown was not caused by the kernel."""
        return not FORCED.isdisjoint(self.throttle)


def clocks_over(readings: Sequence[Clocks | None]) -> Clocks | None:
    """Combine several readings into one; None if there is none."""
    known = [one for one in readings if one is not None]
    if not known:
        return None
    return Clocks(
        sm_mhz=min((one.sm_mhz for one in known if one.sm_mhz is not None), default=None),
        memory_mhz=min((one.memory_mhz for one in known if one.memory_mhz is not None), default=None),
        temperature_c=max((one.temperature_c for one in known if one.temperature_c is not None), default=None),
        power_w=max((one.power_w for one in known if one.power_w is not None), default=None),
        throttle=tuple(dict.fromkeys(reason for one in known for reason in one.throttle)),
    )
