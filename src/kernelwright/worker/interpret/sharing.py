"""What one part of a launch stores and another one loads, without anything that puts the two in order.

Lanes of one program are in order where a barrier is between a store and a load: one of its own, or that of a reduction,
a scan, a product or an atomic, which go through shared memory. Programs are never, unless by atomics.

On a GPU programs run in any order, and at the same time; the interpreter runs one after the other, so its values say
nothing about such an element. Two programs are in order where the first ran an atomic after its store (or load) and the
second one before its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

MOST_BYTES = 1 << 24
"""Most memory that is watched. Each byte takes eight."""

SEVERAL = -1

LANES, EPOCHS = 1 << 16, 1 << 15
"""Lanes and barriers are counted up to these, and then from 0 again: one 32-bit number holds both."""


def _none() -> Any:
    return np.zeros(0, dtype=np.int32)


@dataclass
class Sharing:
    """first: the address of the memory that is watched. program: number of the running program, from 1. stored, loaded:
    by the byte at which an element begins, the last program that stored it and the one that loaded it (SEVERAL: more
    than one; 0: none). lanes: likewise which lane of the running program stored it, and after how many barriers.
    orderly: programs that ended with an atomic behind their last access. has_atomic: whether the running program ran
    one. ends_with_atomic: whether it was its last access. found: line of the first access that shares an element; ""
    if none does."""

    first: int = 0
    program: int = 0
    stored: Any = field(default_factory=_none)
    loaded: Any = field(default_factory=_none)
    lanes: Any = field(default_factory=_none)
    barriers: int = 0
    orderly: set[int] = field(default_factory=set)
    has_atomic: bool = False
    ends_with_atomic: bool = False
    found: str = ""

    def watch(self, first: int, nbytes: int) -> None:
        """Watch memory during a replay."""
        self.first, self.found = first, ""
        size = nbytes if nbytes <= MOST_BYTES else 0
        self.stored, self.loaded, self.lanes = (np.zeros(size, dtype=np.int32) for _ in range(3))

    def rest(self) -> None:
        """Watch nothing."""
        self.stored, self.loaded, self.lanes = _none(), _none(), _none()

    def begin_launch(self) -> None:
        self.stored.fill(0)
        self.loaded.fill(0)
        self.program, self.orderly, self.has_atomic, self.ends_with_atomic = 0, set(), False, False

    def begin_program(self) -> None:
        if self.ends_with_atomic:
            self.orderly.add(self.program)
        self.program, self.has_atomic, self.ends_with_atomic = self.program + 1, False, False
        self.barrier()

    def barrier(self) -> None:
        """What the running program stored before is seen by all of its lanes."""
        self.barriers = (self.barriers + 1) % EPOCHS
        if not self.barriers:
            self.lanes.fill(-1)

    def atomic(self) -> None:
        self.has_atomic = self.ends_with_atomic = True
        self.barrier()

    def access(self, addresses: Any, lanes: Any, is_store: bool) -> bool:
        """Note a load or a store; returns whether it is the first that shares an element with another program, or loads
        what another lane stored since the last barrier. lanes: of the addresses, in their order."""
        if not self.stored.size or not addresses.size:
            return False
        self.ends_with_atomic, at = False, (addresses - np.uint64(self.first)).astype(np.int64)
        mine = (self.barriers * LANES + lanes % LANES).astype(np.int32)
        by_another = not is_store and bool(
            ((self.lanes[at] // LANES == self.barriers) & (self.lanes[at] != mine)).any()
        )
        before, others = (self.loaded if is_store else self.stored)[at], self.loaded[at]
        if is_store:
            self.stored[at], self.lanes[at] = self.program, mine
        else:
            self.loaded[at] = np.where((others == 0) | (others == self.program), self.program, SEVERAL)
        if self.found or by_another:
            return not self.found
        before = before[(before != 0) & (before != self.program)]
        strangers = {int(one) for one in np.unique(before)} if before.size else set[int]()
        strangers = {*range(1, self.program)} if SEVERAL in strangers else strangers
        return bool(strangers - self.orderly) if self.has_atomic else bool(strangers)
