"""`best_config.json`: the launch configs that a tuning chose, pinned to device and versions, and functions to load it.

`load` raises `ConfigError` if the device, torch, Triton or the source differs from that of the tuning, and for times
that were not measured.

    from kernelwright.export import best_config

    pinned = best_config.load("best_config.json", device=torch.cuda.get_device_name(),
                              torch=torch.__version__, triton=triton.__version__)
    chosen = best_config.choose(pinned, [tuple(x.shape)])
    kernel[grid](x, y, n, **best_config.keywords(chosen.kernels["kernel"]))
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from kernelwright import codec
from kernelwright.errors import ConfigError
from kernelwright.model import CaseInfo, LibraryMode, Record, TensorSpec, bits
from kernelwright.source import KernelConfig, autotune_choices, kernel_configs, render
from kernelwright.spaces.space import Config
from kernelwright.spaces.written import candidate_for
from kernelwright.stats import Verdict
from kernelwright.tune.records import Choice, Outcome, TimeKind

SCHEMA_VERSION = 1


class Chosen(Record, frozen=True, kw_only=True):
    """One chosen config. case: None for the choice over all cases. shapes and dtypes: of the case's tensor inputs, in
    the order of forward's arguments; empty for the choice over several cases, and if a record has no shapes. time_us:
    geometric mean over its cases. speedup: over the default; speedup_ci95: None if the two were not sampled in
    pairs."""

    case: str | None
    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[str, ...]
    config: Config
    kernels: dict[str, KernelConfig]
    time_us: float
    ci95_us: tuple[float, float] | None
    default_us: float | None
    speedup: float
    speedup_ci95: tuple[float, float] | None
    verdict: Verdict
    why: str
    confirmed: bool | None


class Pinned(Record, frozen=True, kw_only=True):
    """The content of the file. device: the GPU's name; None if times are estimates. joint: the choice for all cases.
    cost_of_one: time of the joint choice over that of each case's choice, geometric mean; None for a single case."""

    schema_version: int = SCHEMA_VERSION
    kernelwright: str
    date: str
    problem: str
    candidate: str
    """SHA-256 of the source."""
    kind: TimeKind
    device: str | None
    target: str
    driver: str | None
    torch: str
    triton: str
    sampler: str
    seed: int
    tuned_for: tuple[str, ...]
    """The cases that `joint` was chosen for."""
    joint: Chosen
    cases: tuple[Chosen, ...]
    cost_of_one: float | None = None
    unqualified: str
    library: LibraryMode
    """The library steps that the candidate was allowed."""


def pinned(outcome: Outcome) -> Pinned | None:
    """The file's content for an outcome; None if nothing passed."""
    if outcome.joint is None:
        return None
    return Pinned(
        **codec.shared(outcome.environment, Pinned) | {"kernelwright": outcome.kernelwright, "date": outcome.date},
        problem=outcome.problem,
        candidate=codec.sha(outcome.candidate),
        kind=outcome.kind,
        sampler=outcome.settings.sampler,
        seed=outcome.settings.seed,
        tuned_for=outcome.case_names,
        joint=chosen_of(outcome.joint, outcome),
        cases=tuple(chosen_of(choice, outcome) for choice in outcome.per_case),
        cost_of_one=outcome.cost_of_one,
        unqualified=outcome.unqualified,
        library=outcome.library,
    )


def chosen_of(choice: Choice, outcome: Outcome) -> Chosen:
    single = outcome.cases[0].case.name if len(outcome.cases) == 1 else None
    info = next((one for one in outcome.cases if one.case.name == (choice.case or single)), None)
    tensors = tensors_of(info) if info is not None else ()
    return Chosen(
        **codec.shared(choice, Chosen),
        shapes=tuple(tensor.shape for tensor in tensors),
        dtypes=tuple(tensor.dtype for tensor in tensors),
        kernels=kernels_of(outcome.candidate, choice.config),
        speedup=choice.ratio.speedup,
        speedup_ci95=choice.ratio.ci95,
        verdict=choice.ratio.verdict,
    )


