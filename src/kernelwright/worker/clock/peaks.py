"""Measured peaks of a GPU, from which roofline bounds are computed. They never come from a datasheet.

Copy, read and write bandwidth over 4 GiB, and matrix rate per dtype over 8192³ (4096³ in float32). A peak is a limit,
so the fastest of several samples counts. Reading is measured by torch's reduction and by a kernel of ours in a few
shapes: a matrix-vector product read 3 % faster than the "peak" of torch's reduction alone on an H200.
"""

from __future__ import annotations

import datetime
import json
import tempfile
from functools import partial
from pathlib import Path

import torch
import triton
import triton.language as tl

from kernelwright import codec
from kernelwright.worker.clock.captured import MeasuredPeaks
from kernelwright.worker.clock.clock import Piece, Timed
from kernelwright.worker.plan.library import in_ieee_precision

BYTES = 1 << 32
MATRIX = 8192
SAMPLES = 12
READERS = ((1024, 16, 4), (2048, 16, 8), (4096, 16, 8), (2048, 64, 8), (8192, 8, 16))
"""Shapes of the reading kernel: elements of a block, blocks of a program, and warps."""


def measured(file: Path) -> MeasuredPeaks:
    """Peaks of device 0 from `file`; if there is none, they are measured (about 3 s) and written there."""
    if file.exists():
        return codec.decode(file.read_bytes(), MeasuredPeaks)
    with in_ieee_precision():  # the file serves every problem, so the loaded problem's precision must not matter
        peaks = measure()
    date = datetime.date.today().isoformat()
    source = f"measured {torch.cuda.get_device_name(0)} {date} torch {torch.__version__}"
    found = MeasuredPeaks(peaks=peaks, source=source)
    keep(found, file)
    return found


def keep(found: MeasuredPeaks, path: Path) -> None:
    """Write the file under another name and rename it: another worker may read or write the same file now."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=path.stem, suffix=".part", delete=False) as part:
        json.dump(codec.plain(found), part, indent=1)
    Path(part.name).replace(path)


def measure() -> dict[str, float]:
    """Measure copy_, read_ and write_bytes_per_s, and <dtype>_flop_per_s."""
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

    The map is a kernel (negation): a memory copy node in a CUDA graph took 1.6 times as long on an H200.
    """
    source = torch.randn(count, device="cuda")
    target = torch.empty_like(source)
    readers: list[Piece] = [partial(read, source, target, *shape) for shape in READERS]
    return {
        "copy_bytes_per_s": 8 * count / fastest_s(lambda: torch.neg(source, out=target)),
        "write_bytes_per_s": 4 * count / fastest_s(lambda: target.fill_(1.5)),
        "read_bytes_per_s": 4 * count / min(fastest_s(reader) for reader in (lambda: torch.amax(source), *readers)),
    }


def read(source: torch.Tensor, sums: torch.Tensor, block: int, steps: int, warps: int) -> None:
    """Read all of `source` and write one sum per program, which takes hardly any bandwidth."""
    programs = triton.cdiv(source.numel(), block * steps)
    read_kernel[(programs,)](source, sums, source.numel(), BLOCK=block, STEPS=steps, num_warps=warps)


@triton.jit  # type: ignore[untyped-decorator]
def read_kernel(  # type: ignore[no-untyped-def]
    source_ptr,
    sums_ptr,
    count,
    BLOCK: tl.constexpr,  # noqa: N803
    STEPS: tl.constexpr,  # noqa: N803
):
    start = tl.program_id(0).to(tl.int64) * (BLOCK * STEPS)
    total = tl.zeros((BLOCK,), tl.float32)
    for step in tl.static_range(STEPS):
        at = start + step * BLOCK + tl.arange(0, BLOCK)
        total += tl.load(source_ptr + at, mask=at < count, other=0.0)
    tl.store(sums_ptr + tl.program_id(0), tl.sum(total, axis=0))


def fastest_s(piece: Piece) -> float:
    timed = Timed([piece])
    timed.warm_up()
    return min(timed.sample_us() for _ in range(SAMPLES)) / 1e6
