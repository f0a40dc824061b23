"""Whether a bench tells identical kernels apart: five copies in one bench, and a kernel with 2 % more work.

    python benchmarks/copies.py OUT_DIR --seconds 540     benches until the time is over, one JSON line for each
    python benchmarks/copies.py OUT_DIR --seconds 0       the table of what is there
    python benchmarks/copies.py OUT_DIR --check           no timing: whether the worker accepts the kernels

Not a test: nothing is asserted. A killed run goes on where it ended. Three kinds of bench take turns:

crowd: eager, compile, five copies and the slower one, on four kernels. against: the same without the framework's rows,
verdicts against one of the copies. pair: two copies and the slower one, verdicts against one of the two.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

from kernelwright import stats
from kernelwright.errors import KernelwrightError
from kernelwright.evaluator.client import start_worker
from kernelwright.model import Candidate

try:  # a tree from before the exchange of places has one rule and one floor
    from kernelwright.worker.stages import verdicts
except ImportError:
    verdicts = None  # type: ignore[assignment]

PROBLEM = """
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return EXPRESSION


CASES = [
    dict(name="1024x1024_fp32", dtype="float32", rows=1024, cols=1024),
    dict(name="2048x2048_fp32", dtype="float32", rows=2048, cols=2048),
    dict(name="8192x4096_bf16", dtype="bfloat16", rows=8192, cols=4096),
    dict(name="32768x4096_bf16", dtype="bfloat16", rows=32768, cols=4096),
    dict(name="65536x16384_bf16", dtype="bfloat16", rows=65536, cols=16384),
    dict(name="100x300_fp32", dtype="float32", rows=100, cols=300, small=True),
]


def get_inputs(rows=1024, cols=1024):
    return [torch.randn(rows, cols)]


def get_init_inputs():
    return []
"""

KERNEL = """
import torch
import triton
import triton.language as tl


@triton.jit
def rows_kernel(x_ptr, out_ptr, rows, cols, BLOCK: tl.constexpr):
    # Programs past the last row do the first rows again: more work, the same result.
    row = (tl.program_id(0) % rows).to(tl.int64)
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * cols + at, mask=at < cols, other=FILL).to(tl.float32)
    BODY
    tl.store(out_ptr + row * cols + at, y, mask=at < cols)


