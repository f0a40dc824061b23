"""The space of a candidate: found in its source, or stated in a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelwright.errors import ConfigError
from kernelwright.spaces.space import Parameter, Space, configs, size
from kernelwright.spaces.stated import configs_from, found_space, stated_space
from tuned import DEFAULT, SOURCE, SPACE

TOML = """\
restrictions = ["BLOCK >= 64 or k.num_warps < 4"]

[parameters]
BLOCK = [32, 64, 1024]
k.num_warps = [2, 4]
"""
PYTHON = '''\
"""A space."""

SPACE = {
    "parameters": {"BLOCK": [32, 64, 1024], "k.num_warps": [2, 4]},
    "restrictions": ["BLOCK >= 64 or k.num_warps < 4"],
}
'''
AUTOTUNED = SOURCE.replace("@triton.jit\n", "@triton.autotune(CONFIGS, key=['n'])\n@triton.jit\n").replace(
    "k[(1,)](x, 1, BLOCK=BLOCK, num_warps=4)", "k[(1,)](x, 1)"
)


def stated(folder: Path, text: str, suffix: str = ".toml", source: str = SOURCE, **autotune: int) -> Space:
    path = folder / f"space{suffix}"
    path.write_text(text, encoding="utf-8")
    return stated_space(path, source, autotune)


def test_the_space_of_a_source_is_its_tunables() -> None:
    space = found_space(SOURCE, {})
    assert [one.name for one in space.parameters] == ["BLOCK", "k.num_warps"]
    assert {one.name: one.default for one in space.parameters} == DEFAULT
    assert space.restrictions == ()


def test_stages_are_in_the_space_of_a_kernel_with_products_in_a_loop_and_may_be_stated_for_any(tmp_path: Path) -> None:
    looping = SOURCE.replace("    tl.store(x, n)", "    for i in range(n):\n        tl.dot(tl.load(x + i), x)")
    assert {one.name: one.default for one in found_space(looping, {}).parameters} == {**DEFAULT, "k.num_stages": 3}
    assert "num_stages" in stated(tmp_path, '[parameters]\n"k.num_stages" = [1, 2]').parameters[0].name


SECOND = """

@triton.jit
def small(x):
    tl.store(x, 1)


WARPS = 4


def second(x):
    small[(1,)](x, num_warps=2)
    k[(1,)](x, 1, BLOCK=BLOCK, num_warps=WARPS)
    small[(2,)](x)
