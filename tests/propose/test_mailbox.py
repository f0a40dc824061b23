"""The mailbox: prompts and replies as files, taken up now or much later, never half."""

from __future__ import annotations

import os
import shutil
import stat
import time
from pathlib import Path

import pytest

from kernelwright.errors import RequestError, RunFolderError
from kernelwright.model import Operator, Request
from kernelwright.propose import deposit_reply, prompt_path, waiting
from kernelwright.propose.mailbox import Mailbox, without_shared, write_whole
from proposing import KERNEL, OTHER, REPLY, Blobs, context, passed, starter, trial

IMPROVE = Request(number=7, operator=Operator.IMPROVE, parents=(0,))
MAILBOX = Mailbox()


def asked(run: Path, request: Request = IMPROVE) -> Path:
    assert MAILBOX.propose(request, context(starter(), folder=run)) is None
    return prompt_path(run, request.number)


def reply_file(run: Path, text: str, name: str = "007.reply.md", age_s: float = 0.0) -> Path:
    path = run / "mailbox" / name
    path.write_text(text, encoding="utf-8")
    then_s = time.time() - age_s
    os.utime(path, (then_s, then_s))
    return path


def test_a_request_becomes_a_prompt_file_that_says_how_to_answer(tmp_path: Path) -> None:
    path = asked(tmp_path)
    assert path == tmp_path / "mailbox" / "007.prompt.md"
    text = path.read_text(encoding="utf-8")
    for words in ("007.reply.md", "007.reply.py", "kernelwright reply RUN 7 FILE", "author: NAME"):
        assert words in text, words
    assert "You write GPU kernels in Triton" in text
    assert "# Make `double` faster" in text
    assert stat.S_IMODE(path.stat().st_mode) & 0o444 == 0o444, "others may read it"


def test_a_prompt_that_waits_gets_the_newest_results_and_keeps_its_question(tmp_path: Path) -> None:
    slower = [trial(n, f"{KERNEL}x = {n}\n", evaluation=passed(300.0), parents=(0,)) for n in range(1, 9)]
    path = asked(tmp_path)
    assert "| 1 |" not in path.read_text(encoding="utf-8")
    MAILBOX.propose(IMPROVE, context(starter(), slower[0], folder=tmp_path))
    for known in (slower[:1], slower):
        MAILBOX.propose(IMPROVE, context(starter(), *known, folder=tmp_path))
        text = path.read_text(encoding="utf-8")
        assert all(f"| {one.number} |" in text for one in known)
        assert "# Why was trial 1 a surprise?" in text
    assert [entry.name for entry in path.parent.iterdir()] == ["007.prompt.md"]


def test_a_prompt_stays_as_it_was_answered_and_is_not_written_where_nothing_is_new(tmp_path: Path) -> None:
    path = asked(tmp_path)
    before = path.stat().st_ino
    asked(tmp_path)
    assert path.stat().st_ino == before, "a new text would be another file"
    shown = path.read_text(encoding="utf-8")
    reply_file(tmp_path, REPLY)
    blobs = Blobs()
    found = MAILBOX.propose(IMPROVE, context(starter(), trial(1), folder=tmp_path, blobs=blobs))
    assert found is not None
    assert found.prompt is not None
    assert blobs[found.prompt] == shown == path.read_text(encoding="utf-8")


def test_a_reply_becomes_a_candidate_signed_by_its_author(tmp_path: Path) -> None:
    blobs = Blobs()
    shown = asked(tmp_path).read_text(encoding="utf-8")
    reply_file(tmp_path, "author: Ada Lovelace\n" + REPLY)
    proposal = MAILBOX.propose(IMPROVE, context(starter(), folder=tmp_path, blobs=blobs))
    assert proposal is not None
    assert proposal.candidate is not None
    assert "BLOCK = 1024" in proposal.candidate.source
    assert (proposal.author, proposal.note) == ("mailbox:Ada Lovelace", "a wider block.")
    assert blobs[proposal.prompt or ""] == shown
    assert blobs[proposal.reply or ""].endswith(REPLY)


def test_an_unsigned_reply_is_unnamed(tmp_path: Path) -> None:
    asked(tmp_path)
    reply_file(tmp_path, REPLY)
    proposal = MAILBOX.propose(IMPROVE, context(starter(), folder=tmp_path))
    assert proposal is not None
    assert proposal.author == "mailbox:unnamed"


