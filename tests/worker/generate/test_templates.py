"""The first config of a template."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from kernelwright.devices import TARGETS
from kernelwright.worker.generate.templates import BLOCKS, HALF_BLOCKS, stages


@pytest.mark.parametrize(("target", "half"), [("sm_80", 3), ("sm_86", 2), ("sm_89", 2), ("sm_90", 3), ("sm_120", 2)])
def test_stages_of_the_first_config_fit_the_shared_memory(
    monkeypatch: pytest.MonkeyPatch, target: str, half: int
) -> None:
    has_bytes = TARGETS[target].shared_bytes_per_block
    properties = SimpleNamespace(shared_memory_per_block_optin=has_bytes)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: properties)
    assert stages(HALF_BLOCKS, 2) == half
    assert stages(BLOCKS, 4) == 3
    assert (half + 1) * 32 * 1024 <= has_bytes
