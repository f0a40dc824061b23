"""The order of samples: balanced over a block, and drawn at random."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter

import pytest

from kernelwright.worker.bench.order import design, orders, pair_turns

COUNTS = range(2, 9)


@pytest.mark.parametrize("count", COUNTS)
def test_each_row_has_each_position_equally_often_in_a_block(count: int) -> None:
    block = design(count)
    seen = Counter((row, position) for order in block for position, row in enumerate(order))
    assert set(seen) == set(itertools.product(range(count), repeat=2))
    assert set(seen.values()) == {len(block) // count}


@pytest.mark.parametrize("count", COUNTS)
def test_each_row_follows_each_other_row_equally_often_in_a_block(count: int) -> None:
    block = design(count)
    seen = Counter(pair for order in block for pair in itertools.pairwise(order))
    assert set(seen) == set(itertools.permutations(range(count), 2))
    assert len(set(seen.values())) == 1


def test_one_row_is_sampled_alone() -> None:
    assert design(1) == [(0,)]
    assert list(itertools.islice(orders(1, random.Random(0)), 3)) == [(0,)] * 3


@pytest.mark.parametrize("count", [3, 4])
def test_every_block_is_balanced_and_drawn_by_the_seed(count: int) -> None:
    size = len(design(count))

    def blocks(seed: int) -> list[list[tuple[int, ...]]]:
        found = list(itertools.islice(orders(count, random.Random(seed)), 4 * size))
        return [found[at : at + size] for at in range(0, len(found), size)]

    for block in blocks(0):
        assert len({row[0] for row in block}) == count
        assert len(Counter(pair for order in block for pair in itertools.pairwise(order))) == count * (count - 1)
    assert blocks(0) == blocks(0)
    assert blocks(0) != blocks(1)
    assert len({tuple(block) for block in blocks(0)}) > 1, "one block is not the one before"


def test_the_first_place_is_drawn_evenly() -> None:
    size = len(design(4))
    firsts = Counter(next(orders(4, random.Random(seed)))[0] for seed in range(4000))
    assert size == 4
    assert all(abs(count - 1000) < 4 * math.sqrt(750) for count in firsts.values())


def test_the_two_of_a_race_have_the_same_places_in_the_mean() -> None:
    draw = random.Random(0)
    turns = [pair_turns(draw) for _ in range(2000)]
    assert all(sorted(turn) == [0, 0, 1, 1] for turn in turns)
    assert all(sum(turn.index(row) for row in (0, 1)) == 1 for turn in turns)
    assert all(sum(at for at, row in enumerate(turn) if row == 0) == 3 for turn in turns), "a steady drift cancels"
    assert abs(sum(turn[0] for turn in turns) - 1000) < 4 * math.sqrt(500)
