"""KernelBench's files, unchanged, from PyTorch to a kernel: no starter, no model, a row per file and means per mode.

    python benchmarks/kernelbench_solve.py KernelBench/KernelBench --out solved.jsonl.gz --workers 4 --minutes 90

FOLDER is the one that holds level1, level2, … of https://github.com/ScalingIntelligence/KernelBench. Files that are
drawn by a hash of their names (`--draw`) go through `kernelwright optimize`, as a user would type it, with `--dtype`
cast to that dtype. It
measures the best beside PyTorch on a GPU; elsewhere `kernelwright bench` gives estimates. Kernels with library steps
(mode any) and those for the captured sizes only have rows of their own in the means. `--workers` problems are under way
at once: the lease lets one of them use the GPU, while the others load, generate and compile. With `--gpus N` they
are spread over N GPUs of one kind. With `--memory` a problem waits until its GPU has the memory left that it needs by
its number of elements. A file for which a GPU has no memory left is tried once more alone on that GPU.

`--out` has everything that is known, compressed, of kernels their hashes; files in it are not tried again, so the work
can be done in parts, in the order of a hash of the files' names. A part ends after `--minutes` at the latest: what is
under way then has no row, and the next part tries it again.
Without a GPU times are estimates, and no ratio is formed from them.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import math
import os
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

from device_memory import Memory

from kernelwright import codec
from kernelwright.evaluator.places import choose, find_gpus
from kernelwright.report.framework import read_side
from kernelwright.report.state import State
from kernelwright.stats import geometric_mean
from kernelwright.text.markdown import table
from kernelwright.worker.supervisor import CACHE_VARIABLE

MODES = ("none", "finish", State.CAPTURED.value, "any")

BENCH_GPU_SECONDS = 8.0
"""Of a problem's GPU time, for timing the kernel beside PyTorch; the search gets the rest."""

ANSWER_S = 420.0
"""After this long a command has failed."""

LAST_FILE_S = 90.0
"""Before the end of a part no file is begun: few are done in less, and what is not done is tried again."""

ENDING_S = 20.0
"""After SIGTERM a command has so long to end its workers."""

SAID = 2000
"""Characters that are kept of what a failed command said last."""

NO_ANSWER = "no answer within"

MAY_BE_CROWDED = ("CUDA out of memory", NO_ANSWER)
"""Parts of reasons that may be due to other problems on the same GPU."""

ROWS = ("eager", "compile", "compile_max_autotune")

Row = dict[str, Any]
Run = Callable[[Sequence[str]], tuple[int, str, str]]
"""Runs a command of kernelwright: exit status, standard output, standard error."""


class UnfinishedError(Exception):
    """The part's time is over before a command was done."""


def main() -> None:
    options = arguments().parse_args()
    files = chosen(options.folder, options.draw, options.only)
    if options.again is not None:
        files = again(files, read(options.again))
    if options.dry:
        print(*map(name_of, files), sep="\n")
        return
    known = {row["file"] for row in read(options.out)}
    end_s = time.monotonic() + 60 * options.minutes
    lock, cache = threading.Lock(), Path(tempfile.mkdtemp(prefix="solve-cache-"))
    seats = SimpleQueue[Gpu]()
    variables = [one | {CACHE_VARIABLE: str(cache)} for one in shown_gpus(options.gpus)]
    sizes = [options.memory or len(range(first, options.workers, len(variables))) for first in range(len(variables))]
    gpus = [Gpu(one, Memory(size)) for one, size in zip(variables, sizes, strict=True)]
    for worker in range(options.workers):
        seats.put(gpus[worker % len(gpus)])
    here = threading.local()

    def sit() -> None:
        here.gpu = seats.get()

    def attempt(file: Path, variables: Mapping[str, str]) -> Row:
        command = partial(run, end_s=end_s, variables=variables)
        return solve(file, command, options.gpu_seconds, options.trials, options.max_autotune, options.dtype)

    def add(file: Path) -> None:
        if time.monotonic() > end_s - LAST_FILE_S:
            return
        gpu: Gpu = here.gpu
        try:
            size = needed(file) if options.memory else 1.0
            row = with_room(gpu.memory, size, lambda: attempt(file, gpu.variables))
        except UnfinishedError:
            print(f"not done in time: {name_of(file)}", flush=True)
            return
        with lock, gzip.open(options.out, "at") as out:
            out.write(json.dumps(row) + "\n")
            print(f"{row['seconds']:6.1f} s  {row['file']}: {row['outcome']} {row['reason'][:110]}", flush=True)

    try:
        with ThreadPoolExecutor(options.workers, initializer=sit) as threads:
            list(threads.map(add, [file for file in files if name_of(file) not in known]))
    finally:
        shutil.rmtree(cache)
    names = {name_of(file) for file in files}
    rows = [row for row in read(options.out) if row["file"] in names]
    text = summary(rows, len(files))
    print(text)
    if options.table is not None:
        options.table.write_text(text + "\n")


