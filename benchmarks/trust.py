"""How far the clock agrees with others, and the cost of a race. `copies.py` compares kernels with themselves.

Not a test: nothing is asserted. It prints one table per question and writes the figures to --json.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import statistics
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from kernelwright import source as tunables
from kernelwright.evaluator.client import start_worker
from kernelwright.model import Candidate

GALLERY = Path(__file__).parent.parent / "gallery"

AGREE = (
    ("softmax", "4096x4096_fp32"),
    ("softmax", "4096x4096_bf16"),
    ("softmax", "1024x16384_bf16"),
    ("softmax", "65536x256_bf16"),
    ("matmul", "4096_fp16"),
    ("depthwise_conv2d", "16x64x512x512_bf16"),
    ("max_pool3d", "16x32x128x128x128_bf16"),
    ("rmsnorm", "112x64x512x512_bf16"),
)


def agree(worker: Any) -> list[dict[str, Any]]:
    """Our device time beside Triton's two clocks and Nsight Compute's, for single-kernel starters."""
    found = []
    for problem, case in AGREE:
        worker.load(str(GALLERY / problem))
        source = (GALLERY / problem / "starter.py").read_text()
        report = worker.bench({"a": Candidate(source=source)}, (case,), against="a")
        (row,) = report.cases[0].implementations
        others = json.loads(in_process(["clocks", problem, case]).splitlines()[-1])
        flushed, steady = (ncu_us(problem, case, control) for control in ("all", "none"))
        found.append(
            {
                "kernel": f"{problem} {case}",
                "ours_us": row.median_us,
                "ncu_steady_us": steady,
                "ncu_flushed_us": flushed,
            }
            | others
        )
    return found


def in_process(arguments: list[str]) -> str:
    command = [sys.executable, __file__, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout


def ncu_us(problem: str, case: str, cache_control: str) -> float | None:
    """Median of `gpu__time_duration` over twenty launches with free clocks; None without ncu.

    cache_control "all": caches emptied before each launch, so that no dirty line of another launch has to leave
    while the kernel runs, and its own last writes stay behind. "none": launches in a row on rotating memory, as in use.
    """
    if shutil.which("ncu") is None:
        return None
    options = {"--clock-control": "none", "--cache-control": cache_control, "--metrics": "gpu__time_duration.sum",
               "--kernel-name": "regex:_kernel$", "--launch-skip": "30", "--launch-count": "20",
               "--page": "raw"}  # fmt: skip
    command = ["ncu", "--csv", *(word for option in options.items() for word in option)]
    command += [sys.executable, __file__, "launches", problem, case]
    text = subprocess.run(command, capture_output=True, text=True, timeout=300).stdout
    rows = [line for line in text.splitlines() if line.startswith('"')]
    if len(rows) < 3:
        print(text[-2000:], file=sys.stderr)
        return None
    column = re.findall(r'"([^"]*)"', rows[0]).index("gpu__time_duration.sum")
    unit = re.findall(r'"([^"]*)"', rows[1])[column]
    scale = {"ns": 1e-3, "nsecond": 1e-3, "us": 1.0, "usecond": 1.0, "ms": 1e3, "msecond": 1e3}[unit]
    values = [float(re.findall(r'"([^"]*)"', line)[column].replace(",", "")) * scale for line in rows[2:]]
    return statistics.median(values)


def call_of(problem: str, case_name: str) -> Any:
    """The starter of a gallery problem as a plain call on real inputs."""
    import importlib.util

    import torch

    def module(path: Path) -> Any:
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        loaded = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(loaded)
        return loaded

    reference, starter = module(GALLERY / problem / "problem.py"), module(GALLERY / problem / "starter.py")
    case = dict(next(c for c in reference.CASES if c["name"] == case_name))
    dtype = getattr(torch, case.pop("dtype", "float32"))
    params = {k: v for k, v in case.items() if k not in ("name", "held_out", "small")}
    wanted = reference.get_inputs.__code__.co_varnames[: reference.get_inputs.__code__.co_argcount]
    with torch.device("cuda"):
        inputs = [t.to(dtype) for t in reference.get_inputs(**{k: v for k, v in params.items() if k in wanted})]
        if hasattr(starter, "ModelNew"):
            model = starter.ModelNew(*reference.get_init_inputs()).to(dtype)
            return lambda: model(*inputs)
        weights = [p.to(dtype) for p in reference.Model(*reference.get_init_inputs()).parameters()]
    return lambda: starter.kernel_function(*inputs, *weights)


def clocks(problem: str, case: str) -> None:
    """Triton's clocks on one starter, as JSON on the last line."""
    import torch
    import triton

    call = call_of(problem, case)
    with torch.no_grad():
        for _ in range(20):
            call()
        found = {"do_bench_us": triton.testing.do_bench(call, return_mode="median") * 1e3}
        with torch.cuda.stream(torch.cuda.Stream()):
            found["do_bench_cudagraph_us"] = triton.testing.do_bench_cudagraph(call, return_mode="median") * 1e3
    print(json.dumps(found))


def launches(problem: str, case: str) -> None:
    """Sixty launches of a starter on rotating inputs and outputs, for a profiler to look at."""
    import torch

    first = call_of(problem, case)
    with torch.no_grad():
        nbytes = first().nbytes
        sets = max(2, min(16, (1 << 28) // nbytes + 1))
        calls = [first, *(call_of(problem, case) for _ in range(sets - 1))]
        kept: list[Any] = [None] * sets
        for i in range(60):
            kept[i % sets] = calls[i % sets]()
    torch.cuda.synchronize()


def race(worker: Any, count: int = 100) -> list[dict[str, Any]]:
    """Time spent timing `count` configurations of the softmax starter, and the same choice among them."""
    worker.load(str(GALLERY / "softmax"))
    source = (GALLERY / "softmax" / "starter.py").read_text()
    space = {t.key: t.choices for t in tunables.find_tunables(source)}
    configs: list[dict[str, int]] = [{}]
    for key, choices in space.items():
        configs = [{**config, key: choice} for config in configs for choice in choices]
    step = max(1, len(configs) // count)
    chosen = configs[::step][:count]
    candidates = [Candidate(source=source, config=config) for config in chosen]
    with ThreadPoolExecutor(16) as threads:  # compiled by this, so that nothing else runs on the machine while it times
        list(threads.map(lambda candidate: worker.compile(candidate, "search"), candidates))
    evaluations = [worker.evaluate(candidate, "search") for candidate in candidates]
    timed = [(e.score_us, c, e.stages_s["time"]) for e, c in zip(evaluations, chosen, strict=True) if e.score_us]
    cases = statistics.median(sum(r.timing is not None for r in e.results) for e in evaluations)
    best = min(timed, key=lambda entry: entry[0])
    return [{
        "configs": len(chosen), "passed": len(timed), "timing_s": sum(t for _, _, t in timed),
        "fixed_s": 0.125 * cases * len(timed), "best_us": best[0], "best": best[1],
        "stopped": Counter(r.timing.stopped for e in evaluations for r in e.results if r.timing),
    }]  # fmt: skip


def show(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        cells = (f"{key}={value:.4g}" if isinstance(value, float) else f"{key}={value}" for key, value in row.items())
        print("  ".join(cells), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("question", choices=("agree", "race", "clocks", "launches"))
    parser.add_argument("rest", nargs="*")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    if given.question in ("clocks", "launches"):
        (clocks if given.question == "clocks" else launches)(*given.rest)
        return
    with start_worker() as worker:
        rows = (agree if given.question == "agree" else race)(worker)
    show(rows)
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