def kernel_function(x):
    x = x.contiguous()
    rows, cols = x.shape
    out = torch.empty_like(x)
    block = triton.next_power_of_2(cols)
    grid = (rows * PERCENT // 100,)
    rows_kernel[grid](x, out, rows, cols, BLOCK=block, num_warps=4 if block <= 2048 else 8 if block <= 4096 else 16)
    return out
"""

SOFTMAX = "e = tl.exp(x - tl.max(x, axis=0))\n    y = e / tl.sum(e, axis=0)"
RMSNORM = "y = x / tl.sqrt(tl.sum(x * x, axis=0) / cols + 1e-5)"
PROBLEMS = {
    "softmax": ("torch.softmax(x, dim=-1)", SOFTMAX, 'float("-inf")'),
    "rmsnorm": ("x / torch.sqrt(torch.mean(x**2, dim=-1, keepdim=True) + 1e-5)", RMSNORM, "0.0"),
}

CROWDS = (("softmax", "1024x1024_fp32"), ("rmsnorm", "2048x2048_fp32"), ("rmsnorm", "8192x4096_bf16"),
          ("rmsnorm", "65536x16384_bf16"))  # fmt: skip
"""About 5, 10, 34 and 1050 µs on an H200."""

PAIRS = (("rmsnorm", "8192x4096_bf16"), ("rmsnorm", "32768x4096_bf16"))
"""About 34 and 135 µs, in many waves of programs, so that 2 % more of them are 2 % more time."""

COPIES = 5
SLOW = "slower"
PLACES = ("first", "between", "last")


class Task(NamedTuple):
    """One bench. names: the order of the command line. against: None for the fastest of the framework's own."""

    kind: str
    problem: str
    case: str
    names: tuple[str, ...]
    against: str | None

    @property
    def copies(self) -> tuple[str, ...]:
        return tuple(name for name in self.names if name != SLOW)

    @property
    def place(self) -> str:
        at = self.names.index(SLOW)
        return "first" if at == 0 else "last" if at == len(self.names) - 1 else "between"


def tasks() -> Iterator[Task]:
    """Turn after turn, without end: 4 crowds, 4 against, 12 pairs."""
    turn = 0
    while True:
        for problem in PROBLEMS:
            for number, (of, case) in enumerate(CROWDS):
                if of == problem:
                    place = turn + number
                    yield Task("crowd", problem, case, named(COPIES, place), None)
                    names = named(COPIES, place + 3)
                    yield Task("against", problem, case, names, f"copy{(turn + number) % COPIES + 1}")
            for of, case in PAIRS:
                for place in range(6 if of == problem else 0):
                    yield Task("pair", problem, case, named(2, place), f"copy{(turn + place // 3) % 2 + 1}")
        turn += 1


def named(copies: int, place: int) -> tuple[str, ...]:
    names = [f"copy{number + 1}" for number in range(copies)]
    names.insert(place % (copies + 1), SLOW)
    return tuple(names)


def source_of(problem: str, percent: int) -> str:
    _, body, fill = PROBLEMS[problem]
    return KERNEL.replace("BODY", body).replace("FILL", fill).replace("PERCENT", str(percent))


def benched(worker: Any, task: Task) -> dict[str, Any]:
    """One bench as a line of the file."""
    candidates = {name: Candidate(source=source_of(task.problem, 102 if name == SLOW else 100)) for name in task.names}
    plan = task._asdict() | {"copies": task.copies, "place": task.place}
    start = time.monotonic()
    try:
        case = worker.bench(candidates, (task.case,), against=task.against).cases[0]
    except KernelwrightError as error:  # counted in the table; the other benches are not lost with it
        failure = {"error": str(error), "rows": {}, "half": None, "noise_floor": None, "order_seed": None}
        return plan | failure | {"seconds": round(time.monotonic() - start, 3)}
    rows = {
        row.name: {"status": row.status.value, "reason": row.reason, "us": row.median_us, "verdict": row.verdict,
                   "speedup": row.speedup, "samples_us": list(row.samples_us), "kind": row.kind}
        for row in case.implementations
    }  # fmt: skip
    return plan | {
        "seconds": round(time.monotonic() - start, 3), "rows": rows, "error": "",
        "half": getattr(case, "exchanged_after", None), "noise_floor": getattr(case, "noise_floor", None),
        "order_seed": getattr(case, "order_seed", None),
    }  # fmt: skip


def sample(file: Path, seconds: float) -> None:
    """Benches until the time is over; what the file holds already is not done again."""
    began, longest, loaded = time.monotonic(), 0.0, ""
    done = len(lines_of(file))
    with tempfile.TemporaryDirectory() as folder, start_worker() as worker, file.open("a") as out:
        if worker.environment().device is None:
            raise SystemExit("no GPU: nothing can be sampled here; --check tries the kernels without one")
        for number, task in enumerate(tasks()):
            if number < done:
                continue
            if time.monotonic() - began + 1.2 * longest > seconds:
                return
            start = time.monotonic()
            if task.problem != loaded:
                worker.load(str(written(Path(folder), task.problem)))
                loaded = task.problem
            line = benched(worker, task)
            out.write(json.dumps(line) + "\n")
            out.flush()
            longest = max(longest, time.monotonic() - start) if number > done else 5.0  # the first compiles for all
            bad = line["error"] or {
                name: f"{row['status']} {row['reason'][:100]}" for name, row in line["rows"].items() if not row["us"]
            }
            print(f"{time.monotonic() - began:6.1f} s  {task.kind:8}{task.problem} {task.case}  "
                  f"{line['seconds']:.1f} s  {bad or ''}", flush=True)  # fmt: skip


def written(folder: Path, problem: str) -> Path:
    home = folder / problem
    home.mkdir(exist_ok=True)
    (home / "problem.py").write_text(PROBLEM.replace("EXPRESSION", PROBLEMS[problem][0]))
    return home


def check() -> None:
    """Each kernel verified on the cases that this machine can judge, and compiled for the others."""
    with tempfile.TemporaryDirectory() as folder, start_worker() as worker:
        for problem in PROBLEMS:
            worker.load(str(written(Path(folder), problem)))
            for percent in (100, 102):
                candidate = Candidate(source=source_of(problem, percent))
                found = worker.evaluate(candidate, "search")
                compiled = worker.compile(candidate, "verify")
                print(problem, percent, found.status.value, found.reason, "| compiled:", compiled.status.value,
                      compiled.reason, flush=True)  # fmt: skip


# --- the table ---------------------------------------------------------------------------------------------------


def lines_of(file: Path) -> list[dict[str, Any]]:
    """What was written whole; a last line that a kill cut off is left out and, at the next run, done again."""
    if not file.exists():
        return []
    text = file.read_text()
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        file.write_text(whole)
    return [json.loads(line) for line in whole.splitlines()]


def timed(line: dict[str, Any], names: Sequence[str]) -> bool:
    return all(line["rows"].get(name, {}).get("samples_us") for name in names)


def verdict_between(line: dict[str, Any], first: str, other: str) -> str:
    """What the rule of the bench says of two of its rows, by its samples and its noise floor."""
    one, two = (line["rows"][name]["samples_us"] for name in (first, other))
    if verdicts is not None and line["half"] is not None:
        return verdicts.verdict(one, two, line["half"], line["noise_floor"] or math.inf)
    return stats.verdict(stats.paired_log_ratio_ci(one, two)[1], 0.005)


def deviations(line: dict[str, Any]) -> list[float]:
    """Of each copy, by its place on the command line: log of its median over the geometric mean of all copies'."""
    logs = [math.log(line["rows"][name]["us"]) for name in line["copies"]]
    return [log - statistics.fmean(logs) for log in logs]


def interval(values: Sequence[float], compared: int) -> tuple[float, float, float]:
    """Mean and its 95 % t interval, corrected for as many comparisons (Bonferroni)."""
    mean, count = statistics.fmean(values), len(values)
    if count < 2:
        return mean, -math.inf, math.inf
    width = t_quantile(1 - 0.025 / compared, count - 1) * statistics.stdev(values) / math.sqrt(count)
    return mean, mean - width, mean + width


def t_quantile(probability: float, freedom: int) -> float:
    """Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.5; to 0.2 % from 6 degrees of freedom on."""
    x = statistics.NormalDist().inv_cdf(probability)
    terms = (
        x,
        (x**3 + x) / 4,
        (5 * x**5 + 16 * x**3 + 3 * x) / 96,
        (3 * x**7 + 19 * x**5 + 17 * x**3 - 15 * x) / 384,
        (79 * x**9 + 776 * x**7 + 1482 * x**5 - 1920 * x**3 - 945 * x) / 92160,
    )
    return sum(term / freedom**power for power, term in enumerate(terms))


def upper_limit(events: int, count: int, confidence: float = 0.95) -> float:
    """One-sided upper limit of a proportion (Clopper and Pearson, Biometrika 1934)."""
    if events >= count:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        at_most = sum(math.comb(count, k) * middle**k * (1 - middle) ** (count - k) for k in range(events + 1))
        low, high = (middle, high) if at_most > 1 - confidence else (low, middle)
    return high


def table(lines: list[dict[str, Any]]) -> list[str]:
    crowds = [line for line in lines if line["kind"] != "pair" and timed(line, line["copies"])]
    framed = [line for line in crowds if line["kind"] == "crowd" and timed(line, ("eager", "compile", SLOW))]
    found = [f"benches {len(lines)}, of five copies {len(crowds)}, beside the framework {len(framed)}",
             f"seconds each: {seconds_each(lines)}"]  # fmt: skip
    failed = sum(not row["us"] for line in lines for row in line["rows"].values())
    found.append(f"benches that failed: {sum(bool(line['error']) for line in lines)}, rows without a time: {failed}")
    for title, chosen in (("all", crowds), ("beside the framework", framed), *by_case(crowds)):
        if chosen:
            found += ["", *positions(title, chosen)]
    found += ["", *false_verdicts(lines), "", *seen(lines), *pooled_floors(lines)]
    return found


def by_case(lines: list[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    return [(f"{problem} {case}", [line for line in lines if (line["problem"], line["case"]) == (problem, case)])
            for problem, case in CROWDS]  # fmt: skip


def seconds_each(lines: list[dict[str, Any]]) -> str:
    kinds = {kind: [line["seconds"] for line in lines if line["kind"] == kind] for kind in ("crowd", "against", "pair")}
    return ", ".join(f"{kind} {statistics.median(seconds):.1f}" for kind, seconds in kinds.items() if seconds)


def positions(title: str, lines: list[dict[str, Any]]) -> list[str]:
    """Mean log deviation by place of the five copies, in %."""
    us = statistics.median(line["rows"][name]["us"] for line in lines for name in line["copies"])
    cells, worst, excluded = [], 0.0, 0
    for values in zip(*(deviations(line) for line in lines), strict=True):
        mean, low, high = interval(values, COPIES)
        worst, excluded = max(worst, abs(mean)), excluded + (low > 0 or high < 0)
        cells.append(f"{mean:+.3%} ({low:+.3%} to {high:+.3%})")
    return [f"{title}, {len(lines)} benches, {us:.1f} µs: intervals that exclude 0: {excluded}, largest {worst:.3%}",
            *(f"  copy {place}: {cell}" for place, cell in enumerate(cells, 1))]  # fmt: skip


def false_verdicts(lines: list[dict[str, Any]]) -> list[str]:
    """Among identical copies: all pairs by the rule of the bench, and those that the bench itself answered."""
    every = [verdict_between(line, *pair) for line in lines if timed(line, line["copies"])
             for pair in combinations(line["copies"], 2)]  # fmt: skip
    own = [line["rows"][name]["verdict"] for line in lines if line["against"] and timed(line, line["copies"])
           for name in line["copies"] if name != line["against"]]  # fmt: skip
    found = []
    for title, words in (("pairs of identical copies", every), ("of them answered by the bench itself", own)):
        false, limit = sum(word in ("faster", "slower") for word in words), "none"
        if words:
            limit = f"{upper_limit(false, len(words)):.2%}"
        found.append(f"{title}: {len(words)}, called faster or slower {false}, without a verdict {words.count(None)}, "
                     f"upper 95 % limit {limit}")  # fmt: skip
    return found


def seen(lines: list[dict[str, Any]]) -> list[str]:
    """The bench's own verdict on 2 % more work against a copy, by the slower one's place on the command line."""
    asked = [line for line in lines if line["against"] and timed(line, (SLOW, line["against"]))]
    found = []
    for title, chosen in (
        ("all", asked), *((place, [line for line in asked if line["place"] == place]) for place in PLACES),
        *by_case_of_pairs(asked),
    ):  # fmt: skip
        if not chosen:
            continue
        words = [line["rows"][SLOW]["verdict"] for line in chosen]
        ratios = sorted(line["rows"][SLOW]["speedup"] for line in chosen)
        found.append(f"2 % more work, {title}: {len(words)}, slower {words.count('slower')}, tie {words.count('tie')}, "
                     f"faster {words.count('faster')}, ratio {statistics.median(ratios):.4f} "
                     f"({ratios[0]:.4f} to {ratios[-1]:.4f})")  # fmt: skip
    return found


def by_case_of_pairs(lines: list[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    cases = sorted({(line["problem"], line["case"]) for line in lines})
    return [(f"{problem} {case}", [line for line in lines if (line["problem"], line["case"]) == (problem, case)])
            for problem, case in cases]  # fmt: skip


def pooled_floors(lines: list[dict[str, Any]]) -> list[str]:
    floors = sorted(line["noise_floor"] for line in lines if line["noise_floor"] is not None)
    if not floors:
        return []
    return [f"noise floor: median {statistics.median(floors):.3%}, largest {floors[-1]:.3%}, "
            f"over 0.5 % in {sum(floor > 0.005 for floor in floors)} of {len(floors)}"]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, metavar="OUT_DIR")
    parser.add_argument("--seconds", type=float, default=540.0)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    if given.check:
        check()
        return
    given.out.mkdir(parents=True, exist_ok=True)
    file = given.out / "copies.jsonl"
    if given.seconds > 0:
        sample(file, given.seconds)
    print("\n".join(table(lines_of(file))))
    sys.stdout.flush()


if __name__ == "__main__":
    main()
