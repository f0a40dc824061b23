"""A sampler held to the configs that a record has.

It chooses nothing itself. The one rule: what the record does not hold never leaves here, so it costs no trial; to the
sampler it stays under way, because to call it a failure would teach that its neighbours fail.
"""

from __future__ import annotations

from kernelwright.spaces.protocol import Sampler
from kernelwright.spaces.recorded import RecordedSpace, places
from kernelwright.spaces.space import Config


class Within:
    """`sampler` over what is measured of an incomplete record."""

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
