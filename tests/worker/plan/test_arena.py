"""Memory shared by two processes of ours, and the tensors that views name in it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from kernelwright.codec import encode
from kernelwright.worker.plan.arena import attach, window
from kernelwright.worker.plan.layout import Layout
from kernelwright.worker.plan.plan import Buffer, View
from kernelwright.worker.processes.memory import SharedMemory

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


@pytest.fixture
def memory() -> Iterator[SharedMemory]:
    made = SharedMemory()
    yield made
    made.close()


def test_another_process_sees_the_same_bytes(memory: SharedMemory) -> None:
    arena = attach(memory.reserve(4096))
    program = (
        "import sys\nfrom kernelwright.codec import decode\n"
        "from kernelwright.worker.plan.arena import ArenaHandle, attach\n"
        "arena = attach(decode(sys.argv[1], ArenaHandle))\narena[7] = 42\n"
    )
    subprocess.run([sys.executable, "-c", program, encode(memory.handle)], check=True)
    assert int(arena[7]) == 42


def test_memory_grows_and_what_was_mapped_stays(memory: SharedMemory) -> None:
    small = attach(memory.reserve(1 << 12))
    assert memory.reserve(1 << 10).nbytes == 1 << 12
    large = attach(memory.reserve(1 << 16))
    small.fill_(3)
    assert (large[: 1 << 12] == 3).all()
    assert large.numel() == 1 << 16


def test_nobody_who_has_its_descriptor_can_make_it_smaller(memory: SharedMemory) -> None:
    """Pages that are gone would end the judge that reads them."""
    memory.reserve(1 << 16)
    with pytest.raises(OSError, match="not permitted"):
        os.ftruncate(memory.descriptor, 1 << 12)


def test_two_memories_have_two_names_whatever_their_descriptors() -> None:
    one = SharedMemory()
    one.close()
    other = SharedMemory()
    assert (one.descriptor, one.id == other.id) == (other.descriptor, False)
    other.close()


def test_memory_leaves_no_file_behind_when_its_process_is_killed(tmp_path: Path) -> None:
    """Gigabytes in /dev/shm would stay until the next start of the machine."""
    program = (
        "import os, signal\nfrom kernelwright.worker.processes.memory import SharedMemory\n"
        "SharedMemory().reserve(1 << 16)\nprint('made', flush=True)\nos.kill(os.getpid(), signal.SIGKILL)\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.stdout == "made\n"
    folders = [folder for folder in (tmp_path, Path("/dev/shm")) if folder.is_dir()]
    assert [path for folder in folders for path in folder.iterdir() if path.stat().st_size == 1 << 16] == []
