"""Option values as typed."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import run
from kernelwright.cli.options import candidate, config, pairs, scalar
from kernelwright.errors import RequestError


def test_a_value_is_read_as_what_it_looks_like() -> None:
    values = [scalar(text) for text in ("4", "-1", "0.5", "true", "False", "openai", "1e3")]
    assert values == [4, -1, 0.5, True, False, "openai", 1000.0]
    assert [type(value) for value in values] == [int, int, float, bool, bool, str, float]


@pytest.mark.parametrize("texts", [["width"], ["=4"], ["a=1", "a=2"]])
def test_a_pair_that_is_none_or_comes_twice_is_a_fault(texts: list[str]) -> None:
    with pytest.raises(RequestError, match="--option"):
        pairs(texts, "--option")


def test_a_value_may_hold_an_equals_sign() -> None:
    assert pairs(["url=http://x/?a=b"], "--option") == {"url": "http://x/?a=b"}


def test_typed_config_values_win_over_those_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text('{"k.BLOCK": 64, "k.num_warps": 4}')
    assert config(["k.BLOCK=128", str(file)]) == {"k.BLOCK": 128, "k.num_warps": 4}


@pytest.mark.parametrize("content", ["[1]", "{", '{"a": "b"}', '{"a": true}'])
def test_a_config_file_that_is_no_object_of_integers_is_a_fault(tmp_path: Path, content: str) -> None:
    file = tmp_path / "config.json"
    file.write_text(content)
    with pytest.raises(RequestError, match="config"):
        config([str(file)])


def test_a_missing_config_file_and_a_candidate_that_is_no_text_are_faults(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="neither KEY=VALUE nor a file"):
        config(["nowhere.json"])
    (tmp_path / "kernel.py").write_bytes(b"\xff\xfe")
    with pytest.raises(RequestError, match="UTF-8"):
        candidate(str(tmp_path / "kernel.py"))


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "0", "-1"])
@pytest.mark.parametrize("words", ["optimize --minutes", "optimize --usd", "optimize --gpu-seconds", "tune --minutes"])
def test_a_limit_that_would_never_be_reached_is_refused(words: str, value: str) -> None:
    result = run(*words.split(), value)
    assert result.exit_code == 2
    assert f"Invalid value for '{words.split()[1]}': " in result.stderr


def test_a_byte_order_mark_is_no_part_of_a_source_or_a_config(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text("x = 1\n", encoding="utf-8-sig")
    (tmp_path / "config.json").write_text('{"k.BLOCK": 64}', encoding="utf-8-sig")
    assert candidate(str(tmp_path / "kernel.py")).source == "x = 1\n"
    assert config([str(tmp_path / "config.json")]) == {"k.BLOCK": 64}
