"""Pictures of a run: what is in them, and that they are text that pages and readers can recolour."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import msgspec
import pytest

from kernelwright.model import Operator
from kernelwright.report.plots import draw_plots, write_plots
from kernelwright.report.plots.convergence import search_of
from kernelwright.report.plots.drawing import COLOURS, inline_svg, standalone_svg
from kernelwright.report.plots.roofline import draw_groups, groups_of
from kernelwright.report.view import RunView
from samples import failed, passed, run_view, short_run, trial

pytestmark = pytest.mark.rendered

SVG = "{http://www.w3.org/2000/svg}"


def measured() -> RunView:
    return run_view(short_run(measured=True), confirmed={4: passed(26.0, measured=True)}, device="Fake GPU")


def luminance(colour: str) -> float:
    """WCAG 2.1, relative luminance."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_the_lineage_goes_from_the_root_to_the_trial_by_first_parents() -> None:
    view = measured()
    assert view.lineage(view.trials[4]) == [0, 1, 4]
    assert view.lineage(view.trials[3]) == [0, 2, 3]
    assert view.lineage(None) == []


def test_every_trial_is_in_exactly_one_group_of_the_convergence_picture() -> None:
    found = search_of(measured())
    assert (found.starter, found.parents, found.best, found.others) == ({0: 40.0}, {1: 30.0}, {4: 25.0}, {3: 32.0})
    assert found.failed == [2, 5]
    assert found.best_so_far == [(0, 40.0), (1, 30.0), (4, 25.0)]
    assert found.bound_us == pytest.approx(16.0)


def test_the_roofline_shows_the_figure_that_is_reported() -> None:
    groups = groups_of(measured())
    assert {name: [point.time_us for point in group] for name, group in groups.items()} == {
        "starter": [40.0],
        "parents": [30.0],
        "best": [26.0],
    }


def test_a_roofline_of_one_case_says_the_share_of_each_in_its_key_and_of_none_beside_the_case() -> None:
    groups = groups_of(measured())
    shares = {name: round(100 * (group[0].share or 0)) for name, group in groups.items()}
    for one_case in (True, False):
        svg = inline_svg(draw_groups(groups, one_case=one_case), "roof", "A roof")
        words = re.findall(r"<text [^>]*>([^<]*)</text>", svg)
        keys = {f"{name} {share} %" if one_case else name for name, share in shares.items()}
        assert keys <= set(words)
        assert (groups["best"][0].case in words) == one_case


def test_both_slopes_of_the_roof_are_in_the_picture_of_flop() -> None:
    groups = groups_of(measured())
    peaks = {"bytes_per_s": 4e12, "flop_per_s": 8e14}
    under = {
        name: [msgspec.structs.replace(point, bound=msgspec.structs.replace(point.bound, **peaks)) for point in group]
        for name, group in groups.items()
    }
    (plot,) = draw_groups(under).axes
    low, high = plot.get_ylim()
    (left, right), roof = plot.get_xlim(), plot.lines[0].get_xydata()
    assert high > 800 > low
    assert left < 200 < right
    assert [tuple(place) for place in roof[1:]] == [(200.0, 800.0), (right, 800.0)]


def test_an_unconfirmed_kernel_is_not_called_the_best() -> None:
    view = run_view(short_run(measured=True), device="Fake GPU")
    assert "leader, unconfirmed" in groups_of(view)
    svg = draw_plots(view)[0].svg
    assert "leader, unconfirmed" in svg
    assert ">best<" not in svg


def test_both_pictures_are_drawn_of_measurements_and_none_of_estimates() -> None:
    assert [picture.name for picture in draw_plots(measured())] == ["convergence", "roofline"]
    assert draw_plots(run_view(short_run(), confirmed={4: passed(26.0)})) == []


