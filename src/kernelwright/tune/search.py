"""The search of a tuning: asks a sampler for a generation of configs, compiles and measures them, tells it the results.

The order of calls to the sampler depends only on the results, not on which of several configs was finished first. The
same results therefore give the same search.
"""

from __future__ import annotations

import datetime
import math
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol, runtime_checkable

import msgspec

from kernelwright.model import Status
from kernelwright.spaces.protocol import Informed, Sampler
from kernelwright.spaces.space import Config, Space, configs, is_valid, key, product_size, written
from kernelwright.tune.device import Device
from kernelwright.tune.records import Footprint, Found, Origin, Settings, Tried

COMPILED_WHOLE = 500
"""Larger spaces are not compiled completely before the first launch, but one generation ahead of the measurements."""
COMPILED_PER_TRIAL = 2
"""On a device a space is compiled completely only if it has at most this many configs per trial: on an H200's 16 cores
compiling 224 configs of a matrix product took 56 s, measuring 28 of them 6."""
COMPILED_ANYWAY = 32
"""Spaces up to this size are compiled completely for any number of trials, because that takes seconds."""
REFUSED_PER_TRIAL = 4
"""Configs that the compiler refuses cost no trial. The search ends after this many of them per trial, because more mean
that something is wrong."""
COMPILE_AT_ONCE = 12
"""Largest number of concurrent compile requests. A worker answers 16 requests at once; the rest is for measurements."""

MOST_FORESEEN = 8
"""Largest number of configs that are compiled because the sampler may ask for them next, on cores that two generations
leave idle. Compiling one took two seconds on an H200's 16 cores, measuring four of them less than one."""

LEAST_GAIN = 0.0003
"""The search ends early when each of the last asks had an expected improvement below this fraction of the best time."""
PATIENCE = 12
"""Smallest number of these asks. With many configs in flight it is three generations, because the asks of a generation
repeat one expectation. On the synthetic landscapes of the tests five asks at 0.1 % ended up to 1.6 % worse than without
an early stop; with these constants a complete record of softmax (336 configs, 20 seeds) always ended at the best."""


@runtime_checkable
class Expecting(Protocol):
    """A sampler with an expected improvement of its last ask, as a fraction of the best time; None: not known."""

    expected_gain: float | None


@runtime_checkable
class Foreseeing(Protocol):
    """A sampler that can predict its next configs."""

    def foresee(self, count: int) -> list[Config]: ...


