"""Writing configs into a source: only the values change, and the result is Python again."""

from __future__ import annotations

import ast

import pytest

from kernelwright.errors import ConfigError
from kernelwright.source import apply_config, autotune_choices, default_config, find_tunables, render

SOURCE = """\
# Größe: µ-kernel, with text that is longer in bytes than in characters
import triton
import triton.language as tl

ROWS_PER_PROGRAM = 0x4   # four rows
CHUNK = tl.constexpr( 64 )


@triton.jit
def first(x, y, n, ROWS: tl.constexpr, BLOCK: tl.constexpr = 1024):
    tl.store(x, CHUNK)


@triton.jit
def second(x, TILE_M: tl.constexpr):
    tl.store(x, TILE_M)


def kernel_function(x):
    "é"; BLOCK, N_SPLIT = 1_28, 1  # comment with ) and ( and ,
    first[(1,)](
        x,  # the input (all of it),
        x, x.numel(),
        (ROWS_PER_PROGRAM),  # parenthesised )
    )
    second[(N_SPLIT,)](x, TILE_M=BLOCK, num_warps=(
        8))
    second[lambda meta: (1,)](x, ((BLOCK)))
    return x
"""


def changed_lines(before: str, after: str) -> list[tuple[str, str]]:
    return [(a, b) for a, b in zip(before.splitlines(), after.splitlines(), strict=True) if a != b]


def test_the_default_config_gives_back_the_same_text() -> None:
    assert apply_config(SOURCE, default_config(SOURCE)) == SOURCE
    assert apply_config(SOURCE, {}) == SOURCE


def test_only_the_value_changes_and_comments_stay() -> None:
    after = apply_config(SOURCE, {"ROWS_PER_PROGRAM": 8, "CHUNK": 32})
    assert changed_lines(SOURCE, after) == [
        ("ROWS_PER_PROGRAM = 0x4   # four rows", "ROWS_PER_PROGRAM = 8   # four rows"),
        ("CHUNK = tl.constexpr( 64 )", "CHUNK = tl.constexpr( 32 )"),
    ]


def test_columns_count_bytes_where_the_line_is_not_ascii() -> None:
    after = apply_config(SOURCE, {"BLOCK": 256})
    assert '    "é"; BLOCK, N_SPLIT = 256, 1  # comment with ) and ( and ,\n' in after


def test_a_default_in_the_signature_is_rewritten_there() -> None:
    assert "BLOCK: tl.constexpr = 512):" in apply_config(SOURCE, {"first.BLOCK": 512})


def test_absent_warps_and_stages_are_inserted_behind_the_last_argument() -> None:
    after = apply_config(SOURCE, {"first.num_warps": 8, "first.num_stages": 2})
    assert "(ROWS_PER_PROGRAM), num_stages=2, num_warps=8,  # parenthesised )\n    )" in after
    assert "    second[lambda meta: (1,)](x, ((BLOCK)), num_warps=1)\n" in apply_config(
        SOURCE, {"second.num_warps#2": 1}
    )


def test_every_single_value_of_every_tunable_is_written_and_read_back() -> None:
    seen = 0
    for tunable in find_tunables(SOURCE):
        for value in tunable.choices:
            after = apply_config(SOURCE, {tunable.key: value})
            ast.parse(after)
            assert default_config(after)[tunable.key] == value
            others = {key: old for key, old in default_config(SOURCE).items() if key != tunable.key}
            assert {key: new for key, new in default_config(after).items() if key != tunable.key} == others
            seen += 1
    assert seen > 30


def test_all_values_at_once_are_written_and_read_back() -> None:
    config = {tunable.key: tunable.choices[-1] for tunable in find_tunables(SOURCE)}
    assert default_config(apply_config(SOURCE, config)) == config


def test_other_line_ends_survive() -> None:
    windows = SOURCE.replace("\n", "\r\n")
    config = {"BLOCK": 256, "first.num_warps": 2}
    assert apply_config(windows, config) == apply_config(SOURCE, config).replace("\n", "\r\n")


def test_a_form_feed_is_not_a_line_end() -> None:
    source = "# page\x0cbreak\u2028here\n" + SOURCE
    assert apply_config(source, {"CHUNK": 32}) == "# page\x0cbreak\u2028here\n" + apply_config(SOURCE, {"CHUNK": 32})


def test_an_unknown_key_names_the_ones_that_exist() -> None:
    with pytest.raises(ConfigError, match=r"no tunable 'first.NOPE': it has .*ROWS_PER_PROGRAM.*second"):
        apply_config(SOURCE, {"first.NOPE": 1})
    with pytest.raises(ConfigError, match="it has no tunables at all"):
        apply_config("x = 1\n", {"BLOCK": 1})


def test_a_value_that_is_no_choice_names_the_choices() -> None:
    with pytest.raises(ConfigError, match="CHUNK cannot be 48 in this source: expected one of 16, 32, 64, 128, 256"):
        apply_config(SOURCE, {"CHUNK": 48})
    with pytest.raises(ConfigError, match="cannot be True"):
        apply_config(SOURCE, {"first.num_warps": True})


def test_a_source_that_does_not_parse_takes_no_config() -> None:
    with pytest.raises(ConfigError, match="does not parse"):
        apply_config("def broken(:", {"BLOCK": 1})
    assert apply_config("def broken(:", {}) == "def broken(:"


def autotuned(configs: str) -> str:
    return (
        "import triton\nimport triton.language as tl\n\n"
        f"@triton.autotune(configs={configs}, key=[])\n@triton.jit\ndef k(x, BLOCK: tl.constexpr):\n    pass\n"
    )


def test_autotune_keys_leave_the_text_alone() -> None:
    source = autotuned("[triton.Config({'BLOCK': 64}), triton.Config({'BLOCK': 128})]")
    assert apply_config(source, {"autotune:k": 1}) == source
    with pytest.raises(ConfigError, match="autotune:k cannot be 2"):
        apply_config(source, {"autotune:k": 2})


def test_an_autotune_key_of_computed_configs_is_left_to_the_worker() -> None:
    source = autotuned("[triton.Config({'BLOCK': b}) for b in (64, 128)]")
    assert apply_config(source, {"autotune:k": 7}) == source
    with pytest.raises(ConfigError, match="expected the index"):
        apply_config(source, {"autotune:k": -1})
    with pytest.raises(ConfigError, match="no tunable 'autotune:other'"):
        apply_config(source, {"autotune:other": 0})


def test_choices_among_configs_are_told_apart_from_what_is_written() -> None:
    config = {"autotune:first": 7, "CHUNK": 128}
    assert render(SOURCE, config) == apply_config(SOURCE, {"CHUNK": 128}) != SOURCE
    assert autotune_choices(config) == {"first": 7}