def tensors_of(info: CaseInfo) -> tuple[TensorSpec, ...]:
    return tuple(one for one in info.inputs if isinstance(one, TensorSpec))


def kernels_of(source: str, config: Config) -> dict[str, KernelConfig]:
    """The launch config of each kernel of `source` under `config`."""
    candidate = candidate_for(source, config)
    return kernel_configs(render(candidate.source, candidate.config), autotune_choices(config))


def load(path: str | os.PathLike[str], *, device: str, torch: str, triton: str, source: str | None = None) -> Pinned:
    """Read the file and check that it is valid here.

    device: the result of `torch.cuda.get_device_name()`; torch and triton: their `__version__`; source: the candidate's
    text, None to not compare it. Raises `ConfigError` with the difference; then tune again, if you like starting from
    the earlier configs (`kernelwright tune --import history.csv`).
    """
    try:
        found = codec.decode(Path(path).read_bytes(), Pinned)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror or error}") from error
    except msgspec.DecodeError as error:
        raise ConfigError(f"{path} is no best_config.json of this version: {error}", "tune again") from error
    if found.schema_version != SCHEMA_VERSION:
        raise ConfigError(f"{path} has version {found.schema_version}, {SCHEMA_VERSION} was expected", "tune again")
    if found.kind == "estimate":
        raise ConfigError(f"{path} holds estimates: its times were never measured", "tune on the GPU it is for")
    here = {"device": device, "torch": torch, "triton": triton}
    there = {"device": found.device, "torch": found.torch, "triton": found.triton}
    if source is not None:
        here["candidate"], there["candidate"] = codec.sha(source), found.candidate
    differing = [f"{name} {there[name]} there, {here[name]} here" for name in here if here[name] != there[name]]
    if differing:
        raise ConfigError(f"{path} was tuned elsewhere: {'; '.join(differing)}", "tune again here")
    return found


def choose(pinned: Pinned, shapes: Sequence[tuple[int, ...]], dtypes: Sequence[str] = ()) -> Chosen:
    """The choice of the case with the nearest input shapes; the distance is the sum over dimensions of |log2 ratio|.
    The joint choice if no case has inputs with these numbers of dimensions (and these dtypes, if given).

    Raises `ConfigError` for a dtype wider than any tuned one: its blocks may not fit, which was not tested.
    """
    known = [dtype for one in (pinned.joint, *pinned.cases) for dtype in one.dtypes]
    if known and max(map(bits, dtypes), default=0) > max(map(bits, known)):
        raise ConfigError(
            f"the configs of {pinned.problem} were chosen for {', '.join(dict.fromkeys(known))}, the inputs are "
            f"{', '.join(dtypes)}, which takes more room",
            "tune a case of that dtype (kernelwright tune --dtype), or launch the source's own config",
        )
    near = [
        (apart, place, one)
        for place, one in enumerate(pinned.cases or (pinned.joint,))
        if (not dtypes or tuple(dtypes) == one.dtypes) and (apart := doublings(one.shapes, shapes)) is not None
    ]
    return min(near, key=lambda found: found[:2])[2] if near else pinned.joint


def doublings(some: Sequence[tuple[int, ...]], others: Sequence[tuple[int, ...]]) -> float | None:
    """The distance of two lists of shapes in doublings; None if their numbers of dimensions differ."""
    if not some or [len(shape) for shape in some] != [len(shape) for shape in others]:
        return None
    pairs = [pair for one, other in zip(some, others, strict=True) for pair in zip(one, other, strict=True)]
    return sum(abs(math.log2(max(a, 1) / max(b, 1))) for a, b in pairs)


def keywords(kernel: KernelConfig) -> dict[str, Any]:
    """Keyword arguments of a launch: the constexprs, num_warps and num_stages."""
    return {**kernel.kwargs, "num_warps": kernel.num_warps, "num_stages": kernel.num_stages}