def test_a_bare_module_is_a_reply_too(tmp_path: Path) -> None:
    asked(tmp_path)
    source = '# author: Ada\n"""Twice, by adding."""\n' + OTHER
    reply_file(tmp_path, source, "007.reply.py")
    proposal = MAILBOX.propose(IMPROVE, context(starter(), folder=tmp_path))
    assert proposal is not None
    assert proposal.candidate is not None
    assert proposal.candidate.source == source
    assert (proposal.author, proposal.note) == ("mailbox:Ada", "Twice, by adding.")


@pytest.mark.parametrize(
    ("text", "name"),
    [("```python\nimport tri", "007.reply.md"), ("Let me think.", "007.reply.md"), ("def kern(", "007.reply.py")],
)
def test_a_reply_that_is_not_whole_is_left_alone_while_it_is_fresh(tmp_path: Path, text: str, name: str) -> None:
    asked(tmp_path)
    reply_file(tmp_path, text, name)
    assert MAILBOX.propose(IMPROVE, context(starter(), folder=tmp_path)) is None
    reply_file(tmp_path, text, name, age_s=60)
    blobs = Blobs()
    proposal = MAILBOX.propose(IMPROVE, context(starter(), folder=tmp_path, blobs=blobs))
    assert proposal is not None
    assert proposal.candidate is None
    assert proposal.error
    assert blobs[proposal.reply or ""] == text


