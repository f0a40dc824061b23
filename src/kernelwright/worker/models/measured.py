"""Measures a model on a GPU: PyTorch's own ways to run it, as called and as a CUDA graph, then each computation alone.

A region is timed as `torch.compile` computes it by itself, a library call as PyTorch calls it, on inputs of the
captured shapes and strides.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
import torch
from torch import Tensor, nn
from torch.fx import Node

from kernelwright.model import Baseline, ModelSurvey
from kernelwright.roofline import LAUNCH_US, SLOW_LIBRARY, bound
from kernelwright.stats import median, median_ci
from kernelwright.worker.clock import clock
from kernelwright.worker.models.capture import loss_of
from kernelwright.worker.models.draws import indexed
from kernelwright.worker.models.problem_text import can_be_stated
from kernelwright.worker.models.regions import Region, arguments_of, value_of
from kernelwright.worker.models.script import Arguments, Script, copied
from kernelwright.worker.models.survey import Found, Graphs, survey
from kernelwright.worker.models.work import alone, bytes_of
from kernelwright.worker.reference.baseline import compiled

SAMPLES = 15
"""Samples of each time, for the interval of their median."""

MOST_S = 90.0
"""Time for the computations, those with the most bytes first: the others' times are estimates."""

Piece = Callable[[], Any]


class DeviceClock:
    """What is needed of the clock of this process's GPU."""

    device = "cuda"

    def called_us(self, piece: Piece) -> float:
        """Time of one synchronised call."""
        return clock.call_us(piece)[0]

    def samples_us(self, pieces: list[Piece]) -> tuple[str, list[float]]:
        """ "graph" or "events", and samples of the device time of one call."""
        timed = clock.Timed(pieces)
        timed.warm_up()
        return timed.method, [timed.sample_us() for _ in range(SAMPLES)]

    def sets(self, nbytes: int) -> int:
        """The number of input sets that makes every call cold."""
        torch.cuda.empty_cache()  # of the work before
        free, _ = torch.cuda.mem_get_info()
        return clock.sets_needed(nbytes, torch.cuda.get_device_properties(0).L2_cache_size, free)


def measured(
    script: Script, graphs: Graphs, ticks: DeviceClock, names: Sequence[str], peaks: dict[str, float]
) -> ModelSurvey:
    """The survey with times, and with these baselines. A library call that is slow is part of the region around it."""
    baselines = tuple(baselines_of(names, script, ticks))
    end = time.monotonic() + MOST_S
    made, found = survey(script, graphs)
    times = _times_of(found, ticks, end)
    joined = frozenset(key for key, time_us in times.items() if time_us and _is_slow(found[key], time_us, peaks))
    if joined:
        made, found = survey(script, graphs, joined)
        times |= _times_of({key: one for key, one in found.items() if key not in times}, ticks, end + MOST_S)
    if left := sum(times[key] is None for key in found):
        print(f"{left} of {len(found)} computations were not timed alone: their times are estimates")  # noqa: T201
    parts = [
        msgspec.structs.replace(part, cases=tuple(msgspec.structs.replace(c, time_us=times[c.key]) for c in part.cases))
        for part in made.parts
    ]
    return msgspec.structs.replace(made, baselines=baselines, parts=tuple(parts))


def _times_of(found: dict[str, Found], ticks: DeviceClock, end: float) -> dict[str, float | None]:
    most_bytes = sorted(found, key=lambda key: -found[key].places * found[key].work.bytes)
    return {key: computation_us(found[key], ticks) if time.monotonic() < end else None for key in most_bytes}


def _is_slow(one: Found, time_us: float, peaks: dict[str, float]) -> bool:
    """Whether a library call that a problem can state was measured below SLOW_LIBRARY of its bound."""
    least_us = bound(one.work.bytes, one.work.written_bytes, one.work.flop, peaks, "").bound_us + LAUNCH_US
    return (
        one.kind not in ("region", "other") and can_be_stated(one.region.nodes[0]) and least_us < SLOW_LIBRARY * time_us
    )


