"""How much of a recorded space's optimum each sampler finds in a part of the space. Needs no GPU.

    python benchmarks/samplers.py [FILE…] --seeds 50 --json samplers.json --plot samplers.svg

FILE: recorded spaces (see record_space.py); without any, those that kernelwright ships. The figure is the mean over
seeds of (shortest time of the space) / (shortest time found so far), after 5, 10 and 20 % of its configs, failures
counted as measured. Our samplers and Optuna's begin at the default config, Kernel Tuner's where they like. Times are
replayed from the record. Optuna and Kernel Tuner are compared where they are installed
(pip install 'kernelwright[benchmarks]'); what is missing is said. With --compiled everybody knows beforehand which
configs the compiler refused, as in a tuner that compiles everything first; only what then remains is measured, and the
parts of the space are the same as without; "model with resources" is then told what the others compiled to as well.
--table writes what is printed as a table in Markdown.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import json
import math
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import accumulate
from pathlib import Path
from typing import Any

import msgspec

from kernelwright.errors import KernelwrightError, RequestError
from kernelwright.model import Status
from kernelwright.spaces import SAMPLERS, build_sampler, recorded
from kernelwright.spaces.protocol import Informed
from kernelwright.spaces.recorded import RecordedDevice, RecordedSpace
from kernelwright.spaces.space import configs, default, key

PARTS = (0.05, 0.10, 0.20)
LARGEST_PART = max(PARTS)
KERNEL_TUNER = ("bayes_opt", "genetic_algorithm", "mls", "simulated_annealing", "diff_evo", "pso", "greedy_ils")
"""Strategies of Kernel Tuner, each with its own defaults."""

INFORMED = " with resources"
"""Behind the name of a sampler of ours that is told what each config compiled to."""

Curve = list[float]
"""After 1, 2, 3, … configs: the shortest time found so far, infinite before anything passed."""


def ours(name: str, space: RecordedSpace, seed: int, count: int, compiled: bool) -> Curve:
    device, named = RecordedDevice(space), name.removesuffix(INFORMED)
    sampler = build_sampler(named, space.space, seed, (default(space.space),))
    for entry in space.entries if compiled else ():
        config = recorded.config_at(space.space, entry.places)
        if entry.status is Status.COMPILE_ERROR:
            sampler.tell(config, None)
        elif name != named and isinstance(sampler, Informed) and entry.footprint is not None:
            sampler.inform(config, entry.footprint.spill_bytes, entry.footprint.occupancy)
    return curve(lambda: sampler.ask(), lambda config: device.measure(config).time_us, sampler.tell, count)


def runnable(space: RecordedSpace) -> RecordedSpace:
    """Without what the compiler refused."""
    left = tuple(one for one in space.entries if one.status is not Status.COMPILE_ERROR)
    return msgspec.structs.replace(space, entries=left)


def curve(
    ask: Callable[[], dict[str, int] | None],
    measure: Callable[[dict[str, int]], float | None],
    tell: Callable[[dict[str, int], float | None], None],
    count: int,
) -> Curve:
    best_us, found = math.inf, []
    while len(found) < count and (config := ask()) is not None:
        time_us = measure(config)
        tell(config, time_us)
        best_us = min(best_us, math.inf if time_us is None else time_us)
        found.append(best_us)
    return found


def one_search(arguments: tuple[str, str, int, int, bool]) -> tuple[Curve, float]:
    """Curve of one sampler, file and seed, and its seconds."""
    name, file, seed, count, compiled = arguments
    started = time.process_time()
    space = recorded.load(file)
    if name.startswith("kernel_tuner:"):
        found = kernel_tuner_search(name.partition(":")[2], runnable(space) if compiled else space, seed, count)
    else:
        found = ours(name, space, seed, count, compiled)
    return found, time.process_time() - started


def kernel_tuner_search(strategy: str, space: RecordedSpace, seed: int, count: int) -> Curve:
    """Kernel Tuner's own search in its simulation mode, over the record as its cache; it begins where it likes."""
    import random

    import numpy
    from kernel_tuner import tune_kernel

    names = {parameter.name: f"p{number}" for number, parameter in enumerate(space.space.parameters)}
    times_us = {key(space.space, recorded.config_at(space.space, one.places)): one.time_us for one in space.entries}
    cache: dict[str, Any] = {
        "device_name": "Simulation", "kernel_name": space.problem, "problem_size": [1], "objective": "time",
        "tune_params_keys": list(names.values()),
        "tune_params": {names[one.name]: list(one.choices) for one in space.space.parameters},
        "cache": {
            ",".join(map(str, values)): dict(zip(names.values(), values, strict=True))
            | {"time": "RuntimeFailedConfig" if time_us is None else time_us}
            for values, time_us in times_us.items()
        },
    }  # fmt: skip

    def is_known(values: dict[str, int]) -> bool:
        """A function and no lambda, which Kernel Tuner would read as text."""
        return tuple(values[name] for name in names.values()) in times_us

    random.seed(seed)
    numpy.random.seed(seed)
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        file = Path(folder) / "cache.json"
        file.write_text(json.dumps(cache))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results, _ = tune_kernel(
                space.problem, "void f() {}", (1,), [], cache["tune_params"], cache=str(file), simulation_mode=True,
                strategy=strategy, strategy_options={"max_fevals": count}, lang="C", quiet=True,
                restrictions=is_known,
            )  # fmt: skip
    found: dict[tuple[int, ...], float] = {}
    for result in results:
        values = tuple(result[name] for name in names.values())
        if values in times_us:
            time_us = times_us[values]
            found.setdefault(values, math.inf if time_us is None else time_us)
    return list(accumulate(list(found.values())[:count], min))


