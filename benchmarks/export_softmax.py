"""The exported softmax against plain PyTorch on a GPU: eager, in a CUDA graph and under torch.compile.

    python benchmarks/export_softmax.py OUT_FOLDER

Exports gallery/softmax (which verifies the kernel and times the package on the problem's cases), lets the package
measure a grid of further sizes, and then, in a process of its own, holds the exported function against `torch.softmax`
on sizes that were measured and on ones that were not. Not a test: it prints a table, and writes export_softmax.json.
The rule: a ratio is PyTorch's time over the export's, so below 1 is a loss, and the worst is what counts.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

GRID = ["--vary=rows=1,64,1024,4096,16384", "--vary=cols=64,512,2048,8192", "--dtypes=float32,bfloat16"]

JUDGED = [
    *((rows, cols, "float32") for rows in (1, 64, 1024, 4096, 16384) for cols in (64, 2048, 8192)),
    *((rows, cols, "bfloat16") for rows in (64, 4096, 16384) for cols in (512, 2048, 8192)),
    (4096, 4096, "float32"), (4096, 4096, "bfloat16"), (1024, 16384, "bfloat16"), (65536, 256, "bfloat16"),
    (128, 131072, "bfloat16"), (4096, 1024, "float32"), (1000, 5003, "float32"), (77, 20001, "float16"),
    (1, 3, "float32"),
    # never measured
    (4000, 4096, "float32"), (3000, 4096, "bfloat16"), (4096, 4080, "float32"), (4096, 2064, "float32"),
    (2048, 4096, "float32"), (4096, 3001, "float32"), (8192, 8192, "float32"), (5000, 2048, "bfloat16"),
    (100, 100, "float32"), (7, 33, "float32"), (512, 50257, "float32"), (2048, 32000, "bfloat16"),
    (8192, 128, "float16"),
]  # fmt: skip

COMPILED = [
    (1, 64, "float32"), (64, 2048, "float32"), (4096, 4096, "float32"), (4096, 4096, "bfloat16"),
    (65536, 256, "bfloat16"), (1024, 16384, "bfloat16"), (4096, 1024, "float32"), (3000, 4096, "bfloat16"),
]  # fmt: skip


def main(out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    package = out / "softmax"
    run(
        "-m", "kernelwright", "export", "gallery/softmax/best.py", "--problem", "gallery/softmax", "--out", str(package)
    )
    run("-m", "fast_softmax.benchmark", "--write", "--no-cases", "--no-compile", *GRID, package=package)
    run("-m", "fast_softmax.check", package=package)
    run(__file__, "--judge", str(out), package=package)


def run(*words: str, package: Path | None = None) -> None:
    path = [str(package.resolve())] if package is not None else []
    path += [os.environ[name] for name in ("PYTHONPATH",) if name in os.environ]
    subprocess.run([sys.executable, *words], check=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(path)})


def judge(out: Path) -> None:
    """In a process of its own, so that the package reads what it has written."""
    import fast_softmax
    import torch
    from fast_softmax import benchmark

    plain = torch.nn.Softmax(-1)
    rows = []
    print(f"{'size':<24}{'goes to':<10}{'call':>8}{'in a row':>10}{'graph':>8}{'compiled call':>15}{'in a row':>10}")
    module = fast_softmax.Module()
    for height, width, dtype in JUDGED:
        x = torch.randn(height, width, device="cuda", dtype=getattr(torch, dtype))
        with torch.no_grad():
            torch.testing.assert_close(module(x), plain(x))
        mine, theirs = benchmark.compared(module, plain, [x])
        key = benchmark.key_of(x)
        taken = module.fast_state.known[key]
        row = {"rows": height, "cols": width, "dtype": dtype, "kernel": taken, "why": module.fast_state.why[key],
               "export_us": mine, "torch_us": theirs}  # fmt: skip
        if (height, width, dtype) in COMPILED:
            torch.compiler.reset()
            with torch.no_grad():
                pair = benchmark.compared(
                    torch.compile(fast_softmax.Module()), torch.compile(torch.nn.Softmax(-1)), [x]
                )
            row["compiled_export_us"], row["compiled_torch_us"] = pair
        rows.append(row)
        print(text(row), flush=True)
        del x
        torch.cuda.empty_cache()
    print(summary(rows))
    document = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "rows": rows,
                "dispatch_ns": dispatch_ns(module)}  # fmt: skip
    (out / "export_softmax.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(f"a call that goes to PyTorch pays {document['dispatch_ns']:.0f} ns for being asked")


def ratios(row: dict, which: str = "") -> dict[str, float]:
    mine, theirs = row.get(f"{which}export_us", {}), row.get(f"{which}torch_us", {})
    return {name: theirs[name] / mine[name] for name in mine if name in theirs}


def text(row: dict) -> str:
    plainly, compiled = ratios(row), ratios(row, "compiled_")
    cells = [plainly.get("call_us"), plainly.get("stream_us"), plainly.get("device_us")]
    cells += [compiled.get("call_us"), compiled.get("stream_us")]
    shown = "".join(
        f"{'' if cell is None else f'{cell:.3f}':>{width}}"
        for cell, width in zip(cells, (8, 10, 8, 15, 10), strict=True)
    )
    size = f"{row['rows']} x {row['cols']} {row['dtype']}"
    return f"{size:<24}{'kernel' if row['kernel'] else 'PyTorch':<10}{shown}"


def summary(rows: list[dict]) -> str:
    lines = [f"{len(rows)} sizes, the kernel taken on {sum(row['kernel'] for row in rows)}"]
    for which, label in (("", "eager"), ("compiled_", "compiled")):
        for name in ("call_us", "stream_us", "device_us"):
            found = [(ratios(row, which)[name], row) for row in rows if name in ratios(row, which)]
            if not found:
                continue
            worst, at = min(found, key=lambda one: one[0])
            mean = math.exp(sum(math.log(ratio) for ratio, _ in found) / len(found))
            place = f"{at['rows']} x {at['cols']} {at['dtype']}, by {'kernel' if at['kernel'] else 'PyTorch'}"
            lines.append(
                f"{label} {name.removesuffix('_us')}: worst {worst:.3f} at {place}, "
                f"best {max(ratio for ratio, _ in found):.3f}, mean {mean:.3f}"
            )
    return "\n".join(lines)


def dispatch_ns(module: Any) -> float:
    """What the exported module costs more than the problem's own where PyTorch serves, on the CPU: no device time."""
    import timeit

    import torch
    from fast_softmax import reference

    x, plain = torch.randn(2, 3), reference.Model()
    best = [min(timeit.repeat(lambda one=one: one(x), number=20000, repeat=7)) for one in (module, plain)]
    return (best[0] - best[1]) / 20000 * 1e9


if __name__ == "__main__":
    if sys.argv[1] == "--judge":
        judge(Path(sys.argv[2]))
    else:
        main(Path(sys.argv[1]))