class Search:
    """One search. tried: finished configs; may be read while the search runs. stopped: why the search ended."""

    def __init__(
        self,
        device: Device,
        space: Space,
        sampler: Sampler,
        imported: Sequence[Config],
        settings: Settings,
        on_tried: Callable[[Tried], None],
        advised: Sequence[Config] = (),
        cores: int | None = None,
    ) -> None:
        """imported and advised: configs from a file and from a model that the sampler was given. cores: number of cores
        to compile on; None: this machine's."""
        self.tried: list[Tried] = []
        self.stopped = ""
        self._device, self._space, self._sampler, self._settings = device, space, sampler, settings
        self._written, self._on_tried = written(space), on_tried
        self._foreseen = max(0, min(MOST_FORESEEN, (cores or os.cpu_count() or 1) - 2 * settings.in_flight))
        self._named: dict[tuple[int, ...], Origin] = {key(space, config): "imported" for config in imported}
        self._named |= {key(space, config): "advised" for config in advised}
        self._compiled: dict[tuple[int, ...], Future[Found]] = {}
        self._known: dict[tuple[int, ...], Tried] = {}
        self._gains: list[float | None] = []
        self._launched = 0
        self._refused = 0
        self._generation = 0
        self._began_s = time.monotonic()
        self._compilers = ThreadPoolExecutor(COMPILE_AT_ONCE, thread_name_prefix="compile")
        self._measurers = ThreadPoolExecutor(settings.in_flight, thread_name_prefix="measure")

    def run(self) -> None:
        """Search until a limit, an early stop or the end of the space."""
        try:
            whole = self._is_compiled_whole()
            if whole:
                self._compile_whole()
            pending = self._launchable([self._written], [])
            while pending:
                measuring = [self._measurers.submit(self._device.measure, config) for config in pending]
                # Without the whole space compiled, the next generation compiles while this one is on the GPU.
                ahead = [] if whole else self._launchable([], pending)
                if isinstance(self._sampler, Foreseeing) and not whole:
                    self._compile(self._sampler.foresee(self._foreseen))
                for config, future in zip(pending, measuring, strict=True):
                    self._launched += 1
                    self._tell(config, self._finish(config, future.result(), launched=True).score_us)
                self._generation += 1
                pending = ahead or self._launchable([], [])
        finally:
            self._compilers.shutdown(wait=False, cancel_futures=True)
            self._measurers.shutdown(wait=False, cancel_futures=True)

    # --- compiling ahead -------------------------------------------------------------------------------------

    def _is_compiled_whole(self) -> bool:
        trials, most = self._settings.trials, COMPILED_WHOLE
        if trials is not None and self._device.kind != "replayed":
            most = min(most, max(COMPILED_ANYWAY, COMPILED_PER_TRIAL * trials))
        return product_size(self._space) <= 16 * most and sum(1 for _ in configs(self._space)) <= most

    def _compile_whole(self) -> None:
        """Compile every config. A config that cannot run is recorded as tried; the sampler gets that failure when it
        asks for it, at no cost in trials. It gets the compiler statistics of the others now."""
        every = list(configs(self._space))
        self._compile(every)
        for config in every:
            found = self._compiled[key(self._space, config)].result()
            if refused(found):
                if config != self._written:
                    self._finish(config, found, launched=False)
            else:
                self._inform(config, found.footprint)

    def _inform(self, config: Config, took: Footprint | None) -> None:
        """Give compiler statistics to the sampler. Not for estimates: without a GPU small cases are compiled, too, and
        their odd shapes may spill when the scored shapes do not."""
        if took is None or took.occupancy is None or self._device.kind == "estimate":
            return
        if isinstance(self._sampler, Informed):
            self._sampler.inform(config, took.spill_bytes, took.occupancy)

    def _compile(self, wanted: Sequence[Config]) -> None:
        for config in wanted:
            at = key(self._space, config)
            if at not in self._compiled:
                self._compiled[at] = self._compilers.submit(self._device.compile, config)

    # --- generations -----------------------------------------------------------------------------------------

    def _launchable(self, first: Sequence[Config], under_way: Sequence[Config]) -> list[Config]:
        """The next generation: `first` and configs of the sampler. Configs that the compiler refuses are reported to
        the sampler and replaced. There are fewer configs if a limit is reached or the sampler has no more."""
        found: list[Config] = []
        wanted = [*first, *self._ask(self._settings.in_flight - len(first), [*under_way, *first])]
        while wanted:
            self._compile(wanted)
            for config in wanted:
                compiled = self._compiled[key(self._space, config)].result()
                if refused(compiled):
                    self._refused += 1
                    self._tell(config, self._finish(config, compiled, launched=False).score_us)
                else:
                    found.append(config)
            wanted = self._ask(self._settings.in_flight - len(found), [*under_way, *found])
        return found

    def _ask(self, count: int, under_way: Sequence[Config]) -> list[Config]:
        """Up to `count` new configs of the sampler; fewer if a limit is reached or the sampler has no more, with the
        reason in `stopped`."""
        asked: list[Config] = []
        waiting = {key(self._space, config) for config in under_way}
        while len(asked) < count:
            self.stopped = self._limit(len(asked) + len(under_way))
            if self.stopped:
                break
            config = self._sampler.ask()
            if config is None:
                self.stopped = "" if under_way or asked else "the sampler, which has no more configs to try"
                break
            at = key(self._space, config)
            known = self._known.get(at)
            self._gains.append(self._sampler.expected_gain if isinstance(self._sampler, Expecting) else None)
            if known is not None:
                self._tell(config, known.score_us)
            elif at not in waiting:
                waiting.add(at)
                asked.append(config)
        return asked

    def _limit(self, under_way: int) -> str:
        """The limit that ends the search now; "" if there is none."""
        trials, minutes = self._settings.trials, self._settings.minutes
        if trials is not None and self._launched + under_way >= trials:
            return f"the limit of {trials} configs"
        if trials is not None and self._refused >= REFUSED_PER_TRIAL * trials:
            return f"the compiler, which refused {self._refused} configs"
        if minutes is not None and time.monotonic() - self._began_s >= minutes * 60:
            return f"the limit of {minutes:g} minutes"
        patience = max(PATIENCE, 3 * self._settings.in_flight)
        if self._settings.early_stop and enough(self._gains, LEAST_GAIN, patience):
            return f"the sampler, which expects less than {100 * LEAST_GAIN:.2f} % from any other config"
        return ""

    def _tell(self, config: Config, time_us: float | None) -> None:
        """Report a result to the sampler, unless the config is not in the space: the unchanged source may be outside of
        a stated space."""
        if is_valid(self._space, config):
            self._sampler.tell(config, time_us)

    def _judged(self, found: Found, origin: Origin) -> Found:
        """Let an unjudged config count as passed only if the default could not be judged either. Otherwise an unjudged
        config could win against judged ones."""
        if not found.not_verified or origin == "default" or self._is_default_unjudged():
            return found
        return msgspec.structs.replace(found, status=Status.NOT_VERIFIED, not_verified=False)

    def _is_default_unjudged(self) -> bool:
        return any(one.origin == "default" and one.found.not_verified for one in self.tried)

    def _origin(self, config: Config) -> Origin:
        if config == self._written:
            return "default"
        return self._named.get(key(self._space, config), "sampler")

    def _finish(self, config: Config, found: Found, launched: bool) -> Tried:
        origin = self._origin(config)
        here = sum(tried.generation == self._generation for tried in self.tried)
        tried = Tried(
            number=len(self.tried),
            name="default" if origin == "default" else f"gen_{self._generation}_var_{here}",
            generation=self._generation,
            origin=origin,
            config=config,
            found=self._judged(sound(found), origin),
            at=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            launched=launched,
        )
        self.tried.append(tried)
        self._known[key(self._space, config)] = tried
        self._on_tried(tried)
        return tried


def enough(expected_gains: Sequence[float | None], least_gain: float, in_a_row: int) -> bool:
    """Whether the last `in_a_row` asks were each expected to save less than `least_gain` of the best time.

    expected_gains: for each ask so far, in order; None without an expectation (the first, spread-out configs), which
    does not count as small.
    """
    last = expected_gains[-in_a_row:]
    return len(last) == in_a_row and all(gain is not None and gain < least_gain for gain in last)


def refused(found: Found) -> bool:
    """Whether the result of compiling is that the config cannot run."""
    return found.status not in (Status.NOT_VERIFIED, Status.PASSED)


def sound(found: Found) -> Found:
    """The result, or a runtime error if one of its times is not positive and finite, so that it is never the best."""
    if all(time.median_us > 0 and math.isfinite(time.median_us) for time in found.times):
        return found
    return Found(
        status=Status.RUNTIME_ERROR,
        reason=f"its times are not positive numbers: {found.times}",
        stages_s=found.stages_s,
    )
