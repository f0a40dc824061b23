"""Memory shared by two processes of ours, and the tensors that views name in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from kernelwright.worker.arena import attach, create, release, window
from kernelwright.worker.bench import Bench
from kernelwright.worker.layout import Layout
from kernelwright.worker.plan import Buffer, View

BUFFERS = (Buffer(id=0, nbytes=96, origin="scratch"), Buffer(id=1, nbytes=7, origin="scratch"),
           Buffer(id=2, nbytes=64, origin="scratch"))  # fmt: skip
LAYOUT = Layout(BUFFERS)


def view(buffer: int = 0, dtype: str = "float32", **more: object) -> View:
    fields = {"shape": (4, 6), "stride": (6, 1), "offset": 0} | more
    return View(buffer=buffer, dtype=dtype, **fields)  # type: ignore[arg-type]


@pytest.fixture
def arena() -> torch.Tensor:
    return torch.zeros(LAYOUT.nbytes, dtype=torch.uint8)


def test_a_window_is_the_memory_of_its_buffer(arena: torch.Tensor) -> None:
    window(arena, LAYOUT, view()).fill_(1.0)
    start = LAYOUT.offsets[0]
    assert (arena[start : start + 96].view(torch.float32) == 1.0).all()
    assert int(arena.count_nonzero()) == int(arena[start : start + 96].count_nonzero())


def test_a_window_has_the_views_shape_stride_and_offset(arena: torch.Tensor) -> None:
    window(arena, LAYOUT, view(shape=(24,), stride=(1,))).copy_(torch.arange(24.0))
    got = window(arena, LAYOUT, view(shape=(3, 2), stride=(2, 9), offset=4))
    assert got.tolist() == [[4.0, 13.0], [6.0, 15.0], [8.0, 17.0]]


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", "int64", "int8", "uint8", "bool"])
def test_a_window_may_be_of_any_dtype(arena: torch.Tensor, dtype: str) -> None:
    made = window(arena, LAYOUT, view(2, dtype, shape=(8,), stride=(1,)))
    assert made.dtype is getattr(torch, dtype)
    assert made.shape == (8,)


def test_a_buffer_that_is_no_multiple_of_the_element_can_be_viewed(arena: torch.Tensor) -> None:
    assert window(arena, LAYOUT, view(1, "int16", shape=(3,), stride=(1,))).shape == (3,)


def test_windows_on_one_buffer_share_memory_and_those_on_two_do_not(arena: torch.Tensor) -> None:
    one, same = window(arena, LAYOUT, view()), window(arena, LAYOUT, view(dtype="int32"))
    other = window(arena, LAYOUT, view(2, shape=(4, 4), stride=(4, 1)))
    one.fill_(1.0)
    assert (same == 0x3F800000).all()
    assert not other.any()


def test_both_sides_see_the_same_bytes() -> None:
    ours, handle = create(1 << 16, "cpu")
    theirs = attach(handle)
    ours.fill_(0x5A)
    assert (theirs == 0x5A).all()
    theirs[100] = 1
    assert ours[100] == 1
    release(handle)


def test_another_process_sees_the_same_bytes() -> None:
    arena, handle = create(4096, "cpu")
    arena.zero_()
    program = (
        "import sys, json\nfrom kernelwright.worker.arena import attach\n"
        "arena = attach(json.loads(sys.argv[1]))\narena[7] = 42\n"
    )
    subprocess.run([sys.executable, "-c", program, json.dumps(handle)], check=True)
    assert int(arena[7]) == 42
    release(handle)


def test_an_arena_is_new_memory() -> None:
    one, first = create(4096, "cpu")
    other, second = create(4096, "cpu")
    one.fill_(1)
    other.fill_(2)
    assert (one == 1).all()
    release(first)
    release(second)


def test_a_released_arena_stays_mapped_and_has_no_name() -> None:
    arena, handle = create(4096, "cpu")
    mapped = attach(handle)
    release(handle)
    arena.fill_(3)
    assert (mapped == 3).all()
    with pytest.raises(RuntimeError):
        attach(handle)


def test_an_arena_leaves_no_file_behind_when_its_process_is_killed(tmp_path: Path) -> None:
    """Gigabytes in /dev/shm would stay until the next start of the machine."""
    program = (
        "import os, signal\nfrom kernelwright.worker.arena import create\n"
        "made = create(1 << 16, 'cpu')\nprint('made', flush=True)\nos.kill(os.getpid(), signal.SIGKILL)\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.stdout == "made\n"
    folders = [folder for folder in (tmp_path, Path("/dev/shm")) if folder.is_dir()]
    assert [path for folder in folders for path in folder.iterdir() if path.stat().st_size == 1 << 16] == []


def test_a_bench_that_needs_a_larger_arena_gives_the_smaller_one_back() -> None:
    def arenas() -> int:
        links = [os.readlink(path) for path in Path("/proc/self/fd").iterdir() if os.path.lexists(path)]
        return sum("kernelwright-arena" in link for link in links)

    bench, before = Bench("cpu"), arenas()
    small = bench.reserve(1 << 12)
    assert bench.reserve(1 << 10) == small
    large = bench.reserve(1 << 16)
    assert large["id"] != small["id"]
    assert attach(large).numel() == 1 << 16
    assert arenas() == before + 1
    release(large)
