"""Raw output of the profilers on a machine with a GPU, beside what was read of it.

    PYTHONPATH=src python3 benchmarks/profile_raw.py OUT

For those who work on the profilers themselves; the numbers for people come from `kernelwright profile` and
`benchmarks/diagnose.py`. Writes into OUT: versions.txt, metrics.txt (what ncu knows on this GPU), one .csv and one
.json per profile, and failed.txt; ends with a table. Takes about three minutes on an H200.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from kernelwright import codec
from kernelwright.model import Candidate, Profile
from kernelwright.worker.processes.limits import Limits
from kernelwright.worker.processes.processes import Processes
from kernelwright.worker.profile import ncu, operation
from kernelwright.worker.profile.cupti import TorchProfiler
from kernelwright.worker.session import Session

GALLERY = Path(__file__).parent.parent / "gallery"

WANTED = [
    ("softmax", "best.py", "4096x4096_bf16", False),
    ("depthwise_conv2d", "starter.py", "16x64x512x512_bf16", False),
    ("depthwise_conv2d", "eager", "16x64x512x512_bf16", False),
    ("matmul", "starter.py", "4096_fp16", False),
    ("rmsnorm", "best.py", "112x64x512x512_bf16", False),
    ("rmsnorm", "compile", "112x64x512x512_bf16", False),
    ("softmax", "best.py", "4096x4096_bf16", True),
]
"""Problem, implementation, case, and whether everything is read."""


def main(out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    path = ncu.found()
    if path is None:
        sys.exit("there is no ncu here")
    (out / "versions.txt").write_text(printed(path, "--version"))
    (out / "metrics.txt").write_text(printed(path, "--query-metrics", "--chip", "gh100"))
    failed = ""
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        session = Session(Processes(scratch, None, Limits()))
        for problem, what, case, full in WANTED:
            name = f"{problem}-{what.removesuffix('.py')}{'-full' if full else ''}"
            start_s = time.monotonic()
            try:
                session.load(str(GALLERY / problem / "problem.py"))
                own = Candidate(source=(GALLERY / problem / what).read_text()) if what.endswith(".py") else what
                found = operation.profile(session, own, case, full)
                (out / f"{name}.json").write_text(json.dumps(codec.plain(found), indent=1))
                say(name, found, time.monotonic() - start_s)
                failed += "".join(f"{name}: {tool}: {why}\n" for tool, why in found.not_used.items())
            except Exception as error:  # noqa: BLE001 - the others are wanted all the same
                failed += f"{name}: {type(error).__name__}: {error}\n"
            for csv in scratch.glob("ncu-*.csv"):
                (out / f"{name}.csv").write_text(csv.read_text(errors="replace"))
                csv.unlink()
        try:
            operation.PROFILERS = (TorchProfiler(),)
            session = Session(session.processes)  # which knows no profile
            session.load(str(GALLERY / "softmax" / "problem.py"))
            found = operation.profile(
                session, Candidate(source=(GALLERY / "softmax" / "best.py").read_text()), "4096x4096_bf16", False
            )
            (out / "softmax-torch.json").write_text(json.dumps(codec.plain(found), indent=1))
            say("softmax-torch", found, 0.0)
        except Exception as error:  # noqa: BLE001
            failed += f"softmax-torch: {type(error).__name__}: {error}\n"
        session.processes.close()
    (out / "failed.txt").write_text(failed)
    print(failed or "nothing failed")


def printed(*command: str) -> str:
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    return ended.stdout + ended.stderr


def say(name: str, found: Profile, seconds: float) -> None:
    for launch in found.launches:
        shown = {n: launch.value(n) for n in ("duration", "dram_throughput", "dram_read", "tensor_pipe", "occupancy")}
        figures = ", ".join(f"{n} {v:.4g}" for n, v in shown.items() if v is not None)
        print(f"{name:28} {found.tool} {launch.kernel[:40]} {len(launch.counters)} counters {figures} {seconds:.0f} s")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
