"""Retries, deadlines and messages of the JSON client, over real HTTP on the loopback."""

from __future__ import annotations

import email.utils
import logging
import socket
import threading
import time

import pytest

from kernelwright.errors import ProviderError
from kernelwright.llm.http import JsonClient, Patience, backoff_s, proxy_for, retry_after_s
from llm_server import Scripted, llm_server

QUICK = Patience(attempts=4, first_wait_s=0.001, longest_wait_s=0.002, attempt_s=600.0, deadline_s=1200.0)
KEY = {"Authorization": "Bearer sk-very-secret"}


def post(url: str, patience: Patience = QUICK, waits: list[float] | None = None) -> object:
    client = JsonClient(patience, sleep=time.sleep if waits is None else waits.append)
    try:
        return client.post(url, KEY, {"question": "é"})
    finally:
        client.close()


def test_a_document_goes_out_and_one_comes_back() -> None:
    with llm_server(Scripted(body={"answer": 42})) as server:
        answer = JsonClient(QUICK).post(server.url + "/v1/x", KEY, {"question": "é"})
    assert (answer.body, answer.attempts) == ({"answer": 42}, 1)
    (seen,) = server.seen
    assert (seen.path, seen.document) == ("/v1/x", {"question": "é"})
    assert seen.headers["Authorization"] == "Bearer sk-very-secret"
    assert seen.headers["Content-Type"] == "application/json"


@pytest.mark.parametrize("status", [429, 408, 500, 502, 503, 529])
def test_a_passing_failure_is_retried(status: int) -> None:
    with llm_server(Scripted(status, {"error": "busy"}), Scripted(body=[1])) as server:
        answer = JsonClient(QUICK).post(server.url, KEY, {})
    assert (answer.body, answer.attempts, len(server.seen)) == ([1], 2, 2)


def test_a_retry_after_is_honoured() -> None:
    waits: list[float] = []
    with llm_server(Scripted(429, {}, {"Retry-After": "7"}), Scripted(body={})) as server:
        post(server.url, Patience(deadline_s=1200), waits)
    assert waits == [7.0]


def test_a_retry_after_beyond_the_deadline_is_told_at_once() -> None:
    waits: list[float] = []
    with llm_server(Scripted(429, {}, {"Retry-After": "3600"})) as server:
        with pytest.raises(ProviderError, match=r"status 429.*in 3600 s, would pass the deadline of 1200 s"):
            post(server.url, QUICK, waits)
        assert waits == []


def test_retries_end_and_the_last_failure_is_told() -> None:
    with llm_server(*[Scripted(500, b"kaputt")] * 9) as server:
        with pytest.raises(ProviderError, match="status 500: 'kaputt'; gave up after 4 attempts"):
            post(server.url)
        assert len(server.seen) == 4


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422, 302])
def test_a_lasting_failure_is_told_at_once(status: int) -> None:
    with llm_server(Scripted(status, {"error": "no such model"})) as server:
        with pytest.raises(ProviderError, match=f"status {status}: .*no such model"):
            post(server.url)
        assert len(server.seen) == 1


def test_an_empty_account_is_not_waited_for() -> None:
    with llm_server(Scripted(429, {"error": {"code": "insufficient_quota"}})) as server:
        with pytest.raises(ProviderError, match="insufficient_quota"):
            post(server.url)
        assert len(server.seen) == 1


def test_a_silent_server_is_retried_and_then_given_up() -> None:
    patience = Patience(attempts=2, first_wait_s=0.001, attempt_s=0.1, deadline_s=600.0)
    with llm_server(*[Scripted(body={}, after_s=3600.0)] * 3) as server:
        with pytest.raises(ProviderError, match="did not answer in time; gave up after 2 attempts"):
            post(server.url, patience)
        assert len(server.seen) <= 2, "fewer where it was given up before the server read it"


