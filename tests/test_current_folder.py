"""No Python process that kernelwright starts imports a file of the current folder, nor has a key of a provider."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kernelwright.errors import KernelwrightError, MachineError
from kernelwright.evaluator import ray_place
from kernelwright.evaluator.client import start_worker
from kernelwright.evaluator.places import find_gpus, lanes_at, start_lanes
from kernelwright.evaluator.relay import Stream
from kernelwright.model import Candidate, Status
from kernelwright.python import named_variables, python, run_module, without_keys
from kernelwright.worker.gpus import uuid_of
from kernelwright.worker.processes.limits import Limits
from kernelwright.worker.profile import ncu
from kernelwright.worker.profile.job import Job
from kernelwright.worker.profile.protocol import CannotProfile
from kernelwright.worker.profile.run import run_program
from on_device import KERNEL, doubling

pytestmark = pytest.mark.process

SRC = Path(__file__).parents[1] / "src/kernelwright"
NAMES = ("torch", "triton", "json", "kernelwright", "sitecustomize", "ray", "numpy", "runpy", "enum", "msgspec")
SECRET = "a key that stays here"


@pytest.fixture
def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file in which the files of the current folder write their names; PYTHONPATH ends in an empty entry."""
    found = tmp_path / "ran"
    folder = tmp_path / "hostile"
    folder.mkdir()
    for name in NAMES:
        (folder / f"{name}.py").write_text(f"open({str(found)!r}, 'a').write({name + chr(10)!r})\n")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PYTHONPATH", f"{os.environ.get('PYTHONPATH', '')}:{tmp_path}:")
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    return found


def test_the_files_of_these_tests_run_where_a_process_is_started_otherwise(ran: Path) -> None:
    subprocess.run([sys.executable, "-c", "import json"], check=False, capture_output=True)
    assert ran.read_text().split() == ["sitecustomize", "json"]


def test_one_file_knows_the_path_of_this_python() -> None:
    found = [file.relative_to(SRC).as_posix() for file in SRC.rglob("*.py") if "sys.executable" in file.read_text()]
    assert found == ["python.py"]


def test_a_worker_and_its_children_import_none(ran: Path, tmp_path: Path) -> None:
    (tmp_path / "problem.py").write_text(doubling(1 << 13))
    with start_worker() as worker:
        worker.load(str(tmp_path / "problem.py"))
        worker.machine()
        worker.generate()
        assert worker.evaluate(Candidate(source=KERNEL), "verify").status is Status.PASSED
        environment = Path(f"/proc/{worker.process.pid}/environ").read_text()
    assert SECRET not in environment
    assert not ran.exists()


def test_programs_that_list_gpus_import_none(ran: Path) -> None:
    find_gpus()
    with pytest.raises(MachineError, match="there is no GPU 99"):
        uuid_of(99)
    assert not ran.exists()


def test_a_worker_that_a_command_starts_imports_none(ran: Path) -> None:
    with pytest.raises(MachineError):
        start_lanes(lanes_at(f"argv:nice {sys.executable} -m kernelwright.worker --gpu 99"))
    assert not ran.exists()


def test_a_worker_on_a_host_imports_none() -> None:
    for place in ("ssh:gpubox", "ssh:gpubox*2", "ssh:head:ray", "ray"):
        assert all("-P" in " ".join(lane.argv).split() for lane in lanes_at(place)), place


def test_a_package_s_programs_import_none_and_have_no_key(ran: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/check.py").write_text("import json, os\nprint(os.environ.get('OPENAI_API_KEY'))\n")
    lines: list[str] = []
    assert run_module(tmp_path, "mine.check", [], lines.append) == 0
    assert lines == ["None"]
    assert not ran.exists()


def test_what_a_profiler_starts_imports_none(ran: Path) -> None:
    tool = Path("ncu.sh").resolve()
    tool.write_text('#!/bin/sh\nwhile [ "$1" != "$KERNELWRIGHT_PROGRAM" ]; do shift; done\nexec "$@"\n')
    tool.write_text(tool.read_text().replace("$KERNELWRIGHT_PROGRAM", python()[0]))
    tool.chmod(0o755)
    site: Any = SimpleNamespace(scratch=Path.cwd(), limits=Limits(), lease=MutexOfNobody())
    job = Job(problem="none.py", case="none", device="cpu", marks="none")
    with pytest.raises(CannotProfile):
        run_program(site, job)
    with pytest.raises(CannotProfile):
        ncu.tried(site, str(tool))
    assert not ran.exists()


class MutexOfNobody:
    def __enter__(self) -> None: ...

    def __exit__(self, *error: object) -> None: ...


RAY = """\
import os, sys, types

exceptions = types.SimpleNamespace(RayError=RuntimeError, GetTimeoutError=TimeoutError)


def init(**options):
    if os.environ.get("RAY_AUTH_MODE") != "token":
        sys.exit(print("AuthenticationError", flush=True))
    open(os.environ["RAY_FOLDER"], "a").write(os.getcwd() + "\\n")


def remote(**options):
    raise RuntimeError("no more is needed")
"""


def test_a_gateway_to_ray_gives_its_actors_no_folder_of_the_user(
    ran: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "installed").mkdir()
    (tmp_path / "installed/ray.py").write_text(RAY)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path / 'installed'}::")
    monkeypatch.setenv("RAY_FOLDER", str(tmp_path / "folders"))
    with pytest.raises(KernelwrightError):
        start_lanes(lanes_at("ray"))
    assert set((tmp_path / "folders").read_text().split()) == {"/"}
    assert not ran.exists()


def test_an_actor_of_ray_starts_its_worker_so(ran: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context = SimpleNamespace(get_node_id=lambda: "here")
    nodes = [{"NodeID": "here", "Resources": {"GPU": 1}}]
    fake = SimpleNamespace(get_runtime_context=lambda: context, nodes=lambda: nodes)
    monkeypatch.setattr(ray_place, "ray", fake)
    monkeypatch.setenv("RAY_AUTH_TOKEN", SECRET)
    actor = ray_place.WorkerActor()
    actor.start(["--gpu", "99"])
    assert actor.worker is not None
    environment = Path(f"/proc/{actor.worker._process.pid}/environ").read_text()
    lines: list[tuple[str, str]] = []
    while Stream.END.value not in dict(lines):
        lines += actor.receive()
    assert "there is no GPU 99" in str(lines)
    assert SECRET not in environment
    assert not ran.exists()


def test_a_list_of_folders_loses_its_empty_entries_and_only_those(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/a::src:")
    monkeypatch.setenv("LD_LIBRARY_PATH", ":/cuda")
    monkeypatch.setenv("PATH", "/bin:.:")
    for found in (named_variables(), without_keys()):
        assert (found["PYTHONPATH"], found["LD_LIBRARY_PATH"], found["PATH"]) == ("/a:src", "/cuda", "/bin:.")
        assert found["PYTHONSAFEPATH"] == "1"


def test_a_command_of_the_user_s_has_everything_but_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SSH_AUTH_SOCK", "SLURM_JOB_ID", "RAY_AUTH_TOKEN", "OPENAI_API_KEY", "my_key", "HF_TOKEN"):
        monkeypatch.setenv(name, SECRET)
    found = without_keys()
    assert {"SSH_AUTH_SOCK", "SLURM_JOB_ID", "RAY_AUTH_TOKEN"} <= found.keys()
    assert not {"OPENAI_API_KEY", "my_key", "HF_TOKEN"} & found.keys()
