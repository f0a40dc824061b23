"""What one coordinator can feed: trials a second over the number of lanes, with the journal in memory and on a disk.

    python benchmarks/scale.py --memory /dev/shm --disk /tmp --json scale.json --plot docs/scale.svg

Each evaluation sleeps for --gpu-s on its lane's GPU, so the most that L lanes can do is L / --gpu-s trials a second
(`fleet.py` has the loop). Where the curve leaves that line, the coordinator's core or the disk is the limit.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from kernelwright.report.plots import drawing

FLEET = Path(__file__).parent / "fleet.py"
COLOURS = {"memory": drawing.BEST, "disk": drawing.STARTER}


def measured(lanes: int, folder: Path, gpu_s: float, seconds: float) -> dict[str, Any]:
    """trials_per_s: between 10 % and 90 % of the time."""
    trials = max(20, int(lanes * seconds / gpu_s))
    words = ["--lanes", str(lanes), "--trials", str(trials), "--gpu-s", str(gpu_s), str(gpu_s), "--compile-s", "0",
             "--start-s", "0", "--answers", "none", "--folder", str(folder), "--json"]  # fmt: skip
    said = subprocess.run([sys.executable, str(FLEET), *words], stdout=subprocess.PIPE, text=True, check=True).stdout
    found = json.loads(said)
    rate = found["steady_s"] / gpu_s / (0.8 * found["wall_s"])
    return {"lanes": lanes, "trials": trials, "trials_per_s": rate, "cpu_ms": found["cpu_s"] / found["trials"] * 1e3}


def plot(found: dict[str, list[dict[str, Any]]], gpu_s: float, file: Path) -> None:
    figure, axes = drawing.axes()
    lanes = sorted({row["lanes"] for rows in found.values() for row in rows})
    axes.plot(lanes, [one / gpu_s for one in lanes], color=drawing.OTHER, linestyle="--", label="all lanes busy")
    for name, rows in found.items():
        axes.plot(
            [row["lanes"] for row in rows], [row["trials_per_s"] for row in rows], marker="o", markersize=4,
            color=COLOURS[name], label=f"journal {'in memory' if name == 'memory' else 'on a disk'}",
        )  # fmt: skip
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    from matplotlib.ticker import NullLocator

    for axis, ticks in ((axes.xaxis, lanes), (axes.yaxis, [2**power for power in range(4, 11)])):
        axis.set_ticks(ticks, [f"{tick:g}" for tick in ticks])
        axis.set_minor_locator(NullLocator())
    axes.set_ylim(8.0, 1.3 * max(lanes) / gpu_s)
    axes.set_xlabel(f"lanes of one run, each evaluation {gpu_s:g} s on its GPU")
    axes.set_ylabel("trials a second")
    drawing.legend_above(axes)
    title = "Trials a second of one run over its lanes, with the journal in memory and on a disk"
    file.write_text(drawing.standalone_svg(drawing.inline_svg(figure, "scale", title)), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lanes", default="4,16,32,64,128", help="numbers of lanes")
    parser.add_argument("--gpu-s", type=float, default=0.25)
    parser.add_argument("--seconds", type=float, default=10.0, help="of each measurement, where nothing limits it")
    parser.add_argument("--memory", type=Path, help="a folder on a RAM file system")
    parser.add_argument("--disk", type=Path, help="a folder on a disk")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--from-json", type=Path, metavar="FILE", help="measure nothing, draw what is there")
    parser.add_argument("--plot", type=Path, metavar="FILE.svg", help="needs matplotlib")
    given = parser.parse_args()
    found: dict[str, list[dict[str, Any]]] = json.loads(given.from_json.read_text()) if given.from_json else {}
    folders = {"memory": given.memory, "disk": given.disk}
    for name, folder in folders.items():
        for lanes in map(int, given.lanes.split(",") if folder is not None else ()):
            row = measured(lanes, folder, given.gpu_s, given.seconds)
            found.setdefault(name, []).append(row)
            print(f"{name}: {lanes} lanes, {row['trials_per_s']:.1f} of {lanes / given.gpu_s:g} trials a second, "
                  f"CPU {row['cpu_ms']:.1f} ms a trial", flush=True)  # fmt: skip
    if given.json:
        given.json.write_text(json.dumps(found, indent=1), encoding="utf-8")
    if given.plot:
        plot(found, given.gpu_s, given.plot)


if __name__ == "__main__":
    main()