def with_room(memory: Memory, size: float, attempt: Callable[[], Row]) -> Row:
    """The row of a problem that takes `size` of a GPU's memory, tried once more alone where others were in its way."""
    with memory.taken(size):
        row = attempt()
    if size < memory.most and any(reason in row["reason"] for reason in MAY_BE_CROWDED):
        with memory.taken(memory.most):
            row = attempt()
    return row


class Gpu(NamedTuple):
    """variables: of the environment, which choose it. memory: in GiB, or in problems that may be under way at once."""

    variables: Mapping[str, str]
    memory: Memory


def needed(file: Path) -> float:
    """GiB of a GPU that a search takes: timed copies, expected outputs and what forward makes in float64, and two
    contexts. Of a model of two operators on 3.2e9 numbers it is about 69 GiB. Infinite where that cannot be told."""
    import torch
    from torch.utils._pytree import tree_leaves

    try:
        with RUNPY, torch.device("meta"), torch.no_grad():
            module = runpy.run_path(str(file))
            inputs, model = module["get_inputs"](), module["Model"](*module["get_init_inputs"]())
            tensors = tree_leaves((inputs, list(model.parameters()), model(*inputs)))
    except Exception:  # noqa: BLE001 - a file may do what is not possible without data
        return math.inf
    return 2 + 22 * sum(one.numel() for one in tensors if isinstance(one, torch.Tensor)) / 2**30


RUNPY = threading.Lock()
"""`runpy` is not made for threads."""


def shown_gpus(count: int | None) -> list[dict[str, str]]:
    """The variables that choose each of the first GPUs that CUDA shows; none without a count or a GPU. Raises
    `RequestError` where there are fewer."""
    if not count:
        return [{}]
    lanes = choose(str(count), find_gpus())
    return [{} if lane.gpu is None else {"CUDA_VISIBLE_DEVICES": lane.gpu} for lane in lanes]


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, default=Path("solved.jsonl.gz"))
    parser.add_argument("--table", type=Path, help="write the tables to this file, too")
    parser.add_argument(
        "--draw",
        default="1=100,2=40",
        metavar="LEVEL=FILES,…",
        help="how many files of each level, drawn by a hash of their names (default: %(default)s)",
    )
    parser.add_argument("--dtype", help="cast modules and inputs to this dtype")
    parser.add_argument("--only", default="", help="a regular expression that LEVEL/FILE has to match")
    parser.add_argument(
        "--again",
        type=Path,
        metavar="ROWS",
        help="of the files in these rows only those that failed or were slower, the slowest first; then the others",
    )
    parser.add_argument("--dry", action="store_true", help="print which files would be run, in their order")
    parser.add_argument("--workers", type=int, default=1, help="problems under way at once")
    parser.add_argument("--gpus", type=int, help="spread the problems over this many GPUs (default: one)")
    parser.add_argument("--memory", type=float, help="GiB of a GPU for problems under way at once")
    parser.add_argument("--minutes", type=float, default=90, help="of this part, at most")
    parser.add_argument("--gpu-seconds", type=float, default=25, help="of GPU time for a problem")
    parser.add_argument("--trials", type=int, default=24, help="at most, for a problem")
    parser.add_argument("--max-autotune", action="store_true", help="time torch.compile in that mode, too (slow)")
    return parser