def test_a_body_that_comes_too_slowly_is_cut_off() -> None:
    patience = Patience(attempts=1, attempt_s=0.2, deadline_s=600.0)
    with (
        llm_server(Scripted(body=b'"' + b"x" * 100_000 + b'"', trickle_s=0.02)) as server,  # over half an hour
        pytest.raises(ProviderError, match="did not answer in time"),
    ):
        post(server.url, patience)


def test_a_lost_connection_is_retried() -> None:
    with llm_server(Scripted(reset=True), Scripted(body={"ok": 1})) as server:
        answer = JsonClient(QUICK).post(server.url, KEY, {})
    assert (answer.body, answer.attempts) == ({"ok": 1}, 2)


def test_a_server_that_is_not_there_is_named() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    with pytest.raises(ProviderError, match=rf"http://127.0.0.1:{port}/v1 cannot be reached: .*after 4 attempts"):
        post(f"http://127.0.0.1:{port}/v1")


@pytest.mark.parametrize("url", ["nonsense", "http://", "ftp://example.invalid/x", "http://[::1"])
def test_an_address_that_is_none_is_told_at_once(url: str) -> None:
    waits: list[float] = []
    with pytest.raises(ProviderError):
        post(url, QUICK, waits)
    assert waits == []


def test_a_success_that_is_not_json_is_told_with_its_start() -> None:
    with llm_server(Scripted(body=b"<html>Please log in" + b"." * 1000)) as server:
        with pytest.raises(ProviderError, match="status 200 and no JSON: '<html>Please log in") as raised:
            post(server.url)
        assert len(str(raised.value)) < 500
        assert len(server.seen) == 1


def test_a_key_is_in_no_message_and_no_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    bodies = [Scripted(500, {"echo": "sk-very-secret"}), Scripted(401, {"echo": "Bearer sk-very-secret"})]
    with llm_server(*bodies) as server, pytest.raises(ProviderError, match="status 401") as raised:
        post(server.url)
    assert "sk-very-secret" not in str(raised.value)
    assert "status 500" in caplog.text
    assert "sk-very-secret" not in caplog.text


def test_a_huge_answer_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernelwright.llm.http.LARGEST_ANSWER_BYTES", 1000)
    with llm_server(Scripted(body=b"x" * 2000)) as server, pytest.raises(ProviderError, match="more than 1000 bytes"):
        post(server.url)


def test_waits_grow_and_are_bounded_and_scattered() -> None:
    patience = Patience(first_wait_s=1.0, longest_wait_s=10.0)
    for waits, top in ((0, 1.0), (1, 2.0), (3, 8.0), (9, 10.0)):
        drawn = [backoff_s(patience, waits) for _ in range(50)]
        assert top / 2 <= min(drawn) < max(drawn) <= top


def test_a_retry_after_may_be_seconds_or_a_date() -> None:
    assert retry_after_s(None) is None
    assert retry_after_s("1.5") == 1.5
    assert retry_after_s("-3") == 0.0
    assert retry_after_s("soon") is None
    date = email.utils.formatdate(time.time() + 100, usegmt=True)
    assert 0 < (retry_after_s(date) or 0) <= 100


def test_many_threads_share_a_client() -> None:
    client = JsonClient(QUICK)
    got: list[object] = []
    with llm_server(*[Scripted(body={"n": 1})] * 8) as server:
        threads = [threading.Thread(target=lambda: got.append(client.post(server.url, KEY, {}).body)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(600)
        client.close()
    assert got == [{"n": 1}] * 8


def test_a_proxy_of_the_environment_is_used_except_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy.invalid:3128")
    monkeypatch.setenv("no_proxy", "inside.invalid")
    assert proxy_for("https://api.example.invalid/v1") == "http://proxy.invalid:3128"
    assert proxy_for("https://inside.invalid/v1") is None
    assert proxy_for("https://localhost:8000/v1") is None
    assert proxy_for("https://127.0.0.1/v1") is None
