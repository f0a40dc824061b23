"""The order in which rows are sampled: a Williams design, randomised per block.

A round samples every row once. A sample depends on its position in the round and on the row before it, so both are
balanced: over a block of rounds each row has each position equally often and follows each other row equally often
(Williams, Experimental designs balanced for the estimation of residual effects of treatments, 1949). For each block,
the place of each row in the design and the order of the rounds are drawn at random.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

Order = tuple[int, ...]


def design(count: int) -> list[Order]:
    """A block of rounds for `count` rows: `count` rounds if it is even (or 1), twice as many if it is odd."""
    zigzag = [step // 2 if step % 2 == 0 else count - (step + 1) // 2 for step in range(count)]
    square = [tuple((place + shift) % count for place in zigzag) for shift in range(count)]
    if count % 2 == 0 or count == 1:
        return square
    return square + [order[::-1] for order in square]  # one square of odd size balances the neighbours on one side only


def orders(count: int, draw: random.Random) -> Iterator[Order]:
    """The order of each round, without end."""
    block = design(count)
    while True:
        rows = draw.sample(range(count), count)
        for order in draw.sample(block, len(block)):
            yield tuple(rows[place] for place in order)


def pair_turns(draw: random.Random) -> Order:
    """The order of one round of a race (ABBA or BAAB): 0 and 1 twice each, with the same mean position."""
    return draw.choice(((0, 1, 1, 0), (1, 0, 0, 1)))
