"""The report as a page: what stands on it, and that nothing a run holds is markup there."""

from __future__ import annotations

import base64
import hashlib
import re
import sys
from html.parser import HTMLParser

import msgspec
import pytest

from kernelwright.model import Candidate, Proposal, Trial
from kernelwright.report.content import cases_section, content_of
from kernelwright.report.page import html_page, markdown_page
from kernelwright.report.several import Line, several_page
from kernelwright.report.state import State
from kernelwright.report.view import RunView
from kernelwright.text.escape import ACTS
from samples import failed, passed, run_view, short_run

pytestmark = pytest.mark.rendered

HOSTILE = "</pre></details><script>alert(1)</script><img src=x onerror=alert(1)> |`*_[x](javascript:1)"
OPEN_ENDED = {"meta", "link", "img", "br"}


class Elements(HTMLParser):
    """Which elements a page has, and that each is closed where it should be."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in OPEN_ENDED:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.seen if name == tag]


def measured(**settings: object) -> RunView:
    texts = {"p": "what was asked", "r": "what came back"}
    trials = list(short_run(measured=True))
    trials[4] = with_proposal(trials[4], prompt="p", reply="r")
    confirmed = {4: passed(26.0, measured=True)}
    return run_view(tuple(trials), confirmed, device="Fake GPU", blobs=texts, **settings)


def with_proposal(trial: Trial, **changes: object) -> Trial:
    return msgspec.structs.replace(trial, proposal=msgspec.structs.replace(trial.proposal, **changes))


def hostile() -> RunView:
    """A run in which everything that a candidate or its author can write is an attack on the page."""
    trials = list(short_run(measured=True))
    source = f"x = 1\n# {HOSTILE}\n"
    evaluation = msgspec.structs.replace(failed(reason=HOSTILE), log=HOSTILE)
    proposal = Proposal(
        author=HOSTILE, candidate=Candidate(source=source), note=HOSTILE, prompt="evil", reply="evil"
    )  # fmt: skip
    trials[2] = msgspec.structs.replace(trials[2], proposal=proposal, evaluation=evaluation)
    trials[4] = with_proposal(trials[4], note=HOSTILE, candidate=Candidate(source=source))
    confirmed = {4: msgspec.structs.replace(passed(26.0, measured=True), unqualified=HOSTILE)}
    return run_view(tuple(trials), confirmed, device=HOSTILE, blobs={"evil": HOSTILE})


def test_the_verdict_is_one_sentence_on_top() -> None:
    page = content_of(measured())
    assert page.verdict == (
        "softmax now takes 26.00 µs, 1.54x as fast as the starter's 40.00 µs, 62 % of the bound, "
        "confirmed on fresh inputs and 0 of 1 held-out case (the rest not here)."
    )
    html = html_page(measured())
    assert page.verdict.replace("'", "&#39;") in html
    assert html.index('id="verdict"') < html.index("<section")


def test_a_page_has_every_section_and_every_trial() -> None:
    elements = Elements(html_page(measured()))
    sections = [attributes["id"] for attributes in elements.named("section")]
    assert sections == [
        "cases", "finding", "kernel", "convergence", "roofline", "resources", "candidates", "cost", "environment",
        "repeat",
    ]  # fmt: skip
    folds = {attributes.get("id") for attributes in elements.named("details")}
    assert {f"trial-{number}" for number in range(6)} <= folds
    assert {"prompt-4", "reply-4", "diff-4-1", "diff-3-2", "diff-3-0", "confirmation-4"} <= folds
    assert len(elements.named("svg")) == 2


@pytest.mark.parametrize("live", [None, (("best so far", HOSTILE),)])
def test_nothing_that_a_run_holds_is_markup(live: tuple[tuple[str, str], ...] | None) -> None:
    html = html_page(hostile(), live=live)
    elements = Elements(html)
    assert html.count("&lt;script&gt;alert(1)&lt;/script&gt;") >= 8
    assert len(elements.named("script")) == 1
    assert elements.named("img") == []
    assert not any(name.startswith("on") for _, attributes in elements.seen for name in attributes)


def test_what_acts_on_a_terminal_or_turns_text_round_is_shown_as_an_escape() -> None:
    acting = "a\x1b[2Jb\u202ec\u200bd"
    trials = list(short_run(measured=True))
    trials[4] = with_proposal(trials[4], note=acting, candidate=Candidate(source=f"x = 1  # {acting}\n"))
    lines = [Line(name=acting, state="left", reason=acting)]
    pages = (
        html_page(run_view(tuple(trials), {4: passed(26.0, measured=True)}, device=acting)),
        several_page(acting, lines, (), has_device=True),
    )
    for page in pages:
        assert ACTS.search(page) is None
        assert page.count(r"a\x1b[2Jb\u202ec\u200bd") >= 2


def test_a_page_names_nothing_to_fetch_and_its_policy_allows_only_its_own_script() -> None:
    html = html_page(measured())
    elements = Elements(html)
    sources = [(tag, a.get("src") or a.get("href")) for tag, a in elements.seen if tag not in ("use",)]
    ids = {f"#{attributes['id']}" for _, attributes in elements.seen if "id" in attributes}
    assert {source for _, source in sources if source} - ids == {"data:,"}
    assert re.findall(r"url\((?!#)", html) == []
    assert "@import" not in html
    policy = next(a["content"] for a in elements.named("meta") if a.get("http-equiv") == "Content-Security-Policy")
    script = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)[0]
    sha = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy is not None
    assert f"script-src 'sha256-{sha}'" in policy
    assert "default-src 'none'" in policy
    assert "connect-src" not in policy
    assert "connect-src &#39;self&#39;" in html_page(measured(), live=())


def test_without_matplotlib_the_page_says_what_is_missing_and_has_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    html = html_page(measured())
    assert "plots need matplotlib: pip install &#39;kernelwright[report]&#39;" in html
    elements = Elements(html)
    assert elements.named("svg") == []
    assert {"cases", "candidates", "kernel"} <= {attributes["id"] for attributes in elements.named("section")}


def test_estimates_are_called_estimates_and_replays_replays() -> None:
    estimated = html_page(run_view(short_run(), confirmed={4: passed(26.0)}))
    assert "Every time on this page is an estimate" in estimated
    assert "is estimated to take 26.00 µs (estimate)" in estimated
    assert Elements(estimated).named("svg") == [], "no picture is made from estimates"
    assert "estimate" not in html_page(measured())
    assert "replayed from an earlier run" in html_page(measured(proposer="replay"))
    assert "replayed" not in html_page(measured())


@pytest.mark.parametrize("page", [html_page, markdown_page])
def test_a_run_in_which_nothing_is_finished_or_nothing_passed_has_a_page(page: object) -> None:
    assert callable(page)
    assert "nothing was tried yet" in page(run_view(()))
    seed = msgspec.structs.replace(short_run()[0], evaluation=failed())
    assert "No kernel passed (1 wrong)." in page(run_view((seed,)))


def test_the_cases_show_time_interval_ratio_and_bound_together() -> None:
    cases = cases_section(measured())
    assert cases is not None
    square = next(dict(zip(cases.grid.header, row, strict=True)) for row in cases.grid.rows if row[0] == "square")
    assert square == {
        "case": "square", "": "", "status": "passed", "time (µs)": "26.00",
        "starter": "40.00", "ratio": "1.54x", "bound": "16.00", "of the bound": "62 %",
    }, "no column that is empty in every row"  # fmt: skip


def test_the_table_of_a_folder_has_no_empty_column_and_links_to_the_pages_that_are_there() -> None:
    page = several_page(
        "two", [Line(name="a b", state=State.PLAUSIBLE), Line(name="c", state=State.LEFT)], {"a b"}, None
    )
    assert re.findall(r"<th[^>]*>([^<]*)</th>", page) == ["problem", "state", "trials"]
    assert [link["href"] for link in Elements(page).named("a")] == ["a%20b/report.html"]


def test_a_run_without_a_kernel_says_first_why() -> None:
    seed = msgspec.structs.replace(short_run()[0], evaluation=failed())
    (why,) = content_of(run_view((seed,))).first
    assert why.grid.rows == (("wrong", "1", "0", "tiny: element (0, 3) is off by 0.5"),)


def test_markdown_holds_the_same_verdict_and_no_markup_from_a_run() -> None:
    text = markdown_page(measured())
    assert content_of(measured()).verdict in text
    assert "  - **1** improve passed 30.00 µs (1.33x): note 1" in text
    assert "| square |" in text
    bad = markdown_page(hostile())
    prose = "\n".join(line for line in bad.splitlines() if not line.startswith("    "))
    assert re.findall(r"(?<!\\)<", prose) == []
    assert re.findall(r"(?<!\\)\[x", prose) == []
