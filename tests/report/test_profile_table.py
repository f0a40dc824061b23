"""The profile before and after."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kernelwright.journal import Journal, Profiles
from kernelwright.model import Budget, Counter, LaunchProfile, Profile
from kernelwright.report.page import html_page, markdown_page
from kernelwright.report.profile_table import profile_section
from kernelwright.report.view import RunView, read_run
from samples import passed, run_info, run_view, short_run


def launch(duration_us: float, read_bytes: float, kernel: str = "softmax_kernel") -> LaunchProfile:
    return LaunchProfile(
        kernel=kernel,
        counters=(
            Counter(name="duration", value=duration_us, unit="us", tool="ncu"),
            Counter(name="dram_read", value=read_bytes, unit="bytes", tool="ncu"),
            Counter(name="registers", value=40, unit="", tool="cuobjdump"),
        ),
    )


def profile(*launches: LaunchProfile, case: str = "square") -> Profile:
    return Profile(
        implementation="x", case=case, device="Fake GPU", target="sm_90", tool="ncu", launches=launches
    )  # fmt: skip


def measured(profiles: dict[int, tuple[Profile, ...]]) -> RunView:
    view = run_view(short_run(measured=True), {4: passed(26.0, measured=True)}, device="Fake GPU")
    return replace(view, profiles=profiles)


def test_profiles_come_from_the_journal(tmp_path: Path) -> None:
    seen = profile(launch(40.0, 6.7e7))
    with Journal.create(tmp_path / "run", run_info("Fake GPU")) as journal:
        seed = short_run(measured=True)[0]
        journal.append_started(Budget())
        journal.append_asked(seed.request)
        journal.append_proposed(0, seed.proposal)
        assert seed.evaluation is not None
        journal.append_evaluated(0, seed.evaluation)
        journal.append_told(0)
        journal.append_profiled(0, Profiles(profiles=(seen,)))
        view = read_run(journal)
    assert view.profiles == {0: (seen,)}
    assert profile_section(view) is not None


def test_the_starter_and_the_best_stand_side_by_side_with_what_holds_each_back() -> None:
    view = measured(
        {0: (profile(launch(40.0, 6.7e7)),), 1: (profile(launch(30.0, 5e7)),), 4: (profile(launch(25.0, 3.4e7)),)}
    )
    section = profile_section(view)
    assert section is not None
    assert section.grid.header == ("counter", "starter (0)", "best (4)", "read by")
    assert section.grid.rows == (
        ("duration", "40 µs", "25 µs", "ncu"),
        ("dram read", "67 MB", "34 MB", "ncu"),
        ("registers", "40", "40", "cuobjdump"),
    )
    assert [note.split(":")[0] for note in section.notes] == ["Trial 0, case square", "Trial 4, case square"]
    html = html_page(view)
    assert "Profile before and after" in html
    assert 'id="profile-1"' in html
    assert "Profile before and after" in markdown_page(view)


def test_where_the_best_was_not_profiled_its_nearest_ancestor_is_and_is_named() -> None:
    section = profile_section(measured({0: (profile(launch(40.0, 6e7)),), 1: (profile(launch(30.0, 5e7)),)}))
    assert section is not None
    assert section.grid.header == ("counter", "starter (0)", "trial 1", "read by")


def test_one_profile_stands_alone_and_two_cases_are_never_set_side_by_side() -> None:
    alone = profile_section(measured({1: (profile(launch(30.0, 5e7)),)}))
    other_case = profile_section(
        measured({0: (profile(launch(40.0, 6e7), case="odd"),), 1: (profile(launch(30.0, 5e7)),)})
    )
    for section in (alone, other_case):
        assert section is not None
        assert section.title == "Profile"
        assert section.grid.header == ("counter", "trial 1", "read by")


def test_of_several_launches_the_longest_is_shown() -> None:
    section = profile_section(measured({1: (profile(launch(3.0, 1e6, "small"), launch(27.0, 5e7)),)}))
    assert section is not None
    assert section.grid.rows[0][1] == "27 µs"
    assert "the longest of 2 launches" in section.notes[0]


def test_where_no_duration_was_read_the_counters_are_of_the_launch_that_is_diagnosed() -> None:
    small, large = (
        LaunchProfile(
            kernel=kernel, grid=(blocks,), block=(128,),
            counters=(Counter(name="registers", value=registers, unit="", tool="cuobjdump"),),
        )
        for kernel, blocks, registers in (("small", 1, 16), ("large", 4096, 200))
    )  # fmt: skip
    section = profile_section(measured({1: (profile(small, large),)}))
    assert section is not None
    assert section.grid.rows == (("registers", "200", "cuobjdump"),)


@pytest.mark.parametrize("profiles", [{}, {3: (profile(launch(32.0, 5e7)),)}, {1: (profile(),)}])
def test_without_a_profile_on_the_way_to_the_best_there_is_no_section(
    profiles: dict[int, tuple[Profile, ...]],
) -> None:
    assert profile_section(measured(profiles)) is None