def chosen(folder: Path, draw: str, only: str = "") -> list[Path]:
    """The drawn files, in the order of a hash of their names: each part is a sample of the whole, and what is not
    reached was not chosen by its result. draw: how many of each level, as in `1=100,2=40`."""
    files = list[Path]()
    for level, count in (part.split("=") for part in draw.split(",")):
        files += sorted((folder / f"level{level}").glob("*.py"), key=by_hash)[: int(count)]
    return [file for file in sorted(files, key=by_hash) if re.search(only, name_of(file))]


def again(files: Sequence[Path], rows: Sequence[Row]) -> list[Path]:
    """The files of earlier rows that failed or were slower than the best of PyTorch, those with most to win first, then
    the files without a row."""
    lost = {row["file"]: row.get("ratio") or 0.0 for row in rows
            if row["outcome"] == "failed" or row.get("verdict") == "slower"}  # fmt: skip
    known = {row["file"] for row in rows}
    tried = sorted((file for file in files if name_of(file) in lost), key=lambda file: lost[name_of(file)])
    return [*tried, *(file for file in files if name_of(file) not in known)]


def by_hash(file: Path) -> str:
    return hashlib.sha256(file.name.encode()).hexdigest()


def name_of(file: Path) -> str:
    return f"{file.parent.name}/{file.name}"


