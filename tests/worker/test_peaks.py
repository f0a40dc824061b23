"""The cache of measured peaks, which several workers of one machine may fill at once."""

from __future__ import annotations

import json
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
