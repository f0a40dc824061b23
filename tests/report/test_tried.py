"""What is said of a torch or Triton that is newer than those tried."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from fakes import ENVIRONMENT
from kernelwright.report.evaluation import TRIED, environment_settings, newer_text

ROOT = Path(__file__).parents[2]


def newer_of(torch: str = "2.9.0", triton: str = "3.5.0") -> str:
    return newer_text(msgspec.structs.replace(ENVIRONMENT, torch=torch, triton=triton))


def test_a_newer_version_is_named_beside_the_newest_that_was_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TRIED, "torch", "2.15")
    monkeypatch.setitem(TRIED, "triton", "3.9")
    assert newer_of("2.16.0+cu131") == "torch 2.16.0+cu131 is newer than 2.15, the newest that was tried"
    assert newer_of("3.0.0", "3.10.0a0").count("is newer than") == 2


@pytest.mark.parametrize("torch", ["2.9.0", "2.15.0", "2.15.7+cpu", "2.15.0a0+git12", "unknown", ""])
def test_nothing_is_said_of_a_version_that_was_tried_or_is_not_known(
    torch: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(TRIED, "torch", "2.15")
    assert newer_of(torch) == ""


def test_doctor_and_reports_show_it_beside_the_versions() -> None:
    assert "versions" not in environment_settings(ENVIRONMENT)
    settings = environment_settings(msgspec.structs.replace(ENVIRONMENT, triton="99.0"))
    assert settings["versions"].startswith("triton 99.0 is newer than")


def test_the_tests_run_with_no_newer_version() -> None:
    """`make newest` tries versions first; then requirements/tested.txt may name them."""
    tested = dict(
        re.findall(r"^(torch|triton)==(\S+)$", (ROOT / "requirements" / "tested.txt").read_text(), re.MULTILINE)
    )
    assert tested.keys() == TRIED.keys()
    assert newer_of(**tested) == ""
