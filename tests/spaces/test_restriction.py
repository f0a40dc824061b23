"""Restrictions: what they can say, and what they cannot be made to do."""

from __future__ import annotations

import pytest

from kernelwright.errors import ConfigError
from kernelwright.spaces.restriction import DEEPEST, LONGEST_TEXT, read_restriction

CONFIG = {"BLOCK_M": 64, "BLOCK_N": 128, "k.num_warps": 4, "STAGES": 0}
NAMES = tuple(CONFIG)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("BLOCK_M * BLOCK_N <= 8192", True),
        ("BLOCK_M * BLOCK_N < 8192", False),
        ("32 * k.num_warps <= BLOCK_M", False),
        ("k.num_warps >= 8 or BLOCK_M <= 64", True),
        ("not (BLOCK_N // BLOCK_M == 2)", False),
        ("32 < BLOCK_M <= 64 < BLOCK_N", True),
        ("BLOCK_M in (16, 32) or STAGES not in [1, 2]", True),
        ("(BLOCK_M, BLOCK_N) in [(64, 64), (64, 128)]", True),
        ("(BLOCK_M, BLOCK_N) not in [(64, 64), (64, 128)]", False),
        ("max(BLOCK_M, BLOCK_N) - abs(-2) == 126 and min(BLOCK_M, 5) == 5", True),
        ("(BLOCK_M if k.num_warps == 4 else BLOCK_N) == 64", True),
        ("BLOCK_M % 48 / 16 == 1.0", True),
        ("STAGES", False),
        ("True", True),
    ],
)
def test_a_restriction_means_what_python_means(text: str, expected: bool) -> None:
    assert read_restriction(text, NAMES).holds(CONFIG) is expected


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "BLOCK_M.__class__",
        "().__class__.__bases__",
        "open('/etc/passwd')",
        "max.__self__",
        "max(key=BLOCK_M)",
        "min(*(1, 2))",
        "abs(1, 2)",
        "max(1)",
        "min(BLOCK_M, default=3)",
        "(lambda: 1)()",
        "[x for x in (1, 2)]",
        "BLOCK_M ** BLOCK_N ** 99",
        "1 << 10 ** 9",
        "'a' * 10 ** 9",
        "(1, 2) + 3",
        "(1, 2) < 3",
        "BLOCK_M in BLOCK_N",
        "(BLOCK_M := 5)",
        "f'{BLOCK_M}'",
        "BLOCK_K == 3",
        "1j",
        "BLOCK_M; BLOCK_N",
        "BLOCK_M = 3",
        "",
        "\0",
        "-" * (DEEPEST + 1) + "1",
        "(" * 500 + "1" + ")" * 500,
        "1 + " * LONGEST_TEXT + "1",
    ],
)
def test_what_is_more_than_arithmetic_is_refused_when_it_is_read(text: str) -> None:
    with pytest.raises(ConfigError):
        read_restriction(text, NAMES)


def test_names_are_those_that_it_mentions() -> None:
    assert read_restriction("BLOCK_M * 2 > k.num_warps", NAMES).names == {"BLOCK_M", "k.num_warps"}


def test_a_config_without_an_answer_is_named() -> None:
    with pytest.raises(ConfigError, match=r"BLOCK_M // STAGES.*BLOCK_M=64, STAGES=0"):
        read_restriction("BLOCK_M // STAGES > 1", NAMES).holds(CONFIG)
    with pytest.raises(ConfigError, match="no value"):
        read_restriction("9" * 400 + " * 0.5 > BLOCK_M", NAMES).holds(CONFIG)
