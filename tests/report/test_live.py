"""The live page over HTTP: what it serves and to whom, and that it follows the journal without disturbing it."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from browser import chromium, visit
from command_line import run as command
from kernelwright.errors import RunFolderError
from kernelwright.journal import NAME, Journal, RunState
from kernelwright.model import Budget, Trial
from kernelwright.report.live import HOST, LiveRun, LiveServer, RunIsOver, messages
from kernelwright.report.view import RunView
from samples import passed, run_info, short_run


def write(journal: Journal, trial: Trial) -> None:
    journal.append_asked(trial.request)
    journal.append_proposed(trial.number, trial.proposal)
    if trial.evaluation is not None:
        journal.append_evaluated(trial.number, trial.evaluation)
    journal.append_told(trial.number)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    """A run at work, which has evaluated its starter."""
    with Journal.create(tmp_path / "run", run_info("Fake GPU")) as one:
        one.append_started(Budget(trials=6))
        write(one, short_run(measured=True)[0])
        yield one


@contextmanager
def served(folder: Path) -> Iterator[LiveServer]:
    with LiveServer(LiveRun(folder), port=0) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def asked(server: LiveServer, path: str, host: str | None = None, method: str = "GET") -> Iterator[HTTPResponse]:
    connection = HTTPConnection(HOST, server.server_port, timeout=60)
    connection.request(method, path, headers={"Host": host} if host is not None else {})
    yield connection.getresponse()
    connection.close()


def message(stream: HTTPResponse, name: str) -> Any:
    """The content of the next server-sent event of that name."""
    for line in stream:
        if line.decode().strip() == f"event: {name}":
            return json.loads(stream.readline().decode().removeprefix("data: "))
    raise AssertionError(f"the stream ended without {name!r}")


def test_the_page_is_the_report_with_how_the_run_stands_on_top(journal: Journal) -> None:
    with served(journal.folder) as server, asked(server, "/") as answer:
        page = answer.read().decode()
        assert answer.status == 200
        assert answer.headers["Cache-Control"] == "no-store"
    assert "data-live" in page
    assert "5 of 6 trials" in page
    assert "So far nothing is better than the starter" in page


def test_events_follow_the_journal(journal: Journal) -> None:
    with served(journal.folder) as server, asked(server, "/events") as stream:
        assert stream.headers["Content-Type"] == "text/event-stream"
        dict(message(stream, "status"))
        write(journal, short_run(measured=True)[1])
        seq = journal.events()[-1].seq
        while message(stream, "changed") < seq:
            pass
        rows = dict(server.run.rows)
        assert rows["best so far"].startswith("30.00 µs (trial 1)")
        assert rows["budget left"] == "4 of 6 trials"


def test_an_event_is_seen_though_sizes_and_times_of_the_files_stayed(journal: Journal) -> None:
    """A writer's log has a commit before readers see it: a look between the two must not be the last."""
    log = journal.folder / f"{NAME}-wal"
    write(journal, short_run(measured=True)[1])
    with sqlite3.connect(journal.folder / NAME) as other:  # the log is written from its beginning again
        other.execute("PRAGMA wal_checkpoint(RESTART)")
    other.close()
    run, before = LiveRun(journal.folder), log.stat()
    seq = run.state.seq
    journal.append_stopped("trials", 1.0)
    os.utime(log, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (log.stat().st_size, log.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    run.look()
    assert run.state.seq == seq + 1
    assert run.over() == "trials"


def test_twenty_clients_share_one_look_at_each_event_and_one_page_until_the_run_has_news(journal: Journal) -> None:
    made, takes = list[int](), 0

    def render(view: RunView, live: object, seq: int) -> str:
        made.append(seq)
        return f"{len(view.trials)} trials"

    def count(frame: FrameType, what: str, _: object) -> None:
        nonlocal takes
        takes += what == "call" and frame.f_code is RunState.take.__code__

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        run = LiveRun(journal.folder, render, renew_s=0.0)
        clients = [messages(run) for _ in range(20)]
        for trials, trial in enumerate(short_run(measured=True)[1:], start=1):
            seq = journal.events()[-1].seq
            assert {next(client) for client in clients} == {f"event: changed\ndata: {seq}\n\n".encode()}
            assert {run.page() for _ in clients} == {f"{trials} trials".encode()}
            assert {next(client).split()[1] for client in clients} == {b"status"}
            write(journal, trial)
            run.look()
            while run.page_seq != run.state.seq:  # a page waits four times as long as the last one took
                run.look()
    finally:
        sys.setprofile(before)
    assert len(made) == len(set(made)) == 5
    assert takes == len(journal.events())


def test_a_page_that_is_asked_for_by_many_at_once_is_made_once(journal: Journal) -> None:
    together, made = threading.Barrier(20), list[int]()

    def render(view: RunView, live: object, seq: int) -> str:
        made.append(seq)
        return "a page"

    run = LiveRun(journal.folder, render)

    def client() -> bytes:
        together.wait()
        return run.page()

    with ThreadPoolExecutor(20) as threads:
        assert {one.result() for one in [threads.submit(client) for _ in range(20)]} == {b"a page"}
    assert len(made) == 1


def test_a_page_says_which_event_it_knows_so_a_client_fetches_only_a_newer_one(journal: Journal) -> None:
    with served(journal.folder) as server:
        with asked(server, "/") as answer:
            known = re.findall(r'data-live="(\d+)"', answer.read().decode())
        with asked(server, "/events") as stream:
            assert [str(message(stream, "changed"))] == known == [str(journal.events()[-1].seq)]


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1"])
def test_a_page_elsewhere_that_points_at_this_machine_gets_nothing(journal: Journal, host: str) -> None:
    with served(journal.folder) as server:
        for path in ("/", "/events"):
            with asked(server, path, host) as answer:
                assert answer.status == 403
                assert b"softmax" not in answer.read()


def test_nothing_but_the_page_and_its_events_is_there_and_nothing_can_be_sent(journal: Journal) -> None:
    with served(journal.folder) as server:
        assert server.server_address[0] == "127.0.0.1"
        for path in ("/journal.db", "/../journal.db", "/favicon.ico"):
            with asked(server, path) as answer:
                assert answer.status == 404
        with asked(server, "/", method="POST") as answer:
            assert answer.status == 501


def test_watching_leaves_the_run_as_it_would_be_unwatched(journal: Journal) -> None:
    with served(journal.folder) as server, asked(server, "/events") as stream:
        message(stream, "status")
        for trial in short_run(measured=True)[1:]:
            write(journal, trial)
        journal.append_stopped("finished", 1.0)
        journal.close()
        with asked(server, "/") as answer:
            assert "ended: finished" in answer.read().decode()
    assert sorted(path.name for path in journal.folder.iterdir()) == [NAME, "journal.lock"]


def finished(journal: Journal, reason: str) -> None:
    for trial in short_run(measured=True)[1:]:
        write(journal, trial)
    journal.append_stopped(reason, 1.0)


def test_a_server_ends_with_the_run_and_not_while_others_go_on_with_it(journal: Journal) -> None:
    run = LiveRun(journal.folder)
    assert run.over() is None, "it is at work"
    finished(journal, "waiting")
    run.look()
    assert run.over() is None, "replies may come"
    journal.append_started(Budget(trials=6))
    run.look()
    assert run.over() is None
    journal.append_stopped("trials", 1.0)
    with LiveServer(run, port=0, last_s=0.0) as server, pytest.raises(RunIsOver, match="trials"):
        server.serve_forever(poll_interval=0.05)


def test_a_run_whose_process_is_gone_is_over(journal: Journal) -> None:
    run = LiveRun(journal.folder)
    journal.close()
    assert run.over() == "no search is at work"


def test_watching_a_finished_run_ends_at_once_and_says_where_its_page_is(journal: Journal) -> None:
    finished(journal, "trials")
    journal.close()
    result = command("watch", str(journal.folder))
    assert result.exit_code == 0
    assert f"kernelwright report {journal.folder} --format html" in result.stdout
    assert "http://" not in result.stdout


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="holds no"):
        LiveRun(tmp_path)


def test_the_page_in_a_browser_follows_the_run_and_keeps_what_was_opened(journal: Journal) -> None:
    with served(journal.folder) as server, chromium() as browser, visit(browser, server.url) as seen:
        page, trials = seen.page, short_run(measured=True)
        page.locator("#look-0 > summary").click()
        assert page.locator("#trial-1").count() == 0
        write(journal, trials[1])
        page.locator("#trial-1").wait_for()
        assert page.locator("#look-0").get_attribute("open") is not None
        assert "Trial 1 leads with 30.00 µs" in page.locator("#verdict").inner_text().replace("\xa0", " ")
        write(journal, trials[4])
        journal.append_confirmed(4, passed(26.0, measured=True))
        journal.append_stopped("trials", 9.0)
        page.get_by_text("softmax now takes 26.00 µs").first.wait_for()
        page.get_by_text("ended: trials").wait_for()
        assert seen.faults == []
        assert {url.removeprefix(server.url) for url in seen.requests} == {"", "events"}
