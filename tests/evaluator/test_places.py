"""What `--gpus` and `--workers` name; GPUs are identified by their UUID."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from kernelwright.errors import KernelwrightError, RequestError
from kernelwright.evaluator.client import LAUNCHERS
from kernelwright.evaluator.places import SSH, Gpu, Lane, choose, find_gpus, lanes_at, start_lanes
from kernelwright.jobs.worker import lanes_on

GPUS = [
    Gpu("GPU-5f0e0000-1", "NVIDIA H200"),
    Gpu("GPU-5f0e0000-2", "NVIDIA H200"),
    Gpu("GPU-91c20000-3", "NVIDIA H200"),
]


@pytest.mark.parametrize(
    ("typed", "numbers"),
    [("all", [0, 1, 2]), ("1", [0]), ("3", [0, 1, 2]), ("GPU-91c2", [2]), ("91c2", [2]),
     ("GPU-91c20000-3, GPU-5f0e0000-1", [2, 0])],
)  # fmt: skip
def test_gpus_are_chosen_by_number_or_uuid(typed: str, numbers: list[int]) -> None:
    assert choose(typed, GPUS) == [Lane(GPUS[n].uuid, GPUS[n].uuid) for n in numbers]


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("0", "shows 3"),
        ("4", "shows 3"),
        ("-1", "no GPU"),
        ("", "no GPU"),
        ("GPU-7", "no GPU of this machine, which shows GPU-5f0e0000-1, GPU-5f0e0000-2, GPU-91c20000-3"),
        ("GPU-5f0e", "several GPUs"),
        ("91c2,GPU-91c2", "twice"),
        ("all,1", "no GPU"),
    ],
)
def test_what_is_not_there_is_refused_with_what_is(typed: str, words: str) -> None:
    with pytest.raises(RequestError, match=words):
        choose(typed, GPUS)


def test_without_a_gpu_a_number_is_that_of_workers_that_interpret() -> None:
    assert choose("all", []) == [Lane("CPU 1", None)]
    assert choose("2", [], cores=2) == [Lane("CPU 1", None), Lane("CPU 2", None)]
    with pytest.raises(RequestError, match="which shows none"):
        choose("GPU-5f0e", [])


@pytest.mark.parametrize("typed", ["3", "100000", "9" * 5000])
def test_without_a_gpu_there_are_no_more_workers_than_cores(typed: str) -> None:
    with pytest.raises(RequestError, match="of which 2 are here") as error:
        choose(typed, [], cores=2)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("typed", ["argv:true*1025", "ssh:box*100000", "ray*" + "9" * 5000])
def test_more_places_than_a_fleet_was_made_for_are_refused(typed: str) -> None:
    with pytest.raises(RequestError, match="at most 1024"):
        lanes_at(typed)
    with pytest.raises(RequestError, match="name 1025 places, at most 1024"):
        lanes_on(None, ["argv:true*1000", "argv:false*25"])
    assert len(lanes_on(None, ["argv:true*1000", "argv:false*24"])) == 1024


def words_of(lane: Lane) -> list[str]:
    """What the shell of an ssh lane's host reads."""
    assert lane.argv[: len(SSH)] == SSH
    assert lane.argv[-3] == "--"
    return shlex.split(lane.argv[-1])


def test_a_host_has_one_lane_or_one_for_each_gpu() -> None:
    (alone,) = lanes_at("ssh:me@gpubox")
    assert alone.argv[-2] == "me@gpubox"
    assert words_of(alone) == ["python3", "-P", "-m", "kernelwright.worker"]
    lanes = lanes_at("ssh:gpubox?python=/opt/my kw's/python*3")
    assert [lane.name for lane in lanes] == ["gpubox 1", "gpubox 2", "gpubox 3"]
    assert [words_of(lane)[-4:] for lane in lanes] == [["--gpu", str(n), "--share", "3"] for n in range(3)]
    assert {words_of(lane)[0] for lane in lanes} == {"/opt/my kw's/python"}


def test_a_command_is_split_as_a_shell_does_and_started_as_often_as_is_said() -> None:
    lanes = lanes_at("argv:srun --gres=gpu:1 'my python' -m kernelwright.worker*8")
    assert len({lane.name for lane in lanes}) == 8
    assert {lane.argv for lane in lanes} == {("srun", "--gres=gpu:1", "my python", "-m", "kernelwright.worker")}
    assert lanes_at("argv:sh -c 'exec a?python=b'")[0].argv == ("sh", "-c", "exec a?python=b")


@pytest.mark.parametrize(
    "typed", ["", "ssh:", "argv:", "argv: ", "rays", "ray*0", "ssh::ray", "gpubox", "ssh:-oProxyCommand=x", "ssh:a b",
              "ssh:box*0", "argv:'open"]
)  # fmt: skip
def test_what_is_no_place_is_refused_with_what_is_one(typed: str) -> None:
    with pytest.raises(RequestError) as error:
        lanes_at(typed)
    assert "ssh:HOST" in (error.value.hint or "")


def test_a_ray_cluster_is_reached_by_a_gateway_here_or_on_its_head() -> None:
    there = ["env", "RAY_AUTH_MODE=token", "python3", "-P", "-m", "kernelwright.evaluator.ray_place"]
    (alone,) = lanes_at("ray")
    argv = ("env", "RAY_AUTH_MODE=token", sys.executable, *there[3:])
    assert alone == Lane("ray", argv=argv)
    assert [lane.name for lane in lanes_at("ray*2")] == ["ray 1", "ray 2"]
    lanes = lanes_at("ssh:me@head:ray*3")
    assert [lane.name for lane in lanes] == ["me@head:ray 1", "me@head:ray 2", "me@head:ray 3"]
    assert {lane.argv[-2] for lane in lanes} == {"me@head"}
    assert all(words_of(lane) == there for lane in lanes), "Ray gives each its GPU and cores"
    assert words_of(lanes_at("ssh:head:ray?python=/opt/kw/python")[0])[2] == "/opt/kw/python"


def test_the_client_of_ray_is_answered_with_what_to_type_instead() -> None:
    with pytest.raises(RequestError) as error:
        lanes_at("ray://head:10001")
    assert "ssh:HEAD:ray*4" in (error.value.hint or "")
    assert "\n" not in str(error.value)


def test_a_target_that_a_shell_would_read_otherwise_and_a_place_named_twice_start_nothing() -> None:
    with pytest.raises(RequestError, match="no target"):
        start_lanes(lanes_at("ssh:nowhere"), "sm_90; reboot")
    with pytest.raises(RequestError, match="named twice"):
        start_lanes([*lanes_at("ssh:nowhere"), *lanes_at("ssh:nowhere")])


def test_lanes_of_this_machine_share_its_cores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = tmp_path / "words"
    monkeypatch.setitem(LAUNCHERS, "local", lambda: ["sh", "-c", f'echo "$@" >> {words}', "worker"])
    with pytest.raises(KernelwrightError):
        start_lanes(choose("2", [], cores=2))
    assert set(words.read_text().splitlines()) == {"--share 2"}


@pytest.mark.process
def test_the_gpus_of_this_machine_are_listed_by_uuid() -> None:
    found = find_gpus()
    assert len({gpu.uuid for gpu in found}) == len(found)
    assert all(gpu.uuid.startswith("GPU-") and gpu.name for gpu in found)
