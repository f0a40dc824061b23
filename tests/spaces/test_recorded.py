"""Recorded spaces: what was measured comes back, and nothing else does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernelwright.errors import RequestError
from kernelwright.model import Environment, Status
from kernelwright.spaces.recorded import (
    Entry,
    RecordedDevice,
    RecordedResources,
    RecordedSpace,
    config_at,
    load,
    places,
    save,
)
from kernelwright.spaces.space import Parameter, Space, configs

SPACE = Space(
    parameters=(
        Parameter(name="BLOCK", choices=(64, 128, 256), default=128),
        Parameter(name="k.num_warps", choices=(4, 8), default=4),
    ),
    restrictions=("BLOCK <= 128 or k.num_warps == 8",),
)


def recorded_space() -> RecordedSpace:
    return RecordedSpace(
        problem="double",
        case="large",
        candidate="source text",
        environment=Environment(
            device="NVIDIA H200", target="sm_90", python="3.12", torch="2.11", triton="3.6", date="2026-11-21T10:00:00"
        ),
        kind="measured",
        space=SPACE,
        entries=(
            Entry(places=(1, 0), status=Status.PASSED, time_us=12.5, ci95_us=(12.4, 12.7), seconds=0.9,
                  footprint=RecordedResources(registers=64, spill_bytes=0, shared_bytes=1024, occupancy=0.5)),
            Entry(places=(0, 0), status=Status.PASSED, time_us=20.0),
            Entry(places=(2, 1), status=Status.COMPILE_ERROR, reason="out of shared memory"),
            Entry(places=(0, 1), status=Status.WRONG, reason="off by 3"),
        ),
    )  # fmt: skip


@pytest.mark.parametrize("name", ["space.json", "space.json.gz"])
def test_a_saved_space_comes_back_as_it_was(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    save(recorded_space(), file)
    back = load(file)
    assert sorted(back.entries, key=lambda one: one.places) == sorted(
        recorded_space().entries, key=lambda one: one.places
    )
    assert back.space == SPACE
    assert back.environment == recorded_space().environment
    assert back.best_us == 12.5
    assert back.candidate == recorded_space().candidate
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_the_same_record_is_the_same_file_whatever_the_order(tmp_path: Path) -> None:
    one = recorded_space()
    other = RecordedSpace(
        **{name: getattr(one, name) for name in one.__struct_fields__} | {"entries": one.entries[::-1]}
    )
    save(one, tmp_path / "one.json.gz")
    save(other, tmp_path / "other.json.gz")
    assert (tmp_path / "one.json.gz").read_bytes() == (tmp_path / "other.json.gz").read_bytes()


def test_entries_are_kept_compactly(tmp_path: Path) -> None:
    save(recorded_space(), tmp_path / "space.json")
    entries = json.loads((tmp_path / "space.json").read_text())["entries"]
    assert entries[2] == [[1, 0], "passed", 12.5, [12.4, 12.7], "", [64, 0, 1024, 0.5], 0.9]


def test_a_recorded_device_answers_what_was_measured_and_says_that_it_replays() -> None:
    device = RecordedDevice(recorded_space())
    found = device.measure({"BLOCK": 128, "k.num_warps": 4})
    assert (found.time_us, found.ci95_us, found.seconds) == (12.5, (12.4, 12.7), 0.9)
    assert found.footprint is not None
    assert found.footprint.registers == 64
    failed = device.measure({"BLOCK": 256, "k.num_warps": 8})
    assert (failed.status, failed.time_us, failed.reason) == (Status.COMPILE_ERROR, None, "out of shared memory")
    assert device.name == "NVIDIA H200, replayed (measured 2026-11-21)"


def test_a_recorded_device_never_guesses() -> None:
    device = RecordedDevice(recorded_space())
    with pytest.raises(RequestError, match="never measured"):
        device.measure({"BLOCK": 128, "k.num_warps": 8})
    with pytest.raises(RequestError, match="has no config"):
        device.measure({"BLOCK": 256, "k.num_warps": 4})
    with pytest.raises(RequestError, match="has no config"):
        device.measure({"BLOCK": 128})


def test_places_and_configs_are_inverse() -> None:
    for config in configs(SPACE):
        assert config_at(SPACE, places(SPACE, config)) == config


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"not json", "not a recorded space"),
        (b"\x1f\x8bnot gzip", "not a recorded space"),
        (b'{"schema_version": 1}', "not a recorded space"),
    ],
)
def test_a_damaged_file_is_named(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "bad.json.gz").write_bytes(content)
    with pytest.raises(RequestError, match=rf"bad\.json\.gz.*{words}"):
        load(tmp_path / "bad.json.gz")


def test_a_file_that_is_missing_or_of_another_version_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="No such file"):
        load(tmp_path / "none.json")
    save(recorded_space(), tmp_path / "space.json")
    text = (tmp_path / "space.json").read_text().replace('"schema_version":1', '"schema_version":99')
    (tmp_path / "space.json").write_text(text)
    with pytest.raises(RequestError, match="version 99"):
        load(tmp_path / "space.json")


def test_a_truncated_file_is_refused(tmp_path: Path) -> None:
    save(recorded_space(), tmp_path / "space.json.gz")
    data = (tmp_path / "space.json.gz").read_bytes()
    (tmp_path / "space.json.gz").write_bytes(data[: len(data) // 2])
    with pytest.raises(RequestError, match="not a recorded space"):
        load(tmp_path / "space.json.gz")
