"""Measures a model on a GPU: PyTorch's own ways to run it, as called and as a CUDA graph, then each computation alone.

A region is timed as `torch.compile` computes it by itself, a library call as PyTorch calls it, on inputs of the
captured shapes and strides.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
import torch
from torch import Tensor, nn

from kernelwright.model import Baseline, ModelSurvey
from kernelwright.stats import median, median_ci
from kernelwright.worker.clock import clock
from kernelwright.worker.models.capture import loss_of
from kernelwright.worker.models.draws import indexed
from kernelwright.worker.models.regions import Region, value_of
from kernelwright.worker.models.script import Arguments, Script
from kernelwright.worker.models.survey import Found
from kernelwright.worker.models.work import alone, bytes_of
from kernelwright.worker.reference.baseline import compiled

SAMPLES = 15
"""Samples of each time, for the interval of their median."""

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
        free, _ = torch.cuda.mem_get_info()
        return clock.sets_needed(nbytes, torch.cuda.get_device_properties(0).L2_cache_size, free)


def measured(
    script: Script, survey: ModelSurvey, found: dict[str, Found], ticks: DeviceClock, names: Sequence[str]
) -> ModelSurvey:
    """The survey with times, and with these baselines."""
    baselines = tuple(one for name in names for one in baselines_of(name, script, ticks))
    times = {key: computation_us(one, ticks) for key, one in found.items()}
    parts = [
        msgspec.structs.replace(part, cases=tuple(msgspec.structs.replace(c, time_us=times[c.key]) for c in part.cases))
        for part in survey.parts
    ]
    return msgspec.structs.replace(survey, baselines=baselines, parts=tuple(parts))


def baselines_of(name: str, script: Script, ticks: DeviceClock) -> Iterator[Baseline]:
    """One way to run the module, on each set of its inputs. The script makes a new module for it."""
    module = script.build().to(ticks.device)
    called = compiled(module, name)
    for given in script.inputs():
        moved = given.changed(lambda leaf: leaf.to(ticks.device) if isinstance(leaf, Tensor) else leaf)
        piece = _piece(module, called, moved, script, ticks.device)
        called_us, method, samples, reason = ticks.called_us(piece), "", list[float](), "no CUDA graph can be captured"
        try:
            method, samples = ticks.samples_us([piece])
        except RuntimeError as error:  # the capture of a graph may fail in any operator
            reason = str(error).partition("\n")[0]
        row = Baseline(name=name, inputs=given.name, called_us=called_us, reason=reason)
        if method == "graph":
            row = msgspec.structs.replace(row, graph_us=median(samples), graph_ci95=median_ci(samples), reason="")
        yield row
    del module, called
    gc.collect()


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
    sets = [drawn(one.region, ticks.device) for _ in range(count)]
    try:
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
        else:
            made.append(tensor.random_(0, value_of(found[0]).shape[found[1]]) if found else tensor.zero_())
    return made