def test_an_empty_reply_and_two_replies_leave_the_request_waiting(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    asked(tmp_path)
    empty = reply_file(tmp_path, "", age_s=60)
    assert MAILBOX.propose(IMPROVE, context(starter(), folder=tmp_path)) is None
    empty.write_text(REPLY, encoding="utf-8")
    reply_file(tmp_path, KERNEL, "007.reply.py")
    assert MAILBOX.propose(IMPROVE, context(starter(), folder=tmp_path)) is None
    assert "request 7 has two replies" in caplog.text


def test_a_reply_that_is_not_text_is_an_error_not_a_crash(tmp_path: Path) -> None:
    asked(tmp_path)
    path = reply_file(tmp_path, "", age_s=60)
    path.write_bytes(b"\xff\xfe\x00binary")
    os.utime(path, (0, 0))
    proposal = MAILBOX.propose(IMPROVE, context(starter(), folder=tmp_path))
    assert proposal is not None
    assert proposal.error == "the reply has no fenced Python block"


def test_a_run_folder_can_be_answered_elsewhere(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    asked(here)
    shutil.copytree(here, there)
    answer = tmp_path / "answer.md"
    answer.write_text(REPLY, encoding="utf-8")
    deposit_reply(there, 7, answer)
    assert Mailbox().propose(IMPROVE, context(starter(), folder=here)) is None
    proposal = Mailbox().propose(IMPROVE, context(starter(), folder=there))
    assert proposal is not None
    assert proposal.candidate is not None


def test_tuning_needs_no_reply(tmp_path: Path) -> None:
    request = Request(number=8, operator=Operator.TUNE, parents=(0,))
    proposal = MAILBOX.propose(request, context(starter(), folder=tmp_path))
    assert proposal is not None
    assert proposal.author == "builtin"
    assert not (tmp_path / "mailbox").exists()


def test_a_request_without_words_is_an_error_not_a_prompt(tmp_path: Path) -> None:
    request = Request(number=8, operator=Operator.IMPROVE, parents=(5,))
    proposal = MAILBOX.propose(request, context(starter(), folder=tmp_path))
    assert proposal is not None
    assert "trial 5, which has no candidate" in (proposal.error or "")
    assert waiting(tmp_path) == ()


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "mailbox").write_text("a file in the way", encoding="utf-8")
    with pytest.raises(RunFolderError, match=r"cannot write .*007\.prompt\.md"):
        MAILBOX.propose(IMPROVE, context(starter(), folder=tmp_path))


# --- handing a reply in -------------------------------------------------------------------------------------


def test_a_reply_handed_in_lies_where_the_run_looks(tmp_path: Path) -> None:
    asked(tmp_path)
    asked(tmp_path, Request(number=12, operator=Operator.IMPROVE, parents=(0,)))
    assert waiting(tmp_path) == (7, 12)
    markdown, module = tmp_path / "a.md", tmp_path / "b.py"
    markdown.write_text(REPLY, encoding="utf-8")
    module.write_text(KERNEL, encoding="utf-8")
    assert deposit_reply(tmp_path, 7, markdown) == tmp_path / "mailbox" / "007.reply.md"
    assert deposit_reply(tmp_path, 12, module) == tmp_path / "mailbox" / "012.reply.py"
    assert waiting(tmp_path) == ()
    assert (tmp_path / "mailbox" / "012.reply.py").read_text(encoding="utf-8") == KERNEL


def test_a_number_that_waits_for_nothing_is_refused(tmp_path: Path) -> None:
    asked(tmp_path)
    answer = tmp_path / "a.md"
    answer.write_text(REPLY, encoding="utf-8")
    with pytest.raises(RequestError, match=r"request 3 of .* does not wait for a reply \(requests that wait .*: 7\)"):
        deposit_reply(tmp_path, 3, answer)
    deposit_reply(tmp_path, 7, answer)
    with pytest.raises(RequestError, match=r"request 7 of .* has a reply already, .*007\.reply\.md"):
        deposit_reply(tmp_path, 7, answer)
    with pytest.raises(RunFolderError, match="does not exist"):
        deposit_reply(tmp_path / "nowhere", 7, answer)


def test_a_reply_that_could_not_be_used_is_refused_before_it_costs_the_request(tmp_path: Path) -> None:
    asked(tmp_path)
    answer, module, binary = tmp_path / "a.md", tmp_path / "a.py", tmp_path / "b.md"
    answer.write_text("no code here", encoding="utf-8")
    module.write_text("x = 1\n", encoding="utf-8")
    binary.write_bytes(b"\xff\xfe")
    for file, words in (
        (answer, "no fenced Python block"),
        (module, "neither ModelNew nor kernel_function"),
        (binary, "not text in UTF-8"),
        (tmp_path, "Is a directory"),
        (tmp_path / "missing.md", "no reply file"),
    ):
        with pytest.raises(RequestError, match=words):
            deposit_reply(tmp_path, 7, file)
    assert waiting(tmp_path) == (7,)


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "x.md"
    write_whole(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_whole(path, "half\ud800")
    assert path.read_text(encoding="utf-8") == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.md"]


def test_a_prompt_asks_about_a_surprise_and_the_reply_may_hold_a_lesson_beside_the_kernel(tmp_path: Path) -> None:
    blobs = Blobs()
    slower = trial(1, KERNEL + "x = 1\n", evaluation=passed(300.0), parents=(0,))
    around = context(starter(), slower, folder=tmp_path, blobs=blobs)
    assert MAILBOX.propose(IMPROVE, around) is None
    text = prompt_path(tmp_path, IMPROVE.number).read_text(encoding="utf-8")
    assert text.index("# Why was trial 1 a surprise?") < text.index("# Make `double` faster")
    assert "Answer this first, above your note" in text
    assert "words only, without a code block" not in text, "the same reply holds the kernel"
    answer = (
        f"author: Ada\n\nIt waits.\nLesson: do not wait.\nClaim: registers up\n\nNote: adds.\n\n```python\n{OTHER}```\n"
    )
    reply_file(tmp_path, answer, "007.reply.md")
    proposal = MAILBOX.propose(IMPROVE, around)
    assert proposal is not None
    assert proposal.reflection is not None
    assert (proposal.reflection.trial, proposal.reflection.lesson) == (1, "do not wait.")
    assert (proposal.note, proposal.author) == ("adds.", "mailbox:Ada")


def test_a_byte_order_mark_is_no_part_of_a_reply(tmp_path: Path) -> None:
    asked(tmp_path)
    module = tmp_path / "b.py"
    module.write_text(KERNEL, encoding="utf-8-sig")
    assert deposit_reply(tmp_path, 7, module).read_text(encoding="utf-8") == KERNEL


def test_a_prompt_is_cut_to_its_request_only_where_an_earlier_one_began_alike() -> None:
    first, second = "rules\n\n---\n\n# One\n\n---\n\nmore\n", "rules\n\n---\n\n# Two\n"
    assert without_shared(second, first).endswith("gives them again.\n\n# Two\n")
    assert without_shared(first, second).endswith("\n\n# One\n\n---\n\nmore\n")
    assert without_shared(second, "other rules\n\n---\n\n# One\n") == second
    assert without_shared("no parts", first) == "no parts"


def test_the_rules_of_a_mailbox_allow_the_bare_module_that_it_takes(tmp_path: Path) -> None:
    text = asked(tmp_path).read_text(encoding="utf-8")
    assert "Or the bare module" in text
