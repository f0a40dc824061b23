"""Layout of a plan's buffers in an arena. Pure arithmetic, so that the supervisor can compute the arena's size, too."""

from __future__ import annotations

from kernelwright.worker.plan.plan import Buffer

GUARD_BYTES = 4096
"""Bytes before and after every buffer that no kernel may touch."""

ALIGNMENT = 512
"""Alignment of each buffer, in bytes. It equals the CUDA allocator's, so that Triton specialises pointers as in use."""


class Layout:
    """Offsets of buffers in an arena, each between guard zones."""

    def __init__(self, buffers: tuple[Buffer, ...]) -> None:
        self.offsets: dict[int, int] = {}
        self.sizes = {buffer.id: buffer.nbytes for buffer in buffers}
        end = GUARD_BYTES
        for buffer in buffers:
            self.offsets[buffer.id] = end
            end += -(-buffer.nbytes // ALIGNMENT) * ALIGNMENT + GUARD_BYTES
        self.nbytes = end

    def guards(self) -> list[tuple[int, int]]:
        """Start and end of every guard zone: all bytes that belong to no buffer."""
        found, start = [], 0
        for number, offset in self.offsets.items():
            found.append((start, offset))
            start = offset + self.sizes[number]
        return [*found, (start, self.nbytes)]
