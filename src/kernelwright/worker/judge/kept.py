"""The cache of answers between candidates, limited to a share of the device's memory."""

from __future__ import annotations

from collections import Counter
from weakref import WeakValueDictionary

import torch

from kernelwright.worker.judge.answer import Answer

FRACTION = 0.25
"""Share of the device's memory that cached inputs, parameters and expected outputs may take."""

ON_CPU_BYTES = 1 << 30
"""The limit without a GPU, where only small cases are judged."""

Key = tuple[str, int]
"""Case and draw."""


class Kept:
    """The answers that were used most often. An answer that is in use elsewhere is found too: its memory is taken
    anyway.

    Every candidate is judged by the same answers in the same order. Where not all fit, dropping the least recently used
    one would drop each just before it is needed again.
    """

    def __init__(self, device: str) -> None:
        self.device = device
        self.answers: dict[Key, Answer] = {}
        self.in_use: WeakValueDictionary[Key, Answer] = WeakValueDictionary()
        self.uses: Counter[Key] = Counter()
        self.last: Key | None = None

    def find(self, key: Key) -> Answer | None:
        if key != self.last:  # checking one candidate on one draw is one use
            self.uses[key], self.last = self.uses[key] + 1, key
        found = self.in_use.get(key)
        if key in self.answers:
            self.answers[key] = self.answers.pop(key)
        return found

    def add(self, key: Key, answer: Answer) -> None:
        self.answers[key] = self.in_use[key] = answer

    def make_room(self, nbytes: int) -> None:
        """Drop answers until a new one of `nbytes` fits, or none is left: those with the fewest uses, and of several
        the one that was used last."""
        limit: float = ON_CPU_BYTES
        if self.device != "cpu":
            limit = FRACTION * torch.cuda.get_device_properties(0).total_memory
        while self.answers and nbytes + sum(answer.nbytes for answer in self.answers.values()) > limit:
            del self.answers[min(reversed(self.answers), key=self.uses.__getitem__)]
        self.give_back()

    def clear(self) -> None:
        self.answers.clear()
        self.give_back()

    def give_back(self) -> None:
        """The bench takes its memory from the same GPU."""
        if self.device != "cpu":
            torch.cuda.empty_cache()