"""


def test_where_a_source_names_the_warps_of_one_kernel_it_keeps_those_of_others_unless_they_are_stated(
    tmp_path: Path,
) -> None:
    both = SOURCE + SECOND.replace("=WARPS", "=4")
    names = [one.name for one in found_space(both, {}).parameters]
    assert names == ["BLOCK", "k.num_warps", "small.num_warps", "k.num_warps#2", "small.num_warps#2"]
    assert [one.name for one in found_space(SOURCE + SECOND, {}).parameters] == ["BLOCK", "WARPS"]
    one = stated(tmp_path, '[parameters]\n"small.num_warps" = [1, 2]', source=SOURCE + SECOND).parameters[0]
    assert (one.name, one.choices) == ("small.num_warps", (1, 2))


def test_what_only_kernels_use_that_no_call_launches_is_not_in_the_space() -> None:
    both = SOURCE + SECOND.replace("=WARPS", "=4")
    assert [one.name for one in found_space(both, {}, {"k"}).parameters] == ["BLOCK", "k.num_warps", "k.num_warps#2"]
    names = [one.name for one in found_space(both, {}, {"small"}).parameters]
    assert names == ["small.num_warps", "small.num_warps#2"]
    assert found_space(AUTOTUNED, {"k": 12}, {"k"}).parameters
    with pytest.raises(ConfigError, match="no tunables"):
        found_space(AUTOTUNED, {"k": 12}, {"small"})


def test_a_source_without_tunables_is_refused_with_what_to_do() -> None:
    with pytest.raises(ConfigError, match=r"no tunables.*tl\.constexpr"):
        found_space("x = 1\n", {})


def test_configs_of_triton_autotune_that_the_source_computes_are_counted_by_the_worker() -> None:
    assert found_space(AUTOTUNED, {"k": 12}).parameters == (
        Parameter(name="autotune:k", choices=tuple(range(12)), default=0),
    )


@pytest.mark.parametrize(("text", "suffix"), [(TOML, ".toml"), (PYTHON, ".py"), ("\ufeff" + TOML, ".toml")])
def test_a_file_states_choices_and_restrictions_and_the_source_s_own_value_is_one_of_them(
    tmp_path: Path, text: str, suffix: str
) -> None:
    path = tmp_path / f"space{suffix}"
    path.write_text(text, encoding="utf-8")
    space = stated_space(path, SOURCE, {})
    assert {one.name: one.choices for one in space.parameters} == {"BLOCK": (32, 64, 128, 1024), "k.num_warps": (2, 4)}
    assert size(space) == 4 * 2 - 1
    assert {"BLOCK": 32, "k.num_warps": 4} not in list(configs(space))


def test_values_beyond_the_automatic_choices_are_taken(tmp_path: Path) -> None:
    assert 4096 not in found_space(SOURCE, {}).parameters[0].choices
    assert stated(tmp_path, "parameters.BLOCK = [1024, 4096]\n").parameters[0].choices == (128, 1024, 4096)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("parameters.EPS = [1]\n", r"'EPS', which is no tunable of the candidate.*its tunables: BLOCK"),
        ("parameters.n = [1]\n", "no tunable"),
        ("parameters.BLOCK = []\n", "a list of integers was expected"),
        ("parameters.BLOCK = [true]\n", "a list of integers was expected"),
        ("parameters.BLOCK = ['64']\n", "a list of integers was expected"),
        ("parameters.BLOCK = [96]\n", "gives BLOCK the value 96"),
        ("restrictions = []\n", "states no parameters"),
        ("parameters.BLOCK = [64]\nrestrictions = 'BLOCK > 1'\n", "a list of texts was expected"),
        ("parameters.BLOCK = [64]\nrestrictions = ['M > 1']\n", "mentions 'M'"),
        ("parameters.BLOCK = [64]\nrestrictions = ['BLOCK > 9999']\n", "no config satisfies"),
        ("parameters.BLOCK = [64]\nsampler = 'x'\n", "unknown key 'sampler'"),
        ("parameters = [\n", "is not TOML"),
        (f"parameters = {'9' * 5000}\n", "is not TOML"),
    ],
)
def test_a_file_that_cannot_be_a_space_is_refused_with_the_reason(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        stated(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SPACE = {'parameters': open('/etc/passwd')}\n", "is not one dict of numbers and texts"),
        ("import os\n", "holds 0 dicts"),
        ("A = {}\nB = {}\n", "holds 2 dicts"),
        ("SPACE = {\n", "is not one dict"),
        ("SPACE = {[]: 1}\n", "is not one dict"),
    ],
)
def test_python_that_states_a_space_is_read_and_never_run(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        stated(tmp_path, text, ".py")


def test_an_index_beyond_the_configs_of_triton_autotune_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="has the configs 0 to 3"):
        stated(tmp_path, '[parameters]\n"autotune:k" = [0, 4]\n', source=AUTOTUNED, k=4)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        stated_space(tmp_path / "none.toml", SOURCE, {})


def test_rows_become_configs_once_each_and_what_is_none_of_the_space_is_counted() -> None:
    rows = [
        {"BLOCK": 256, "num_warps": 8},
        {"BLOCK": 256, "k.num_warps": 8, "ACTIVATION": 3},
        {"BLOCK": 64},
        {"BLOCK": 96},
        {"OTHER": 1},
    ]
    found, useless = configs_from(rows, SPACE)
    assert found == [{"BLOCK": 256, "k.num_warps": 8}, {"BLOCK": 64, "k.num_warps": 4}]
    assert useless == 2
