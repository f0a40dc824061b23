"""The lanes of a run in the live view, in the text and on the page."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from kernelwright.journal import Event, Journal, LaneTallies, fold
from kernelwright.model import Budget, Evaluation, LaneChange, RunInfo, Status
from kernelwright.report.content import content_of
from kernelwright.report.document import report_document
from kernelwright.report.lanes import MOST_SHOWN, lane_rows, lanes_section
from kernelwright.report.page import html_page
from kernelwright.report.progress import Progress
from kernelwright.report.text import report_text
from kernelwright.report.view import RunView, read_run
from kernelwright.text.table import section_text
from samples import run_info, short_run

UUID = "GPU-5f0e1234-aaaa-bbbb-cccc-0123456789ab"
ARGV = "srun --gres=gpu:1 --time=2:00:00 python3 -m kernelwright.worker 3"


def up(name: str, device: str | None = "NVIDIA H200") -> LaneChange:
    return LaneChange(lane=name, what="up", device=device, gpu=name, host="box")


def lost(name: str, evaluations: int = 2, seconds: float = 3.0) -> LaneChange:
    return LaneChange(lane=name, what="lost", reason="it ended", evaluations=evaluations, seconds=seconds)


def on(name: str, seconds: float) -> Evaluation:
    return Evaluation(status=Status.WRONG, lane=name, stages_s={"verify": seconds, "compile": 9.0})


def tallies(*names: str) -> LaneTallies:
    """Each was busy for one second, the second for two and so on."""
    found = LaneTallies()
    for number, name in enumerate(names, start=1):
        found.take(up(name), 0.0)
        found.note(on(name, float(number)))
    return found


def lanes_text(lanes: LaneTallies, at_work_s: float) -> str:
    section = lanes_section(lanes, at_work_s)
    assert section is not None
    return section_text(section)


def test_of_each_lane_the_gpu_the_busy_share_the_evaluations_and_the_losses() -> None:
    lanes = tallies(UUID, ARGV)
    lanes.note(on(UUID, 4.0))
    lanes.take(lost(ARGV), 5.0)
    lanes.take(LaneChange(lane=ARGV, what="quarantined", reason="3 losses"), 5.0)
    assert lanes_text(lanes, 10.0).splitlines() == [
        "2 lanes: 1 up, 1 quarantined, busy 35 % (20 % to 50 %)",
        "lost with 1 worker and done again: at most 3.0 s of their GPUs",
        "",
        "lane                GPU   busy  evaluated  lost  state",
        "GPU-5f0e1234        H200  50 %          2     0  up",
        "srun --gres=…ker 3  H200  20 %          1     1  quarantined",
    ]
    assert lane_rows(lanes, 10.0) == [
        ("lanes", "2 lanes: 1 up, 1 quarantined, busy 35 % (20 % to 50 %)"),
        ("GPU-5f0e1234", "H200, busy 50 %, 2 evaluated, up"),
        ("srun --gres=…ker 3", "H200, busy 20 %, 1 evaluated, lost once, quarantined"),
    ]


@pytest.mark.parametrize("count", [1, 4, MOST_SHOWN, MOST_SHOWN + 1, 1000])
def test_every_line_fits_into_eighty_columns_and_many_lanes_are_folded(count: int) -> None:
    lanes = tallies(*(f"user@some-host-with-a-long-name.example.org {number}" for number in range(count)))
    for lane in lanes.values():
        lane.device, lane.losses, lane.state = "NVIDIA RTX PRO 6000 Blackwell Server Edition", 12, "quarantined"
    table = lanes_text(lanes, 100.0).splitlines()
    rows = lane_rows(lanes, 100.0)
    assert len(rows) == 1 + min(count, MOST_SHOWN)
    assert len(table) == 3 + min(count, MOST_SHOWN)
    assert all(len(line) <= 78 for line in table), "the report moves it in by two"


def test_folded_lanes_are_those_with_the_fewest_losses_and_nothing_is_left_out_of_the_sums() -> None:
    names = [f"lane {number}" for number in range(100)]
    lanes = tallies(*names)
    lanes.take(lost("lane 90"), 0.0)
    *shown, folded = lane_rows(lanes, 1000.0)[1:]
    assert [label for label, _ in shown] == [*names[:14], "lane 90"]
    assert folded == ("85 others", f"H200, busy {share(lanes, names, shown)} %, 85 evaluated, 85 up")


def share(lanes: LaneTallies, names: list[str], shown: list[tuple[str, str]]) -> str:
    others = set(names) - {label for label, _ in shown}
    return f"{sum(lanes[name].gpu_s for name in others) / (len(others) * 1000.0) * 100:.1f}"


def test_without_a_gpu_nothing_is_called_busy_and_with_one_worker_there_are_no_lanes() -> None:
    lanes = LaneTallies()
    assert lanes_section(lanes, 10.0) is None
    assert lane_rows(lanes, 10.0) == []
    lanes.take(up("CPU 1", device=None), 0.0)
    lanes.note(on("CPU 1", 4.0))
    assert lane_rows(lanes, 10.0) == [("lanes", "1 lane: 1 up"), ("CPU 1", "none, busy -, 1 evaluated, up")]


def test_a_lane_counts_for_the_time_for_which_the_run_had_it() -> None:
    lanes = LaneTallies()
    lanes.take(up("first"), 0.0)
    lanes.note(on("first", 5.0))
    lanes.end_session(10.0)
    lanes.take(up("second"), 10.0)
    lanes.note(on("second", 10.0))
    busy = {label: text.split(", ")[1] for label, text in lane_rows(lanes, 30.0)[1:]}
    assert busy == {"first": "busy 50 %", "second": "busy 50 %"}


def test_text_that_acts_on_a_terminal_is_shown_and_not_obeyed() -> None:
    lanes = tallies("a\x1b[2Jb")
    assert "\x1b" not in lanes_text(lanes, 1.0)


# --- in a run ----------------------------------------------------------------------------------------------------


def info() -> RunInfo:
    return run_info(device="NVIDIA H200")


def events(folder: Path) -> list[Event]:
    seed = short_run()[0]
    assert seed.evaluation is not None
    judged = msgspec.structs.replace(seed.evaluation, lane=UUID, stages_s={"verify": 1.0, "time": 2.0})
    with Journal.create(folder, info()) as journal:
        journal.append_started(Budget(gpu_seconds=20))
        journal.append_lane(up(UUID))
        journal.append_lane(up("box 2"))
        journal.append_asked(seed.request)
        journal.append_proposed(0, seed.proposal)
        journal.append_lane(lost("box 2"))
        journal.append_lane(up("box 2"))
        journal.append_evaluated(0, judged)
        journal.append_told(0)
        return journal.events()


def view(folder: Path) -> RunView:
    with Journal.open(folder) as journal:
        return read_run(journal)


def test_the_live_view_says_what_each_lane_did_and_what_was_lost_counts(tmp_path: Path) -> None:
    found = events(tmp_path)
    began = datetime.fromisoformat(found[0].time)
    rows = dict(Progress(info(), fold(found)).rows(began + timedelta(seconds=30)))
    assert rows["budget left"] == "14.0 of 20 GPU seconds", "3 s for the trial, and 3 s that were lost"
    assert rows["lanes"].startswith("2 lanes: 2 up, busy 5")
    assert rows["box 2"] == "H200, busy 0.0 %, 0 evaluated, lost once, up"
    assert "GPU busy" not in rows, "the lanes say it"
    progress = Progress(info(), fold(found))
    lines = [progress.line(event) for event in found]
    assert lines[1] == f"lane {UUID} is up: NVIDIA H200 on box"
    assert lines[5] == "lane box 2 is lost, with 2 evaluations under way: it ended"


def test_every_form_of_the_report_has_the_lanes(tmp_path: Path) -> None:
    events(tmp_path)
    run = view(tmp_path)
    assert "\nLanes\n  2 lanes: 2 up" in report_text(run)
    page = html_page(run)
    assert '<section id="lanes"' in page
    assert "GPU-5f0e1234" in page
    assert report_document(run)["lanes"]["box 2"]["lost_s"] == 3.0
    assert "lanes" in [section.id for section in content_of(run).further]


def test_a_run_of_one_worker_has_no_such_section(tmp_path: Path) -> None:
    with Journal.create(tmp_path, info()) as journal:
        journal.append_started(Budget(trials=1))
    assert "Lanes" not in report_text(view(tmp_path))
    assert 'id="lanes"' not in html_page(view(tmp_path))
