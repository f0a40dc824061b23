"""The report page as a reader has it: opened from a disk, in a real Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import scripts
from browser import DESK, PHONE, chromium, visit
from kernelwright.journal import Journal
from kernelwright.report.page import html_page
from kernelwright.report.view import RunView, read_run
from samples import passed, run_view, short_run

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.rendered

ROOT = Path(__file__).resolve().parents[3]
# Trial 25 was written in reply to a prompt that showed trial 24; a tuning of it, 27, is the best.
REAL_RUN = ROOT / "gallery" / "max_pool3d" / "runs" / "mailbox"
EXAMPLE = ROOT / "docs" / "example" / "report.html"
SIZES = {"desk": DESK, "phone": PHONE}
FIRST_SCREEN = {"width": 1280, "height": 800}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as one:
        yield one


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The report of a run that was measured on an H200, with prompts and replies."""
    with Journal.open(REAL_RUN) as journal:
        return written(read_run(journal), tmp_path_factory.mktemp("page"))


def written(view: RunView, folder: Path) -> str:
    file = folder / "report.html"
    file.write_text(html_page(view), encoding="utf-8")
    return file.as_uri()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_it_opens_without_a_fault_fetches_nothing_and_fits(browser: Browser, url: str, dark: bool, size: str) -> None:
    with visit(browser, url, dark, SIZES[size]) as seen:
        assert seen.page.locator("#verdict").is_visible()
        assert seen.page.locator("svg.plot").count() == 2
        width, room = seen.page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
        assert width <= room, "the page itself never scrolls sideways; wide tables do, in their own frame"
        assert seen.faults == []
        assert seen.requests == [url]


def test_the_paper_follows_light_and_dark_and_so_do_the_pictures(browser: Browser, url: str) -> None:
    found = []
    for dark in (False, True):
        with visit(browser, url, dark) as seen:
            paper = seen.page.locator("body").evaluate("e => getComputedStyle(e).backgroundColor")
            ink = seen.page.locator("svg.plot text").first.evaluate("e => getComputedStyle(e).fill")
            found.append((paper, ink))
    (light_paper, light_ink), (dark_paper, dark_ink) = found
    assert light_paper == "rgb(255, 255, 255)"
    assert light_paper != dark_paper
    assert light_ink != dark_ink


def test_the_tree_folds_and_unfolds(browser: Browser, url: str) -> None:
    with visit(browser, url) as seen:
        best = seen.page.locator("#trial-27")
        assert best.is_visible()
        seen.page.locator("#trial-24 > summary").click()
        assert not best.is_visible()
        seen.page.locator("#trial-24 > summary").click()
        assert best.is_visible()
        seen.page.get_by_role("button", name="fold all", exact=True).click()
        assert not seen.page.locator("#trial-24").is_visible()
        seen.page.get_by_role("button", name="unfold all").click()
        assert best.is_visible()
        assert seen.faults == []


def test_a_diff_shows_what_changed_and_prompts_are_folded_away(browser: Browser, url: str) -> None:
    with visit(browser, url) as seen:
        page = seen.page
        assert not page.locator("#diff-25-24").is_visible()
        page.locator("#look-25 > summary").click()
        assert page.locator("#diff-25-24 .diff").is_visible()
        assert page.locator("#diff-25-24 .diff .added").count() > 0
        assert page.locator("#diff-25-24 .diff .removed").count() > 0
        added, kept = (
            page.locator(f"#diff-25-24 .diff .{kind}").first.evaluate("e => getComputedStyle(e).backgroundColor")
            for kind in ("added", "kept")
        )
        assert added != kept
        assert not page.locator("#prompt-25 pre").is_visible()
        page.locator("#prompt-25 > summary").click()
        assert page.locator("#prompt-25 pre").is_visible()