def baselines_of(names: Sequence[str], script: Script, ticks: DeviceClock) -> Iterator[Baseline]:
    """These ways to run one module of the script's, on each set of its inputs. One that fails is said and left out."""
    module = _there(script.build, ticks.device).to(ticks.device)
    sets = _there(script.inputs, ticks.device)
    moved = copied(sets, lambda tensor: tensor.detach().to(ticks.device).requires_grad_(tensor.requires_grad))
    for name in names:
        called = compiled(module, name)
        for given in moved:
            try:
                yield _baseline(name, given.name, _piece(module, called, given, script, ticks.device), ticks)
            except RuntimeError as error:
                print(f"{name}, {given.name}: cannot be run: {first_line(error)}")  # noqa: T201
    gc.collect()


def _there(make: Callable[[], Any], device: str) -> Any:
    """What a function of the script makes, on the device, as random numbers are slow elsewhere; wherever it makes it
    where that fails, such as with a generator of its own."""
    try:
        with torch.device(device):
            return make()
    except RuntimeError:
        return make()


def _baseline(name: str, inputs: str, piece: Piece, ticks: DeviceClock) -> Baseline:
    row = Baseline(name=name, inputs=inputs, called_us=ticks.called_us(piece), reason="no CUDA graph can be captured")
    try:
        method, samples = ticks.samples_us([piece])
    except RuntimeError as error:  # the capture of a graph may fail in any operator
        return msgspec.structs.replace(row, reason=first_line(error))
    if method != "graph":
        return row
    return msgspec.structs.replace(row, graph_us=median(samples), graph_ci95=median_ci(samples), reason="")


def first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _piece(module: nn.Module, called: Any, given: Arguments, script: Script, device: str) -> Piece:
    def piece() -> Any:
        with torch.set_grad_enabled(script.train):
            with script.autocast(device):
                made = called(*given.args, **given.kwargs)
            if script.train:
                module.zero_grad(set_to_none=True)
                loss_of(made).backward()
        return made

    return piece


def computation_us(one: Found, ticks: DeviceClock) -> float | None:
    """Device time of one computation, with a cold cache; None where PyTorch cannot run it alone."""
    if not all(isinstance(value_of(node), Tensor) for node in one.region.inputs):
        return None
    module: Any = alone(one.region)
    if one.kind == "region":
        torch._dynamo.reset()
        module = torch.compile(module, dynamic=False)
    count = ticks.sets(sum(map(bytes_of, (*one.region.inputs, *one.region.outputs))))
    try:
        sets = [drawn(one.region, ticks.device) for _ in range(count)]
        with torch.no_grad():
            return median(ticks.samples_us([lambda given=given: module(*given) for given in sets])[1])  # type: ignore[misc]
    except RuntimeError:
        return None


def drawn(region: Region, device: str) -> list[Tensor]:
    """Inputs of a region: numbers around zero, whole numbers within what they index."""
    made = []
    for node in region.inputs:
        like, found = value_of(node), indexed(node, region)
        tensor = torch.empty_strided(like.shape, like.stride(), dtype=like.dtype, device=device)
        if like.dtype.is_floating_point and like.dtype.itemsize > 1:
            made.append(tensor.normal_())
        elif (rows := rows_of_groups(node, region)) is not None:
            made.append(tensor.copy_(torch.linspace(rows / len(tensor), rows, len(tensor))))
        else:
            made.append(tensor.random_(0, value_of(found[0]).shape[found[1]]) if found else tensor.zero_())
    return made


def rows_of_groups(node: Node, region: Region) -> int | None:
    """The number of rows of which an input states where groups end, as that of a grouped product does; None for other
    inputs."""
    for user in region.nodes:
        given = arguments_of(user)
        if given.get("offs") is node:
            return int(value_of(given["self"]).shape[-1 if value_of(given["mat2"]).dim() == 2 else 0])
    return None