def run(
    words: Sequence[str], end_s: float = math.inf, variables: Mapping[str, str] | None = None
) -> tuple[int, str, str]:
    """end_s: when the part ends, by the monotonic clock. Raises `UnfinishedError` where that is too early. variables:
    of the environment, beside those that are set."""
    process = subprocess.Popen(
        [sys.executable, "-m", "kernelwright", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, **(variables or {})},
    )  # fmt: skip
    try:
        out, err = process.communicate(timeout=max(0.0, min(ANSWER_S, end_s - time.monotonic())))
    except subprocess.TimeoutExpired as error:
        process.terminate()  # it ends its workers
        try:
            process.communicate(timeout=ENDING_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
        if time.monotonic() >= end_s:
            raise UnfinishedError from error
        return 1, "", f"{NO_ANSWER} {ANSWER_S:g} s"
    return process.returncode, out, err


def solve(file: Path, run: Run, gpu_seconds: float, trials: int, max_autotune: bool, dtype: str | None = None) -> Row:
    """The row of a file. outcome: solved, left (the library call is the computation) or failed."""
    begun = time.monotonic()
    row: Row = {"file": name_of(file), "outcome": "failed", "reason": "", "mode": "", "gpu_s": 0.0}
    folder = Path(tempfile.mkdtemp(prefix="solve-"))
    cast = ["--dtype", dtype] if dtype else []
    limits = ["--trials", str(trials), "--gpu-seconds", f"{max(1.0, gpu_seconds - BENCH_GPU_SECONDS):g}",
              *(["--max-autotune"] if max_autotune else []), *cast]  # fmt: skip
    try:
        place = folder / "run"
        status, out, err = run(["optimize", str(file), *limits, "--out", str(place), "--json"])
        row |= found(status, out, err)
        if row["outcome"] == "solved":
            best, document = place / "best_kernel.py", json.loads(out)
            library = ["--library", document["library"], *cast]
            source = best.read_text()
            row["sha256"] = hashlib.sha256(source.encode()).hexdigest()
            steps = "# library: no library step" not in source
            row["mode"] = document["library"] if steps else "none"
            if document["state"] == State.CAPTURED:
                row["mode"] = State.CAPTURED.value
            measured = read_side(place)
            if measured is not None:
                row |= timed(codec.plain(measured.report))
            else:
                status, out, err = run(["bench", str(file), str(best), *library, "--no-held-out", "--json"])
                row |= timed(json.loads(out)) if out.startswith("{") else unanswered(status, err)
    except (KeyError, IndexError, ValueError, OSError) as error:  # of this file; the others have nothing to do with it
        row |= {"outcome": "failed", "reason": f"its answer could not be read: {type(error).__name__}: {error}"}
    finally:
        shutil.rmtree(folder)
    return row | {"seconds": round(time.monotonic() - begun, 1)}


def found(status: int, out: str, err: str) -> Row:
    """What `optimize` said."""
    document = json.loads(out) if out.startswith("{") else {}
    if document.get("reason") == "left":
        return {"outcome": "left", "reason": document["detail"]}
    if (best := document.get("best")) is not None and best["status"] == "passed":
        cost = document["cost"]["total"]
        return {"outcome": "solved", "reason": "", "said": "", "trials": cost["asked"],
                "gpu_s": round(cost["gpu_s"], 1), "compile_s": round(cost["compile_s"], 1),
                "search_s": round(document["seconds"], 1), "in_mode_any": beside(err)}  # fmt: skip
    said = [line.removeprefix("error: ") for line in err.splitlines() if line.strip()]
    named = [line for line in said if "rror" in line] or said[-1:]
    return {"outcome": "failed", "reason": named[0] if named else f"exit status {status}", "said": err[-SAID:]}


def beside(err: str) -> str:
    """What the run said of the kernel with library calls that it judged for reference; "" if there is none."""
    start = "for reference, in mode any: "
    return next((line.removeprefix(start) for line in err.splitlines() if line.startswith(start)), "").split(";")[0]


def unanswered(status: int, err: str) -> Row:
    said = err.strip().splitlines() or [f"exit status {status}"]
    return {"outcome": "failed", "reason": f"bench: {said[-1]}"}


def timed(report: dict[str, Any]) -> Row:
    """What a measurement said: the GPU, and times in µs with intervals by implementation, on the first case; a kernel
    that is not right here is no solution."""
    case = report["cases"][0]
    rows = {one["name"]: one for one in case["implementations"]}
    best = rows["best"]
    if best["status"] not in ("passed", "not_verified"):
        return {"outcome": "failed", "reason": f"bench: {best['status']}: {best['reason']}"}
    reasons = [f"{name}: {one['reason']}" for name, one in rows.items() if one["median_us"] is None]
    if best["speedup"] is not None and best["verdict"] is None:
        reasons.append(f"no verdict: {best['throttled'] or case['noise_floor_source']}")
    return {
        "reason": "; ".join(reasons),
        "gpu": report["environment"]["device"],
        "times_us": {name: [one["median_us"], one["ci95_us"]] for name, one in rows.items()},
        "kind": best["kind"],
        "ratio": best["speedup"],
        "ratio_ci95": best["speedup_ci95"],
        "verdict": best["verdict"],
        "of_bound": best["fraction_of_bound"],
    }


def read(file: Path) -> list[Row]:
    """Rows of all parts; of a part that was broken off, those before it, which are all that is kept."""
    rows: list[Row] = []
    if not file.exists():
        return rows
    try:
        with gzip.open(file, "rt") as lines:
            for line in lines:
                rows.append(json.loads(line))
    except (EOFError, OSError, zlib.error, json.JSONDecodeError):
        file.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
    return rows


def summary(rows: Sequence[Row], files: int) -> str:
    """Outcomes by level, means by library mode, and a line for each file."""
    parts = [f"{len(rows)} of {files} files were run."]
    levels = sorted({row["file"].partition("/")[0] for row in rows})
    outcomes = ("solved", "left", "failed")
    counts = {level: Counter(row["outcome"] for row in rows if row["file"].startswith(level)) for level in levels}
    parts.append(table(
        ["level", "files", *outcomes, "solved or left"],
        [[level, str(own.total()), *(str(own[one]) for one in outcomes),
          f"{(own['solved'] + own['left']) / own.total():.0%}"] for level, own in counts.items()],
    ))  # fmt: skip
    parts.append(table(
        ["mode", "solved", "measured", "time over best of PyTorch, geometric mean", "fast_1", "fast_1.5", "slower",
         "share of the bound, mean", "GPU s, mean"],
        [of_mode(mode, [row for row in rows if row["mode"] == mode and row["outcome"] == "solved"]) for mode in MODES],
    ))  # fmt: skip
    parts.append(table(
        ["ratio to", "files", "faster", "tie", "slower", "left, as 1.0", "geometric mean", "arithmetic mean",
         "geometric, arithmetic mean without the best three"],
        [overall(rows, over, title) for over, title in (("compile", "torch.compile"), (None, "the best of PyTorch"))],
    ))  # fmt: skip
    parts.append(table(
        ["file", "outcome", "mode", "kernel (µs)", *(f"{one} (µs)" for one in ROWS), "ratio to the best of PyTorch",
         "share of the bound", "GPU s", "s", "in mode any, for reference", "why"],
        [line_of(row) for row in sorted(rows, key=lambda row: row["file"])],
    ))  # fmt: skip
    return "\n\n".join(parts)


TIE = 0.02
"""A ratio to torch.compile within this of 1.0 is a tie; to the best of PyTorch the verdict says it."""


def overall(rows: Sequence[Row], over: str | None, title: str) -> list[str]:
    """Means over all files that were solved and measured or left, with left as 1.0. over: the row of PyTorch that the
    kernel is compared with; None is the best of them."""
    measured = [row for row in rows if row.get("ratio") is not None]
    if over is None:
        pairs = [(row["ratio"], row["verdict"]) for row in measured]
    else:
        pairs = [against(row["times_us"], over) for row in measured if row["times_us"].get(over, [None])[0] is not None]
    left = sum(row["outcome"] == "left" for row in rows)
    ratios = sorted([ratio for ratio, _ in pairs] + [1.0] * left)
    if not pairs:
        return [title, *["-"] * 8]
    verdicts = Counter(verdict for _, verdict in pairs)
    means = [f"{geometric_mean(some):.2f}, {sum(some) / len(some):.2f}" for some in (ratios, ratios[:-3]) if some]
    return [title, str(len(ratios)), *(str(verdicts[one]) for one in ("faster", "tie", "slower")), str(left),
            *means[0].split(", "), means[-1] if len(ratios) > 3 else "-"]  # fmt: skip


def against(times_us: Mapping[str, Sequence[Any]], over: str) -> tuple[float, str]:
    ratio = times_us[over][0] / times_us["best"][0]
    return ratio, "tie" if abs(ratio - 1.0) <= TIE else "faster" if ratio > 1.0 else "slower"


def of_mode(mode: str, rows: Sequence[Row]) -> list[str]:
    """Means over the files of one mode; estimates have no part in them."""
    measured = [row for row in rows if row.get("ratio") is not None]
    if not measured:
        return [mode, str(len(rows)), "0", *["-"] * 6]
    ratios = [row["ratio"] for row in measured]
    shares = [row["of_bound"] for row in measured if row["of_bound"] is not None]
    return [
        mode, str(len(rows)), str(len(measured)), f"{geometric_mean(ratios):.2f}",
        *(f"{sum(ratio > least for ratio in ratios)}" for least in (1.0, 1.5)),
        str(sum(row["verdict"] == "slower" for row in measured)),
        f"{sum(shares) / len(shares):.0%}" if shares else "-",
        f"{sum(row['gpu_s'] for row in measured) / len(measured):.1f}",
    ]  # fmt: skip


def line_of(row: Row) -> list[str]:
    times = row.get("times_us", {})
    ratio = ""
    if row.get("ratio") is not None:
        low, high = row["ratio_ci95"] or (row["ratio"], row["ratio"])
        ratio = f"{row['ratio']:.2f} ({low:.2f} to {high:.2f}), {row['verdict'] or 'no verdict'}"
    estimate = " (estimate)" if row.get("kind") == "estimate" else ""
    share = row.get("of_bound")
    return [
        row["file"], row["outcome"], row["mode"], cell(times.get("best")) + estimate,
        *(cell(times.get(name)) for name in ROWS), ratio, "" if share is None else f"{share:.0%}{estimate}",
        f"{row['gpu_s']:.1f}", f"{row['seconds']:.0f}", row.get("in_mode_any", ""), row["reason"],
    ]  # fmt: skip


def cell(timing: Sequence[Any] | None) -> str:
    if timing is None or timing[0] is None:
        return ""
    median, interval = timing
    return f"{median:.1f}" if interval is None else f"{median:.1f} ({interval[0]:.1f} to {interval[1]:.1f})"


if __name__ == "__main__":
    main()
