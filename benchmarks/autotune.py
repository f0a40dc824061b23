"""`kernelwright tune` and `triton.autotune` over the same configs of a kernel: how long each takes, what each chooses.

    PYTHONPATH=src python benchmarks/autotune.py OUT [--only ours|autotune|judge] [--minutes 8]

The kernel is gallery/matmul/starter.py on 4096x4096x4096 in fp16, the configs those of the recorded space (408, some of
which need more shared memory than there is). Each side runs in a process of its own, from its start to its end, with no
code compiled before; the peaks of the machine, which kernelwright measures once per machine, are there. Then `judge`
times both choices beside the fastest configs of autotune's own times and of the recorded space, in turn. OUT keeps what
each step found, so that the steps can be run one by one; a step that is there is not run again. What did not end within
--minutes is reported as "at least", with how far it came. Needs a GPU.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kernelwright.model import Loading

ROOT = Path(__file__).resolve().parents[1]
PROBLEM, CASE, SIZE = ROOT / "gallery" / "matmul", "4096_fp16", 4096
SOURCE = PROBLEM / "starter.py"
KERNEL = "matmul_kernel"
SPACE = ROOT / "benchmarks" / "spaces" / "matmul_autotune.toml"
RIVALS = 5
"""Configs that autotune found fastest, timed again beside the two choices: its own times repeat within some percent."""


def every_config() -> list[dict[str, int]]:
    from kernelwright.spaces.space import configs
    from kernelwright.spaces.stated import stated_space

    return [dict(config) for config in configs(stated_space(SPACE, SOURCE.read_text(), {}))]


def run(command: Sequence[str], minutes: float, log: Path) -> dict[str, Any]:
    """A process that finds no compiled code: its wall time, and whether it ended by itself (status None: it did not).

    log: what it printed, each line with the seconds since its start.
    """
    with tempfile.TemporaryDirectory() as cache, log.open("w") as output:
        environment = os.environ | {"TRITON_CACHE_DIR": cache, "PYTHONUNBUFFERED": "1"}
        began_s = time.monotonic()
        process = subprocess.Popen(
            command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        killed = threading.Event()
        timer = threading.Timer(60 * minutes, lambda: (killed.set(), process.kill()))
        timer.start()
        assert process.stdout is not None
        for line in process.stdout:
            output.write(f"{time.monotonic() - began_s:8.2f} {line}")
        status = process.wait()
        timer.cancel()
        return {"seconds": round(time.monotonic() - began_s, 2), "status": None if killed.is_set() else status}


def ours(out: Path, minutes: float) -> None:
    from kernelwright.evaluator.client import start_worker

    with start_worker() as worker:
        print(f"measured on {worker.environment().device}", flush=True)  # and the peaks are known from now on
    folder = out / "tuned"
    command = [sys.executable, "-m", "kernelwright", "tune", str(PROBLEM), str(SOURCE), "--space", str(SPACE), "--case",
               CASE, "--out", str(folder)]  # fmt: skip
    found = run(command, minutes, out / "ours.log")
    if found["status"] != 0:
        raise SystemExit(f"tune ended with {found['status']}: see {out / 'ours.log'}")
    best = json.loads((folder / "best_config.json").read_text())
    tried = sum(1 for _ in (folder / "history.csv").open()) - 1
    found |= {"config": best["joint"]["config"], "tried": tried}
    (out / "ours.json").write_text(json.dumps(found))


def autotune(out: Path, minutes: float) -> None:
    lines = out / "autotune.jsonl"
    lines.unlink(missing_ok=True)
    found = run([sys.executable, __file__, str(out), "--only", "child"], minutes, out / "autotune.log")
    if found["status"] not in (0, None):
        raise SystemExit(f"triton.autotune ended with {found['status']}: see {out / 'autotune.log'}")
    benched = [json.loads(line) for line in lines.read_text().splitlines()] if lines.exists() else []
    chosen = out / "autotune_chosen.json"
    found["tried"] = len(benched)
    found |= json.loads(chosen.read_text()) if found["status"] == 0 else {"config": None, "times_us": []}
    (out / "autotune.json").write_text(json.dumps(found))


def child(out: Path) -> None:
    """`triton.autotune` as anybody would use it; each config that it came to leaves a line."""
    import importlib.util

    import torch
    import triton

    spec = importlib.util.spec_from_file_location("starter", SOURCE)
    assert spec is not None
    assert spec.loader is not None
    starter = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(starter)
    named = every_config()
    listed = [triton_config(config) for config in named]
    benchmarker = triton.runtime.driver.active.get_benchmarker()

    with (out / "autotune.jsonl").open("w") as lines:

        def benched(call: Any, quantiles: Any) -> Any:
            began_s = time.monotonic()
            try:
                return benchmarker(call, quantiles=quantiles)
            finally:  # a config that cannot run raises
                lines.write(json.dumps({"seconds": round(time.monotonic() - began_s, 3)}) + "\n")
                lines.flush()

        tuned = triton.autotune(configs=listed, key=["M", "N", "K"], do_bench=benched)(getattr(starter, KERNEL))
        a, b = (torch.randn(SIZE, SIZE, dtype=torch.float16, device="cuda") for _ in range(2))
        c = torch.empty_like(a)
        tuned[lambda meta: (triton.cdiv(SIZE, meta["BLOCK_M"]) * triton.cdiv(SIZE, meta["BLOCK_N"]),)](
            a, b, c, SIZE, SIZE, SIZE
        )
        torch.cuda.synchronize()
    known = {id(one): config for one, config in zip(listed, named, strict=True)}
    times = [(known[id(one)], 1000 * timing[0]) for one, timing in tuned.configs_timings.items()]
    timed = sorted(((config, us) for config, us in times if us != float("inf")), key=lambda pair: pair[1])
    found = {"config": known[id(tuned.best_config)], "times_us": timed, "failed": len(times) - len(timed)}
    (out / "autotune_chosen.json").write_text(json.dumps(found))


def triton_config(config: dict[str, int]) -> Any:
    import triton

    values = {name.rpartition(".")[2]: value for name, value in config.items()}
    options = {name: values.pop(name) for name in ("num_warps", "num_stages")}
    return triton.Config(values, **options)


def judge(out: Path) -> None:
    """Both choices and their rivals in turn, on one GPU, in one process: what they really take."""
    from kernelwright.evaluator.client import start_worker
    from kernelwright.spaces import recorded
    from kernelwright.spaces.written import candidate_for

    ours_found, theirs = (json.loads((out / f"{name}.json").read_text()) for name in ("ours", "autotune"))
    record = recorded.load(ROOT / "src/kernelwright/spaces/files/matmul.json.gz")
    every = every_config()
    named = {"ours": ours_found["config"]}
    if theirs["config"] is not None:
        named["autotune"] = theirs["config"]
    rivals = [config for config, _ in theirs["times_us"][:RIVALS]]
    in_record = sorted((one.time_us, recorded.config_at(record.space, one.places)) for one in record.entries
                       if one.time_us is not None and recorded.config_at(record.space, one.places) in every)[:RIVALS] \
        if record.candidate == SOURCE.read_text() else []  # fmt: skip
    for place, config in enumerate([*rivals, *(config for _, config in in_record)]):
        if config not in named.values():
            named[f"rival {place}"] = config
    with start_worker() as worker:
        worker.load(str(PROBLEM), Loading(narrow=True, cases=(CASE,)))
        source = SOURCE.read_text()
        candidates = {name: candidate_for(source, config) for name, config in named.items()}
        report = worker.bench(candidates, (CASE,), against="ours")
        device = worker.environment().device
    rows = sorted((row.median_us, row.name, row.ci95_us) for row in report.cases[0].implementations if row.median_us)
    print(f"{device}: {len(every)} configs of {SOURCE.name}, {CASE}")
    for name, found in (("ours", ours_found), ("autotune", theirs)):
        ended = "" if found["status"] == 0 else f"; stopped there, so at least (it came to {found['tried']} configs)"
        print(f"  {name:<10}{found['seconds']:>8.1f} s, {found['tried']} configs{ended}")
    at_least = "" if theirs["status"] == 0 else "at least "
    print(f"  wall time: {at_least}{theirs['seconds'] / ours_found['seconds']:.2f} times as long as ours")
    best_us = rows[0][0]
    for us, name, interval in rows:
        print(f"  {name:<10}{us:>9.2f} µs {interval}  {us / best_us:.4f} of the best  {named[name]}")
    (out / "judged.json").write_text(json.dumps({"device": device, "rows": rows, "configs": named}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="folder for what each step finds")
    parser.add_argument("--only", choices=["ours", "autotune", "judge", "child"], help="one step (child is autotune's)")
    parser.add_argument("--minutes", type=float, default=8.0, help="limit of each side")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    if given.only == "child":
        child(given.out)
        return
    for name, step in (("ours", ours), ("autotune", autotune)):
        if given.only in (None, name) and not (given.out / f"{name}.json").exists():
            step(given.out.resolve(), given.minutes)
            print(name, (given.out / f"{name}.json").read_text()[:300], flush=True)
    if given.only in (None, "judge"):
        judge(given.out)


if __name__ == "__main__":
    main()
