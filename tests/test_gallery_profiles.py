"""`benchmarks/gallery_profiles.py`: tables of what profilers read, with profiles that were taken on an H200."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import scripts
from fakes import ENVIRONMENT
from kernelwright.codec import plain
from kernelwright.model import Case, CaseInfo, LaunchProfile, ProblemInfo, Profile, Timing
from kernelwright.report.profiled import document, profiled
from kernelwright.roofline import bound
from profiles import recorded

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "benchmarks" / "gallery_profiles.py"
PEAKS = {"copy_bytes_per_s": 4e12, "read_bytes_per_s": 4e12, "write_bytes_per_s": 4e12, "bfloat16_flop_per_s": 8e14}
INFO = CaseInfo(
    case=Case(name="big"), inputs=(), outputs=(), bytes=8_000_000, flop=0,
    bound=bound(8_000_000, 4_000_000, {}, PEAKS, "measured"),
)  # fmt: skip


@pytest.fixture(scope="module")
def pages() -> ModuleType:
    return scripts.script("gallery_profiles")


def made(**launches: tuple[LaunchProfile, ...]) -> dict[str, Any]:
    """A document of implementations that took 4 µs each."""
    timing = Timing(kind="measured", median_us=4.0)
    rows = [
        profiled(name, INFO, timing, Profile(case="big", implementation=name, launches=seen, tool="ncu", target="sm_90",
                 device="Fake GPU"),
                 ENVIRONMENT)
        for name, seen in launches.items()
    ]  # fmt: skip
    problem = ProblemInfo(name="double", format="native", source="", cases=(INFO,))
    found: dict[str, Any] = plain(document(problem, ENVIRONMENT, rows, None))
    return found


def cells(text: str, label: str) -> list[str]:
    """Of the row with that label."""
    line = next(line for line in text.splitlines() if line.startswith(f"| {label} |"))
    return [cell.strip() for cell in line.strip("|").split("|")[1:]]


def test_bytes_are_of_all_launches_and_the_rest_of_the_longest(pages: ModuleType) -> None:
    short, long = recorded("softmax-best")[0], recorded("depthwise_conv2d-starter")[0]
    assert (short.value("duration") or 0) < (long.value("duration") or 0)
    text = pages.section(made(one=(long,), two=(short, long)))
    assert cells(text, "launches") == ["1", "2"]
    one, two = (sum(launch.value("dram_read") or 0 for launch in seen) for seen in ((long,), (short, long)))
    assert cells(text, "DRAM, read") == [f"{one / 1e6:.3g} MB", f"{two / 1e6:.3g} MB"]
    registers = cells(text, "registers a thread")
    assert registers[0] == registers[1] != "-"
    assert cells(text, "share of the limit") == ["50 %", "50 %"]


def test_a_counter_that_was_not_read_is_a_dash_and_a_row_of_dashes_is_left_out(pages: ModuleType) -> None:
    read = recorded("softmax-best")[0]
    bare = LaunchProfile(kernel="k")
    text = pages.section(made(one=(read,), two=(bare,)))
    assert cells(text, "DRAM, read")[1] == "-"
    assert "DRAM, read" not in pages.section(made(two=(bare,)))


@pytest.mark.parametrize(
    ("kernel", "name"),
    [
        ("void at::native::vectorized_elementwise_kernel<4, at::Op<float>>(int, T1)", "vectorized_elementwise_kernel"),
        ("void (anonymous namespace)::softmax_warp_forward<1>(float*)", "softmax_warp_forward"),
        ("softmax_kernel", "softmax_kernel"),
    ],
)
def test_a_kernel_is_called_what_its_source_calls_it(pages: ModuleType, kernel: str, name: str) -> None:
    assert pages.shortened(kernel) == name


def test_a_section_replaces_itself_and_comes_before_what_is_left(pages: ModuleType) -> None:
    page = "# P\n\n## What still separates it from the limit\n\nMuch.\n"
    once = pages.with_section(page, "first")
    assert once.index("first") < once.index("## What still separates")
    assert pages.with_section(once, "second") == once.replace("first", "second")
    assert pages.with_section("# P\n", "first").endswith("first\n\n<!-- profile: end -->\n")


def test_a_page_is_stale_until_it_says_what_its_kept_profile_says(pages: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    page = tmp_path / "gallery" / "double" / "README.md"
    page.parent.mkdir(parents=True)
    page.write_text("# Double\n")
    profile = made(best=recorded("softmax-best")) | {"environment": plain(ENVIRONMENT) | {"device": "Fake GPU"}}
    (tmp_path / "out" / "double.json").write_text(json.dumps(profile))
    assert pages.stale(page.parents[1]) == {}
    pages.place(tmp_path / "out", page.parents[1])
    text = pages.stale(page.parents[1])[page]
    assert pages.section(profile) in text
    page.write_text(text)
    assert pages.stale(page.parents[1]) == {}
    page.write_text(text.replace("50 %", "60 %"))
    assert pages.stale(page.parents[1]) == {page: text}


def test_a_document_in_which_nothing_was_profiled_is_not_kept(pages: ModuleType, tmp_path: Path) -> None:
    for device, reason in (("Fake GPU", "holds no launch"), (None, "without a GPU")):
        document = made(best=()) | {"environment": plain(ENVIRONMENT) | {"device": device}}
        (tmp_path / "double.json").write_text(json.dumps(document))
        with pytest.raises(SystemExit, match=reason):
            pages.place(tmp_path, tmp_path / "gallery")
    assert not (tmp_path / "gallery").exists()


def test_no_page_of_the_gallery_is_stale() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