def shares(curves: Sequence[Curve], optimum_us: float, count: int) -> list[float]:
    """Mean over the curves of optimum/best after 1, 2, …, count configs; a curve that ended keeps its last value."""
    means = []
    for number in range(count):
        at = [found[min(number, len(found) - 1)] if found else math.inf for found in curves]
        means.append(statistics.fmean(optimum_us / best_us for best_us in at))
    return means


def compare(files: Sequence[Path], names: Sequence[str], seeds: int, jobs: int, compiled: bool) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    with ProcessPoolExecutor(jobs) as pool:
        for file in files:
            space = recorded.load(file)
            every = list(configs(space.space))
            if len(space.entries) < len(every):
                raise SystemExit(f"{file} holds {len(space.entries)} of {len(every)} configs; complete it first")
            count = max(1, math.ceil(LARGEST_PART * len(every)))
            assert space.best_us is not None
            for name in names:
                found = list(pool.map(one_search, [(name, str(file), seed, count, compiled) for seed in range(seeds)]))
                curves = [one for one, _ in found]
                asks = sum(map(len, curves)) or 1
                rows.append({
                    "space": space.problem, "case": space.case, "configs": len(every), "kind": space.kind,
                    "device": RecordedDevice(space).name, "sampler": name, "seeds": seeds,
                    "share": shares(curves, space.best_us, count),
                    "ms_per_ask": 1000 * sum(seconds for _, seconds in found) / asks,
                })  # fmt: skip
                show(rows[-1])
    return rows


def at_part(row: dict[str, Any], part: float) -> float:
    return row["share"][max(1, math.floor(part * row["configs"])) - 1]  # type: ignore[no-any-return]


def show(row: dict[str, Any]) -> None:
    figures = "  ".join(f"{100 * at_part(row, part):6.2f} %" for part in PARTS)
    print(
        f"{row['space']:20} {row['configs']:5}  {row['sampler']:28} {figures}  {row['ms_per_ask']:6.1f} ms", flush=True
    )


