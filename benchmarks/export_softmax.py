"""The exported softmax against plain PyTorch on a GPU: eager, under torch.compile, and for CUDA graphs (`graphs=True`).

    python benchmarks/export_softmax.py OUT_FOLDER

Exports gallery/softmax (which verifies the kernel), lets the package measure a grid of sizes, and then holds the
exported function against `torch.nn.Softmax` on sizes that were measured and on ones that were not: eager, then what
takes the kernel by device time alone (there only device time in a replayed graph is taken), then compiled, each in a
process of its own, so that none disturbs another. Not a test: it prints tables, and writes export_softmax_*.json anew
after each row, so that a run that is cut off leaves what it has. The rule: a ratio is PyTorch's time over the export's,
so below 1 is a loss, and the worst is what counts.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

LIMIT_S = 195.0
"""Of it all; what is not done by then is left out, and said to be."""

GRID = ["--vary=rows=1,64,1024,4096,16384", "--vary=cols=64,512,2048,8192", "--dtypes=float32,bfloat16"]
COMPILED_GRID = ["--vary=rows=16384", "--vary=cols=2048,8192", "--dtypes=float32,bfloat16"]

EAGER = [
    *((rows, cols, "float32") for rows in (1, 64, 1024, 4096, 16384) for cols in (64, 2048, 8192)),
    *((rows, cols, "bfloat16") for rows in (64, 4096, 16384) for cols in (512, 2048, 8192)),
    # never measured
    (4096, 4096, "float32"), (4096, 4096, "bfloat16"), (1024, 16384, "bfloat16"), (65536, 256, "bfloat16"),
    (128, 131072, "bfloat16"), (4096, 1024, "float32"), (1000, 5003, "float32"), (77, 20001, "float16"),
    (1, 3, "float32"), (4000, 4096, "float32"), (3000, 4096, "bfloat16"), (4096, 4080, "float32"),
    (4096, 2064, "float32"), (8192, 8192, "float32"), (8192, 8192, "bfloat16"), (4096, 3001, "float32"),
    (16384, 4096, "bfloat16"), (100, 100, "float32"), (7, 33, "float32"), (512, 50257, "float32"),
    (2048, 32000, "bfloat16"), (8192, 128, "float16"),
]  # fmt: skip

COMPILED = [
    (16384, 8192, "float32"), (16384, 8192, "bfloat16"), (16384, 2048, "bfloat16"), (16384, 4096, "bfloat16"),
    (1, 64, "float32"), (64, 2048, "float32"), (4096, 4096, "float32"), (65536, 256, "bfloat16"),
]  # fmt: skip

TIMES = ("call_us", "stream_us", "device_us")

Size = tuple[int, int, str]


def main(out: Path) -> None:
    until = time.time() + LIMIT_S
    out.mkdir(parents=True, exist_ok=True)
    package = out / "softmax"
    stages: list[tuple[str, ...]] = [
        ("-m", "kernelwright", "export", "gallery/softmax/best.py", "--problem", "gallery/softmax", "--no-measure",
         "--out", str(package)),
        ("-m", "fast_softmax.benchmark", "--write", "--no-cases", "--no-compile", *GRID),
        ("-m", "fast_softmax.check"),
        (__file__, "--judge", "eager", str(out), str(until)),
        (__file__, "--judge", "graphs", str(out), str(until)),
        ("-m", "fast_softmax.benchmark", "--write", "--no-cases", *COMPILED_GRID),
        (__file__, "--judge", "compiled", str(out), str(until)),
    ]  # fmt: skip
    for words in stages:
        began = time.time()
        print(f"== {' '.join(words[1:4])}", flush=True)
        if not run(words, package, until):
            print("cut off: no time is left")
            break
        print(f"== took {time.time() - began:.0f} s", flush=True)
    for file in sorted(out.glob("export_softmax_*.json")):
        document = json.loads(file.read_text(encoding="utf-8"))
        print(summary(document["how"], document["rows"]))
        print(f"a call that goes to PyTorch pays {document['dispatch_ns']:.0f} ns for being asked")


def run(words: tuple[str, ...], package: Path, until: float) -> bool:
    """Whether there was time for it. A stage that fails says so itself, and the next one is tried."""
    path = [str(package.resolve()), *[os.environ[name] for name in ("PYTHONPATH",) if name in os.environ]]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
    try:
        done = subprocess.run([sys.executable, *words], check=False, env=environment, timeout=until - time.time())
    except subprocess.TimeoutExpired:
        return False
    if done.returncode:
        print(f"exit status {done.returncode}")
    return True


def on_the_gpu(how: str, out: Path, until: float) -> None:
    """In a process of its own, so that the package reads what it has written, and nothing else was run in it."""
    import fast_softmax
    import torch
    from fast_softmax import benchmark

    module, plain = fast_softmax.Module(graphs=how == "graphs"), torch.nn.Softmax(-1)

    def measure(size: Size) -> dict[str, Any]:
        rows, cols, dtype = size
        torch.cuda.empty_cache()
        x = torch.randn(rows, cols, device="cuda", dtype=getattr(torch, dtype))
        pair = (module, plain)
        if how == "compiled":
            torch.compiler.reset()
            pair = (torch.compile(module), torch.compile(plain))
        with torch.no_grad():
            torch.testing.assert_close(pair[0](x), pair[1](x))
        mine, theirs = benchmark.compared(*pair, [x], device_only=how == "graphs")
        taken, why, _ = module.fast_state.judged([x], "compiled" if how == "compiled" else "eager")
        return {"rows": rows, "cols": cols, "dtype": dtype, "kernel": taken, "why": why,
                "export_us": mine, "torch_us": theirs}  # fmt: skip

    document = {"how": how, "device": torch.cuda.get_device_name(), "torch": torch.__version__,
                "triton": __import__("triton").__version__, "dispatch_ns": dispatch_ns(module, torch)}  # fmt: skip
    sizes = COMPILED if how == "compiled" else EAGER
    measure(sizes[0])  # what a process measures first is slower than the same later
    judge(sizes, measure, document, out / f"export_softmax_{how}.json", until)


def judge(
    sizes: Iterable[Size], measure: Callable[[Size], dict[str, Any]], document: dict[str, Any], file: Path, until: float
) -> None:
    """Measures, prints and keeps one size after the other; one that fails is printed and left out."""
    rows: list[dict[str, Any]] = []
    print(f"{'size, ' + document['how']:<26}{'goes to':<9}{'call':>8}{'in a row':>10}{'graph':>8}{'host us':>16}")
    for size in sizes:
        if time.time() > until:
            print(f"cut off after {len(rows)} sizes")
            break
        try:
            rows.append(measure(size))
        except (RuntimeError, AssertionError) as error:
            print(
                f"{name_of(*size):<26}failed: {type(error).__name__}: {' '.join(str(error).split())[:200]}", flush=True
            )
            continue
        print(text(rows[-1]), flush=True)
        file.write_text(json.dumps({**document, "rows": rows}, indent=1) + "\n", encoding="utf-8")


def name_of(rows: int, cols: int, dtype: str) -> str:
    return f"{rows} x {cols} {dtype}"


def ratios(row: dict[str, Any]) -> dict[str, float]:
    mine, theirs = row["export_us"], row["torch_us"]
    return {name: theirs[name] / mine[name] for name in TIMES if name in mine and name in theirs}


def text(row: dict[str, Any]) -> str:
    found = ratios(row)
    shown = "".join(
        f"{f'{found[name]:.3f}' if name in found else '-':>{width}}"
        for name, width in zip(TIMES, (8, 10, 8), strict=True)
    )
    issued = [row[name].get("issue_us") for name in ("export_us", "torch_us")]
    host = "-" if None in issued else " / ".join(f"{one:.1f}" for one in issued)
    size = name_of(row["rows"], row["cols"], row["dtype"])
    return f"{size:<26}{'kernel' if row['kernel'] else 'PyTorch':<9}{shown}{host:>16}"


def summary(how: str, rows: list[dict[str, Any]]) -> str:
    lines = [f"{how}: {len(rows)} sizes, the kernel taken on {sum(row['kernel'] for row in rows)}"]
    for taken, server in ((True, "the kernel"), (False, "PyTorch")):
        for name in TIMES:
            found = [(ratios(row)[name], row) for row in rows if row["kernel"] is taken and name in ratios(row)]
            if not found:
                continue
            worst, at = min(found, key=lambda one: one[0])
            mean = math.exp(sum(math.log(ratio) for ratio, _ in found) / len(found))
            lines.append(
                f"  by {server}, {name.removesuffix('_us')}: worst {worst:.3f} at "
                f"{name_of(at['rows'], at['cols'], at['dtype'])}, best {max(ratio for ratio, _ in found):.3f}, "
                f"mean {mean:.3f}"
            )
    return "\n".join(lines)


def dispatch_ns(module: Any, torch: Any) -> float:
    """What the exported module costs more than the problem's own where PyTorch serves, on the CPU: no device time."""
    import timeit

    from fast_softmax import reference

    x, plain = torch.randn(2, 3), reference.Model()
    best = [min(timeit.repeat(lambda one=one: one(x), number=200, repeat=500)) for one in (module, plain)]
    return (best[0] - best[1]) / 200 * 1e9


if __name__ == "__main__":
    if sys.argv[1] == "--judge":
        on_the_gpu(sys.argv[2], Path(sys.argv[3]), float(sys.argv[4]))
    else:
        main(Path(sys.argv[1]))
