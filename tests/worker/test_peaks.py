"""The cache of measured peaks, which several workers of one machine may fill at once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the worker needs torch: pip install -e '.[worker]'")


def test_workers_that_keep_peaks_at_the_same_time_leave_one_whole_file(tmp_path: Path) -> None:
    from kernelwright.worker.peaks import keep

    path = tmp_path / "peaks" / "gpu.json"
    found = [{"peaks": {"copy_bytes_per_s": float(number)}, "source": "x" * 20_000} for number in range(40)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda one: keep(one, path), found))
    assert json.loads(path.read_text()) in found
    assert list(path.parent.iterdir()) == [path]


def test_the_reading_kernel_reads_every_element(tmp_path: Path) -> None:
    """In a process of its own: whether Triton interprets is decided when it is imported."""
    program = """
import torch
from kernelwright.worker.peaks import READERS, read
source = torch.randn(300_001)
for shape in READERS:
    sums = torch.zeros(512)
    read(source, sums, *shape)
    torch.testing.assert_close(sums.sum(), source.sum(), rtol=1e-4, atol=1e-2)
"""
    ran = subprocess.run([sys.executable, "-c", program], env=os.environ | {"TRITON_INTERPRET": "1"})
    assert ran.returncode == 0
