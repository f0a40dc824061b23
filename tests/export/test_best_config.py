"""`best_config.json`: what it holds, and where it is refused."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kernelwright import codec
from kernelwright.errors import ConfigError
from kernelwright.export.best_config import Pinned, choose, keywords, load, pinned
from kernelwright.export.triton_configs import triton_configs_text
from kernelwright.model import Status, bits
from kernelwright.spaces.samplers.simple import exhaustive
from kernelwright.tune import Outcome, Settings, tune
from tuned import BEST, SOURCE, SPACE, FakeDevice, problem

HERE = {"device": "Fake GPU", "torch": "2.9.0", "triton": "3.5.0"}


def outcome(*cases: str, **device: Any) -> Outcome:
    named = cases or ("big", "wide")
    fake = FakeDevice(cases=named, **device)
    settings = Settings(sampler="exhaustive", seed=3)
    return tune(fake, SPACE, problem=problem(*named), candidate=SOURCE, settings=settings, sampler=exhaustive)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pinned") / "best_config.json"
    path.write_bytes(codec.encode(pinned(outcome())))
    return path


def test_it_says_what_was_chosen_where_and_of_which_source(file: Path) -> None:
    found = load(file, **HERE, source=SOURCE)
    assert (found.problem, found.candidate, found.sampler, found.seed) == ("double", codec.sha(SOURCE), "exhaustive", 3)
    assert (found.kind, found.device, found.target, found.torch, found.triton) == (
        "measured", "Fake GPU", "sm_90", "2.9.0", "3.5.0",
    )  # fmt: skip
    assert found.date.startswith("20")
    assert [one.case for one in found.cases] == ["big", "wide"]
    assert found.cases[0].config == BEST
    assert found.cases[0].time_us == pytest.approx(100.0)
    assert found.cases[0].speedup_ci95 is not None
    assert found.cost_of_one == pytest.approx(1.1**0.5)


def test_it_names_each_kernel_s_parameters_as_a_launch_takes_them(file: Path) -> None:
    chosen = load(file, **HERE).cases[0]
    assert keywords(chosen.kernels["k"]) == {"BLOCK": 256, "num_warps": 8, "num_stages": 3}


@pytest.mark.parametrize(
    ("name", "there", "here"),
    [("device", "Fake GPU", "NVIDIA A100"), ("torch", "2.9.0", "2.9.1"), ("triton", "3.5.0", "3.6.0")],
)
def test_a_file_from_elsewhere_is_refused_and_says_what_differs(file: Path, name: str, there: str, here: str) -> None:
    with pytest.raises(ConfigError, match=rf"was tuned elsewhere: {name} {there} there, {here} here.*tune again"):
        load(file, **{**HERE, name: here})


def test_another_source_is_refused_where_it_is_compared(file: Path) -> None:
    with pytest.raises(ConfigError, match="tuned elsewhere: candidate"):
        load(file, **HERE, source=SOURCE + "# changed\n")


def test_estimates_are_never_loaded(tmp_path: Path) -> None:
    path = tmp_path / "best_config.json"
    path.write_bytes(codec.encode(pinned(outcome(kind="estimate", pairs=False))))
    with pytest.raises(ConfigError, match="holds estimates"):
        load(path, **HERE)


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"schema_version": 1}'])
def test_what_is_no_such_file_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "best_config.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"is no best_config\.json"):
        load(path, **HERE)
    with pytest.raises(ConfigError, match="cannot be read"):
        load(tmp_path / "none.json", **HERE)


def test_a_file_of_another_version_is_refused(file: Path, tmp_path: Path) -> None:
    newer = msgspec.structs.replace(load(file, **HERE), schema_version=2)
    path = tmp_path / "best_config.json"
    path.write_bytes(codec.encode(newer))
    with pytest.raises(ConfigError, match="has version 2"):
        load(path, **HERE)


def test_inputs_take_the_config_of_the_nearest_case(file: Path) -> None:
    found = load(file, **HERE)
    assert [choose(found, [shape]).case for shape in ((64, 64), (100, 60), (8, 3000), (1, 8192))] == [
        "big", "big", "wide", "wide",
    ]  # fmt: skip
    assert choose(found, [(64, 64)], ["float32"]).case == "big"


def test_inputs_of_a_wider_dtype_than_was_tuned_for_are_refused(file: Path) -> None:
    found = load(file, **HERE)
    with pytest.raises(ConfigError, match="chosen for float32, the inputs are float64"):
        choose(found, [(64, 64)], ["float64"])
    assert [bits(name) for name in ("float16", "float8_e4m3fn", "bool")] == [16, 8, 0]


def test_inputs_of_another_kind_take_the_config_for_all_cases(file: Path) -> None:
    found = load(file, **HERE)
    assert choose(found, [(64,)]).case is None
    assert choose(found, [(64, 64), (64, 64)]).case is None
    assert choose(found, [(64, 64)], ["float16"]).case is None


def test_where_nothing_passed_there_is_nothing_to_write() -> None:
    assert pinned(outcome(fails=lambda config: (Status.WRONG, "off"))) is None


def chosen() -> Pinned:
    found = pinned(outcome())
    assert found is not None
    return found


def test_the_list_for_triton_autotune_is_python_with_each_config_once() -> None:
    text = triton_configs_text(chosen())
    tree = ast.parse(text)
    (assigned,) = [node for node in tree.body if isinstance(node, ast.Assign)]
    assert isinstance(assigned.targets[0], ast.Name)
    assert assigned.targets[0].id == "K"
    assert isinstance(assigned.value, ast.List)
    calls = [ast.unparse(call) for call in assigned.value.elts]
    assert "triton.Config({'BLOCK': 256}, num_warps=8, num_stages=3)" in calls
    assert len(calls) == len(set(calls)) == 2
    assert "measured on Fake GPU" in text


def test_the_list_says_when_its_times_are_estimates() -> None:
    found = pinned(outcome(kind="estimate", pairs=False))
    assert found is not None
    assert "estimates for sm_90, nothing was measured" in triton_configs_text(found)
