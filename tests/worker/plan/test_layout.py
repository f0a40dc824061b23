"""Where buffers lie: apart, aligned, and with nothing between them that is not guarded."""

from __future__ import annotations

import pytest

from kernelwright.worker.plan.layout import ALIGNMENT, GUARD_BYTES, Layout
from kernelwright.worker.plan.plan import Buffer

SIZES = [(), (0,), (1,), (512,), (513,), (4096, 0, 3), (1, 1, 1), (2**33, 7)]


def layout(*sizes: int) -> Layout:
    return Layout(tuple(Buffer(id=number, nbytes=size, origin="scratch") for number, size in enumerate(sizes)))


@pytest.mark.parametrize("sizes", SIZES)
def test_buffers_are_aligned_and_far_apart(sizes: tuple[int, ...]) -> None:
    made = layout(*sizes)
    end = 0
    for number, size in enumerate(sizes):
        assert made.offsets[number] % ALIGNMENT == 0
        assert made.offsets[number] - end >= GUARD_BYTES
        end = made.offsets[number] + size
    assert made.nbytes - end >= GUARD_BYTES


@pytest.mark.parametrize("sizes", SIZES)
def test_every_byte_belongs_to_one_buffer_or_is_guarded(sizes: tuple[int, ...]) -> None:
    made = layout(*sizes)
    stretches = [*made.guards(), *((made.offsets[n], made.offsets[n] + size) for n, size in enumerate(sizes) if size)]
    position = 0
    for start, end in sorted(stretch for stretch in stretches if stretch[0] != stretch[1]):
        assert start == position
        position = end
    assert position == made.nbytes


def test_the_bytes_that_round_a_buffer_up_are_guarded_too() -> None:
    made = layout(100)
    assert (made.offsets[0] + 100, made.nbytes) in made.guards()


def test_buffers_may_have_any_numbers() -> None:
    buffers = tuple(Buffer(id=number, nbytes=64, origin="scratch") for number in (7, 3, 5))
    assert list(Layout(buffers).offsets) == [7, 3, 5]
    assert len(Layout(buffers).guards()) == 4