def markdown(rows: Sequence[dict[str, Any]]) -> str:
    """One row per sampler, for each space its shares after each part; the best of each column in bold."""
    spaces = list(dict.fromkeys(row["space"] for row in rows))
    names = list(dict.fromkeys(row["sampler"] for row in rows))
    found = {(row["sampler"], row["space"], part): 100 * at_part(row, part) for row in rows for part in PARTS}
    columns = [(space, part) for space in spaces for part in PARTS]
    best = {column: max(round(found[(name, *column)], 1) for name in names) for column in columns}
    lines = [
        "| sampler | " + " | ".join(f"{space} {100 * part:g} %" for space, part in columns) + " |",
        "|---|" + "---:|" * len(columns),
    ]
    for name in names:
        shares = [(round(found[(name, *column)], 1), best[column]) for column in columns]
        cells = [f"**{share:.1f}**" if share == most else f"{share:.1f}" for share, most in shares]
        lines.append(f"| {name.replace('kernel_tuner:', 'Kernel Tuner ')} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def landscape(space: RecordedSpace) -> str:
    """What a space is like, in one line."""
    times_us = [entry.time_us for entry in space.entries if entry.time_us is not None]
    first_us = next(
        (
            entry.time_us
            for entry in space.entries
            if entry.places == recorded.places(space.space, default(space.space))
        ),
        None,
    )
    assert space.best_us is not None
    within = sum(time_us <= 1.01 * space.best_us for time_us in times_us)
    return (
        f"{space.problem} {space.case}: {len(space.entries)} configs, {len(space.entries) - len(times_us)} fail, "
        f"{within} within 1 % of the best ({space.best_us:.2f} µs), median {statistics.median(times_us):.2f} µs, "
        f"default {'fails' if first_us is None else f'{first_us:.2f} µs'}; {RecordedDevice(space).name}"
    )


def plot(rows: Sequence[dict[str, Any]], file: Path) -> None:
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    spaces = list(dict.fromkeys(row["space"] for row in rows))
    figure, axes = pyplot.subplots(1, len(spaces), figsize=(4.2 * len(spaces), 3.6), squeeze=False, sharey=True)
    for axis, space in zip(axes[0], spaces, strict=True):
        axis.set_prop_cycle(color=pyplot.get_cmap("tab20").colors)
        for row in rows:
            if row["space"] == space:
                along = [100 * (number + 1) / row["configs"] for number in range(len(row["share"]))]
                axis.plot(
                    along,
                    row["share"],
                    label=row["sampler"],
                    linewidth=2.2 if row["sampler"].startswith("model") else 1.0,
                )
        axis.axhline(0.99, color="grey", linestyle=":", linewidth=0.8)
        axis.set(title=space, xlabel="% of the space measured", ylim=(0.6, 1.005))
    axes[0][0].set_ylabel("share of the optimum (mean)")
    axes[0][-1].legend(fontsize=7, loc="lower right")
    figure.tight_layout()
    figure.savefig(file, metadata={"Date": None})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--samplers", help="names, with commas; default: all that are installed, exhaustive left out")
    parser.add_argument("--compiled", action="store_true", help="everybody knows beforehand what does not compile")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--table", type=Path, metavar="FILE.md")
    parser.add_argument("--plot", type=Path, metavar="FILE.svg", help="needs matplotlib")
    given = parser.parse_args()
    files = given.files or list(recorded.shipped().values())
    try:
        for file in files:
            print(landscape(recorded.load(file)))
        names = chosen(given.samplers, given.compiled)
        rows = compare(files, names, given.seeds, given.jobs, given.compiled)
    except KernelwrightError as error:
        print(error, file=sys.stderr)
        return 2
    if given.json:
        given.json.write_text(json.dumps(rows) + "\n")
    if given.table:
        given.table.write_text(markdown(rows))
    if given.plot:
        plot(rows, given.plot)
    return 0


def chosen(text: str | None, compiled: bool) -> list[str]:
    if text:
        names = text.split(",")
        if not compiled and any(name.endswith(INFORMED) for name in names):
            raise RequestError("resources are known of what was compiled beforehand only", "add --compiled")
        return names
    names = ["model" + INFORMED] if compiled else []
    names += [name for name in SAMPLERS if name not in ("exhaustive", "optuna")]
    for name, module, added in (
        ("Optuna", "optuna", ["optuna"]),
        ("Kernel Tuner", "kernel_tuner", [f"kernel_tuner:{strategy}" for strategy in KERNEL_TUNER]),
    ):
        if importlib.util.find_spec(module) is None:
            print(f"{name} is not installed and is left out")
        else:
            names += added
    return names


if __name__ == "__main__":
    sys.exit(main())
