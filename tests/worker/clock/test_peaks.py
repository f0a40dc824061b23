"""The cache of measured peaks, which several workers of one machine may fill at once."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from kernelwright.codec import decode
from kernelwright.worker.clock.captured import MeasuredPeaks
from kernelwright.worker.processes.channel import Message
from kernelwright.worker.processes.commands import Probed
from kernelwright.worker.processes.lease import Lease
from kernelwright.worker.processes.processes import Processes, peaks_file

pytest.importorskip("torch", reason="the worker needs torch: pip install -e '.[worker]'")


def test_workers_that_keep_peaks_at_the_same_time_leave_one_whole_file(tmp_path: Path) -> None:
    from kernelwright.worker.clock.peaks import keep

    path = tmp_path / "peaks" / "gpu.json"
    found = [MeasuredPeaks(peaks={"copy_bytes_per_s": float(one)}, source="x" * 20_000) for one in range(40)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda one: keep(one, path), found))
    assert decode(path.read_bytes(), MeasuredPeaks) in found
    assert list(path.parent.iterdir()) == [path]


class ProcessesOfTwoAnswers(Processes):
    """Whose judge finds other peaks in the file each time, as where another worker wrote it in between."""

    def __init__(self, machine: Probed) -> None:
        self.on_gpu, self.machine, self.lease, self.known_peaks = True, machine, Lease(None), None
        self.asked: list[str] = []

    def ask_judge(self, message: Message, timeout_s: float = 0.0, plan: Any = None) -> Any:
        self.asked.append(message.file)
        return MeasuredPeaks(peaks={"copy_bytes_per_s": float(len(self.asked))}, source="measured")


H200 = Probed(python="3.11", device="NVIDIA H200", uuid="GPU-1", driver="580.1", torch="2.11.0")


def test_a_worker_s_bounds_and_its_environment_say_the_same_peaks() -> None:
    processes = ProcessesOfTwoAnswers(H200)
    assert processes.peaks() == processes.peaks() == ({"copy_bytes_per_s": 1.0}, "measured")


@pytest.mark.parametrize("other", [{"uuid": "GPU-2"}, {"driver": "581.0"}, {"torch": "2.13.0"}])
def test_two_gpus_of_a_name_do_not_share_their_peaks(other: dict[str, str]) -> None:
    assert peaks_file(replace(H200, **other)) != peaks_file(H200)


@pytest.mark.parametrize("named", ["", "here"])
def test_a_cache_home_that_is_no_absolute_path_is_ignored(monkeypatch: pytest.MonkeyPatch, named: str) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", named)
    assert peaks_file(H200).is_relative_to(Path.home() / ".cache" / "kernelwright" / "peaks")
    monkeypatch.setenv("XDG_CACHE_HOME", "/c")
    assert peaks_file(H200).is_relative_to("/c/kernelwright/peaks")


def test_the_reading_kernel_reads_every_element(tmp_path: Path) -> None:
    """In a process of its own: whether Triton interprets is decided when it is imported."""
    program = """
import torch
from kernelwright.worker.clock.peaks import READERS, read
source = torch.randn(300_001)
for shape in READERS:
    sums = torch.zeros(512)
    read(source, sums, *shape)
    torch.testing.assert_close(sums.sum(), source.sum(), rtol=1e-4, atol=1e-2)
"""
    ran = subprocess.run([sys.executable, "-c", program], env=os.environ | {"TRITON_INTERPRET": "1"})
    assert ran.returncode == 0