def test_it_is_whole_without_javascript(browser: Browser, url: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(url)
    page.locator("#look-25 > summary").click()
    assert page.locator("#diff-25-24 .diff").is_visible()
    assert not page.get_by_role("button", name="fold all", exact=True).is_visible()
    context.close()


def test_a_hostile_candidate_runs_nothing_even_if_escaping_failed(browser: Browser, tmp_path: Path) -> None:
    """The policy is the second wall: markup is put into the finished page, as if the first had a hole."""
    file = tmp_path / "report.html"
    attack = (
        "<script>document.title = 'taken'</script><img src='http://127.0.0.1:9/x' onerror=\"document.title = 'taken'\">"
    )
    html = html_page(run_view(short_run(measured=True), {4: passed(26.0, measured=True)}, device="Fake GPU"))
    file.write_text(html.replace("<section", attack + "<section", 1), encoding="utf-8")
    with visit(browser, file.as_uri()) as seen:
        assert "taken" not in seen.page.title()
        assert any("Content Security Policy" in fault for fault in seen.faults)


@pytest.mark.parametrize("size", [FIRST_SCREEN, PHONE], ids=["desk", "phone"])
def test_the_first_screen_has_verdict_times_kernel_and_finding(
    browser: Browser, url: str, size: dict[str, int]
) -> None:
    with visit(browser, url, False, size) as seen:
        columns = seen.page.locator("#times thead th")
        assert columns.all_inner_texts()[:5] == ["case", "ours", "eager", "compile", "max-autotune"]
        cells = seen.page.locator("#times tbody td")
        asked = [seen.page.locator(one) for one in ("#verdict", "#finding h2 + .caption")]
        for one in (*asked, *(each.nth(place) for each in (columns, cells) for place in range(5))):
            box = one.bounding_box()
            assert box is not None
            assert box["x"] + box["width"] <= size["width"]
            assert box["y"] + box["height"] <= size["height"]
        kernel = seen.page.locator("#kernel-source").bounding_box()
        assert kernel is not None
        assert size["height"] - kernel["y"] >= 60, "three lines of it"


def test_a_point_of_the_picture_leads_to_its_trial_and_opens_it(browser: Browser, url: str) -> None:
    with visit(browser, url) as seen:
        trial = seen.page.locator("#look-31 > .facts")
        assert not trial.is_visible(), "it is a tuning that folds"
        seen.page.locator("#convergence a[href='#trial-31']").dispatch_event("click")
        trial.wait_for()
        box = seen.page.locator("#trial-31").bounding_box()
        assert box is not None
        assert -1 <= box["y"] < DESK["height"]
        assert seen.faults == []


def test_a_long_tree_is_folded_on_a_phone_and_open_on_a_desk(browser: Browser, url: str) -> None:
    heights = []
    for size in (PHONE, DESK):
        with visit(browser, url, False, size) as seen:
            open_branches = seen.page.locator("details.branch[open]").count()
            heights.append(seen.page.evaluate("document.documentElement.scrollHeight"))
            assert (open_branches == 0) == (size is PHONE)
    assert heights[0] < 6000


def test_the_page_uses_its_width_on_a_desk(browser: Browser, url: str) -> None:
    with visit(browser, url, False, FIRST_SCREEN) as seen:
        left, right = (seen.page.locator(f"#{one} svg").bounding_box() for one in ("convergence", "roofline"))
        assert left is not None
        assert right is not None
        assert abs(left["y"] - right["y"]) < 2
        assert right["x"] + right["width"] > 1150


def test_the_pictures_of_the_docs_are_small_and_are_those_that_the_program_makes() -> None:
    pictures = {file.stem: file.stat().st_size for file in EXAMPLE.parent.glob("*.png")}
    made = scripts.script("report_pictures", ROOT / "docs")
    assert {*made.PICTURES, "convergence", "roofline"} == set(pictures)
    assert [name for name, size in pictures.items() if size > 150_000] == []


def test_the_example_in_the_docs_is_such_a_page(browser: Browser, url: str) -> None:
    verdicts = []
    for address in (EXAMPLE.as_uri(), url):
        with visit(browser, address) as seen:
            assert seen.faults == []
            assert seen.requests == [address]
            verdicts.append(seen.page.locator("#verdict").inner_text())
    assert verdicts[0] == verdicts[1], "make example"
