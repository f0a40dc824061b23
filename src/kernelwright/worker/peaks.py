"""Measured peaks of a GPU: what the bounds are made of. Never taken from a datasheet.

Copy, read and write bandwidth over 4 GiB, matrix rate per dtype over 8192³, each the best of several samples: a peak
is a limit, so the fastest observation is the honest one.
"""

from __future__ import annotations

import datetime
import json
import tempfile
from pathlib import Path
from typing import Any

import torch

from kernelwright.worker.clock import Timed

BYTES = 1 << 32
MATRIX = 8192
SAMPLES = 12


def measured(cache: Path) -> dict[str, Any]:
    """Peaks of device 0 from the cache, or measured now (about 3 s) and cached by device, driver and torch."""
    name = torch.cuda.get_device_name(0).replace(" ", "-").lower()
    path = cache / f"{name}-torch{torch.__version__}.json"
    if path.exists():
        found: dict[str, Any] = json.loads(path.read_text())
        return found
    found = {"peaks": measure(), "source": f"measured {torch.cuda.get_device_name(0)} "
             f"{datetime.date.today().isoformat()} torch {torch.__version__}"}  # fmt: skip
    keep(found, path)
    return found


def keep(found: dict[str, Any], path: Path) -> None:
    """Written beside and moved into place: another worker may read or write the same file now."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=path.stem, suffix=".part", delete=False) as part:
        json.dump(found, part, indent=1)
    Path(part.name).replace(path)


def measure() -> dict[str, float]:
    """copy_, read_ and write_bytes_per_s, and <dtype>_flop_per_s."""
    free, _ = torch.cuda.mem_get_info()
    count = min(BYTES, free // 4) // 4
    peaks = bandwidths(count)
    for dtype in (torch.bfloat16, torch.float16, torch.float32):
        size = MATRIX if dtype is not torch.float32 else MATRIX // 2
        a, b = (torch.randn(size, size, device="cuda", dtype=dtype) for _ in range(2))
        out = torch.empty_like(a)
        rate = 2 * size**3 / fastest_s(lambda: torch.mm(a, b, out=out))  # noqa: B023 - called at once
        peaks[f"{str(dtype).removeprefix('torch.')}_flop_per_s"] = rate
    torch.cuda.empty_cache()
    return peaks


def bandwidths(count: int) -> dict[str, float]:
    """Bytes per second of a map (read and write counted), a fill and a reduction of `count` float32 elements.

    A kernel writes the copy: as a memory copy node in a graph it took 1.6 times as long on an H200.
    """
    source = torch.randn(count, device="cuda")
    target = torch.empty_like(source)
    return {
        "copy_bytes_per_s": 8 * count / fastest_s(lambda: torch.neg(source, out=target)),
        "write_bytes_per_s": 4 * count / fastest_s(lambda: target.fill_(1.5)),
        "read_bytes_per_s": 4 * count / fastest_s(lambda: torch.amax(source)),
    }


def fastest_s(piece: Any) -> float:
    timed = Timed([piece])
    timed.warm_up()
    return min(timed.sample_us() for _ in range(SAMPLES)) / 1e6