def test_the_roofline_has_the_timed_cases_alone() -> None:
    view, best = measured(), passed(26.0, measured=True)
    held_out = msgspec.structs.replace(best.results[1], case="odd")
    view = run_view(view.trials, {4: msgspec.structs.replace(best, results=(*best.results, held_out))}, "Fake GPU")
    assert {point.case for group in groups_of(view).values() for point in group} == {"square"}


def test_every_point_of_the_convergence_leads_to_its_trial_on_the_page_and_not_from_a_file() -> None:
    svg = draw_plots(measured())[0].svg
    assert sorted(re.findall(r'<a href="#trial-(\d)"><title>trial \1</title>', svg)) == list("012345")
    assert "<a " not in standalone_svg(svg)


def test_a_roofline_without_stated_flop_shows_bytes() -> None:
    view = measured()
    cases = tuple(
        msgspec.structs.replace(info, flop=0, bound=msgspec.structs.replace(info.bound, flop=0))
        for info in view.info.problem.cases
    )
    problem = msgspec.structs.replace(view.info.problem, cases=cases)
    info = msgspec.structs.replace(view.info, problem=problem)
    plain = run_view(view.trials, view.confirmed | {}, device="Fake GPU")
    bytes_view = RunView(**{**vars(plain), "info": info})
    svg = {picture.name: picture.svg for picture in draw_plots(bytes_view)}["roofline"]
    assert "MB that the work must move" in svg
    assert "FLOP per byte" in {picture.name: picture.svg for picture in draw_plots(view)}["roofline"]


def test_nothing_is_drawn_where_nothing_passed() -> None:
    seed = trial(0, failed(), round=0, operator=Operator.SEED, parents=())
    assert draw_plots(run_view((seed,))) == []
    assert draw_plots(run_view(())) == []


def test_a_picture_is_the_same_every_time_and_its_ids_are_its_own() -> None:
    first, second = draw_plots(measured()), draw_plots(measured())
    assert [picture.svg for picture in first] == [picture.svg for picture in second]
    ids = [set(re.findall(r'\bid="([^"]+)"', picture.svg)) for picture in first]
    assert ids[0].isdisjoint(ids[1])
    assert all(re.findall(r'(?:href="#|url\(#)([^")]+)', picture.svg) for picture in first)
    for picture, own in zip(first, ids, strict=True):
        assert set(re.findall(r'(?:xlink:href="#|url\(#)([^")]+)', picture.svg)) <= own


def test_files_are_svg_that_follows_light_and_dark_and_png(tmp_path: Path) -> None:
    files = write_plots(draw_plots(measured()), tmp_path)
    assert sorted(file.name for file in files) == [
        "convergence.png", "convergence.svg", "roofline.png", "roofline.svg",
    ]  # fmt: skip
    for file in files:
        if file.suffix == ".png":
            assert file.read_bytes().startswith(b"\x89PNG\r\n")
        else:
            root = ElementTree.fromstring(file.read_text())
            assert root.tag == f"{SVG}svg"
            assert root.find(f"{SVG}rect") is not None
            assert "prefers-color-scheme: dark" in file.read_text()
    write_plots([], tmp_path)
    assert list(tmp_path.iterdir()) == [], "pictures that no longer apply are gone"


def test_every_colour_of_a_picture_can_be_changed_by_the_page() -> None:
    for picture in draw_plots(measured()):
        fixed = re.sub(r"var\(--plot-[^)]*\)", "", standalone_svg(picture.svg).partition("</style>")[2])
        assert re.findall(r"#[0-9a-f]{6}\b", fixed) == []


@pytest.mark.parametrize("shade", ["light", "dark"])
def test_marks_and_words_stand_out_from_their_paper(shade: str) -> None:
    colours = {name: getattr(colour, shade) for name, colour in COLOURS.items()}
    paper, _ = colours.pop("paper"), colours.pop("grid")
    assert contrast(colours["ink"], paper) >= 4.5
    assert {name: contrast(colour, paper) for name, colour in colours.items() if contrast(colour, paper) < 3} == {}
