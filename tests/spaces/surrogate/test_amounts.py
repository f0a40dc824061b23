"""What configs amount to: read off names, the same for configs that come to the same."""

from __future__ import annotations

from kernelwright.spaces.space import Parameter, Space, configs
from kernelwright.spaces.surrogate.amounts import amounts

BLOCKS = (Parameter(name="BLOCK_M", choices=(64, 128, 256), default=128),
          Parameter(name="k.BLOCK_N", choices=(64, 128), default=128))  # fmt: skip
WARPS = Parameter(name="k.num_warps", choices=(4, 8), default=8)


def test_two_blocks_over_the_warps_are_an_amount() -> None:
    (one,) = amounts(Space(parameters=(*BLOCKS, WARPS)))
    assert (one.times, one.over) == (("BLOCK_M", "k.BLOCK_N"), ("k.num_warps",))
    assert one.values == (9.0, 10.0, 11.0, 12.0, 13.0)
    assert one.coordinates == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert one.place({"BLOCK_M": 64, "k.BLOCK_N": 64, "k.num_warps": 8}) == 0
    assert one.place({"BLOCK_M": 256, "k.BLOCK_N": 128, "k.num_warps": 4}) == 4


def test_every_config_has_a_place_and_equal_products_share_one() -> None:
    space = Space(parameters=(*BLOCKS, WARPS, Parameter(name="GROUP_M", choices=(1, 8), default=8)))
    (one,) = amounts(space)
    for config in configs(space):
        product = config["BLOCK_M"] * config["k.BLOCK_N"] / config["k.num_warps"]
        assert 2 ** one.values[one.place(config)] == product


def test_without_a_single_number_of_warps_an_amount_is_the_product_alone() -> None:
    (alone,) = amounts(Space(parameters=BLOCKS))
    assert alone.over == ()
    other = Parameter(name="other.num_warps", choices=(1, 2), default=1)
    assert [one.over for one in amounts(Space(parameters=(*BLOCKS, WARPS, other)))] == [()]


def test_names_that_say_nothing_give_no_amount() -> None:
    fixed = Parameter(name="BLOCK_K", choices=(32,), default=32)
    group = Parameter(name="GROUP_M", choices=(1, 8), default=8)
    assert amounts(Space(parameters=(BLOCKS[0], fixed, group, WARPS))) == []


def test_three_blocks_are_taken_in_pairs_and_many_not_at_all() -> None:
    third = Parameter(name="TILE_K", choices=(16, 32), default=16)
    assert len(amounts(Space(parameters=(*BLOCKS, third, WARPS)))) == 3
    more = tuple(Parameter(name=f"BLOCK_{number}", choices=(1, 2), default=1) for number in range(5))
    assert amounts(Space(parameters=more)) == []
