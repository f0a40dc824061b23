"""The mailbox proposer: prompts and replies are files, for a person, a coding agent or a batch service.

`RUN/mailbox/NNN.prompt.md` is the prompt of request NNN; `NNN.reply.md` (or `NNN.reply.py`, the bare module) answers
it. The run does not block: a request without a reply stays open, its prompt is kept up to date while trials finish, and
a later session reads the reply, on this machine or another. Files are written atomically, and a reply that may still be
growing is not read.
"""

from __future__ import annotations

import logging
import re
import time
from dataclasses import dataclass
from pathlib import Path

from kernelwright.errors import RequestError, RunFolderError
from kernelwright.folders import read_file, write_file
from kernelwright.llm.protocol import joined
from kernelwright.model import Operator, Proposal, Reflection, Request, Trial
from kernelwright.propose.builtin import tune
from kernelwright.propose.prompt import NoPrompt, prompt_for, reflect_question, render, template
from kernelwright.propose.protocol import Advisor, Context, Proposer
from kernelwright.propose.reflection import counters_of, reflection_in, surprising
from kernelwright.propose.reply import (
    Unusable,
    author_in,
    checked,
    code_in,
    diagnosis_in,
    docstring_line,
    expected_in,
    has_whole_block,
    new_candidate,
    note_in,
)
from kernelwright.textfile import read_text

logger = logging.getLogger(__name__)

AUTHOR = "mailbox"
FOLDER = "mailbox"
UNNAMED = "mailbox:unnamed"
SETTLE_S = 5.0
"""An incomplete reply counts as unusable only after this long without a change."""


ABOVE = "Answer this first, above your note, in the same reply. Then:"
"""Follows a question about a surprise. A person who answers prompts by hand gets one file for both, not two."""


SEPARATOR = "\n\n---\n\n"
"""Between the part that all prompts of a run share and the request."""

KNOWN_RULES = "The rules and the problem are the same as in the first prompt; `whole` gives them again."

WITHDRAWN = "withdrawn: the run was ended before this request was answered"

ASKED = re.compile(r"^# Why was trial (\d+) a surprise\?$", re.M)


class Mailbox(Proposer):
    """Stateless except for its files, hence thread-safe: each request has its own files."""

    author = AUTHOR
    shows_profiles = True

    def __init__(self, settle_s: float = SETTLE_S) -> None:
        self._settle_s = settle_s

    def answers_at_once(self, request: Request) -> bool:
        return False

    def propose(self, request: Request, context: Context) -> Proposal | None:
        """None while there is no reply. Raises `RunFolderError` where the folder cannot be written."""
        if request.operator is Operator.TUNE:
            return tune(request, context)
        path, reply = prompt_path(context.folder, request.number), self._reply(context.folder, request.number)
        written = read_kept(context.folder, path) if path.exists() else ""
        if reply is None or not written:
            try:
                text = prompt_text(request, context, written)
            except NoPrompt as error:
                return Proposal(author=AUTHOR, error=str(error))
            if text != written:
                write_file(context.folder, f"{FOLDER}/{path.name}", text, durable=True)
        return None if reply is None else read(reply, context.put_blob(read_kept(context.folder, path)), context)

    def _reply(self, folder: Path, number: int) -> FileReply | None:
        """A complete reply, or one that has not changed for `settle_s`; None while there is neither."""
        found = [path for path in reply_paths(folder, number) if path.is_file() and path.stat().st_size > 0]
        if len(found) > 1:
            logger.warning("request %d has two replies, %s: remove one", number, " and ".join(map(str, found)))
        if len(found) != 1:
            return None
        (path,) = found
        settled = time.time() - path.stat().st_mtime >= self._settle_s
        reply = FileReply(read_kept(folder, path), is_module=path.suffix == ".py")
        if not settled and not is_whole(reply):
            logger.info("%s is not whole yet", path)
            return None
        return reply


def prompt_text(request: Request, context: Context, written: str) -> str:
    """The prompt of a request with the results so far. written: the prompt that waits, "" where there is none: it keeps
    its question about a surprise, because somebody may be answering it. Raises `NoPrompt`."""
    prompt = prompt_for(request, context, "mailbox")
    markdown, module = reply_paths(context.folder, request.number)
    surprises = surprising(context.trials)
    about = asked_about(written, context)
    if about is None and surprises:
        # Prompts of one round may ask about the same surprise: each is written without knowledge of the others.
        about = surprises[request.number % len(surprises)]
    values = {
        "number": str(request.number),
        "run": context.folder.name,
        "reply": markdown.name,
        "bare": module.name,
        "system": joined(prompt.system),
        "prompt": prompt.text.strip(),
        "reflect": f"{reflect_question(about, context)}\n{ABOVE}\n\n---\n\n" if about else "",
    }
    return render(template("mailbox"), values, "mailbox.md")


def asked_about(prompt: str, context: Context) -> Trial | None:
    """The surprise that a prompt asks about; None where it asks about none."""
    asked = ASKED.search(prompt)
    return next((one for one in context.trials if asked and one.number == int(asked[1])), None)


@dataclass(frozen=True)
class FileReply:
    """is_module: whether the text is a bare module, without Markdown around it."""

    text: str
    is_module: bool


def read(reply: FileReply, prompt: str, context: Context) -> Proposal:
    """The proposal from a reply. prompt: the hash of the stored prompt."""
    if reply.text.strip() == WITHDRAWN:
        return Proposal(author=AUTHOR, error=WITHDRAWN, prompt=prompt)
    name = author_in(reply.text)
    try:
        source = checked(reply.text if reply.is_module else code_in(reply.text))
        candidate = new_candidate(source, context.trials, context.in_flight)
        error = None
    except Unusable as unusable:
        candidate, error = None, str(unusable)
    return Proposal(
        author=f"{AUTHOR}:{name}" if name else UNNAMED,
        candidate=candidate,
        error=error,
        prompt=prompt,
        reply=context.put_blob(reply.text),
        note=docstring_line(reply.text) if reply.is_module else note_in(reply.text),
        expected=expected_in(reply.text),
        diagnosis=diagnosis_in(reply.text),
        reflection=reflection_of(reply, prompt, context),
    )


def reflection_of(reply: FileReply, prompt: str, context: Context) -> Reflection | None:
    """The reply's reflection on the surprise that its prompt asked about; None where there is none."""
    about = asked_about(context.blob(prompt), context)
    if about is None or reply.is_module:
        return None
    return reflection_in(reply.text, about.number, *counters_of(about, context.trials, context.profiles))


def is_whole(reply: FileReply) -> bool:
    """Whether the reply seems complete."""
    if not reply.is_module:
        return has_whole_block(reply.text)
    try:
        checked(reply.text)
    except Unusable:
        return False
    return True


def prompt_path(run: Path, number: int) -> Path:
    return run / FOLDER / f"{number:03d}.prompt.md"


def without_orders(prompt: str) -> str:
    """A prompt without its leading comment, which says where to put the answer."""
    return re.sub(r"\A<!--.*?-->\s*", "", prompt, flags=re.S)


def without_shared(prompt: str, earlier: str) -> str:
    """A prompt without the rules and the problem, if an earlier prompt of the run has the same ones."""
    shared, _, request = prompt.partition(SEPARATOR)
    return f"{KNOWN_RULES}\n\n{request}" if earlier.startswith(shared + SEPARATOR) else prompt


def reply_paths(run: Path, number: int) -> tuple[Path, Path]:
    """The two possible files of a reply: Markdown, or the bare module."""
    return run / FOLDER / f"{number:03d}.reply.md", run / FOLDER / f"{number:03d}.reply.py"


def waiting(run: Path) -> tuple[int, ...]:
    """The numbers of the prompts that have no reply, ascending."""
    numbers = [int(path.name.split(".")[0]) for path in (run / FOLDER).glob("[0-9]*.prompt.md")]
    return tuple(sorted(n for n in numbers if not any(path.exists() for path in reply_paths(run, n))))


def deposit_reply(run: Path, number: int, file: Path) -> Path:
    """Copy the reply in `file` (Markdown, or a module if it ends in .py) into the mailbox; returns its new path.

    Raises `RequestError` for a request that does not wait for a reply and for a file that the run could not use.
    """
    if not run.is_dir():
        raise RunFolderError(f"run folder {run} does not exist", "name the folder of a run that was started")
    if number not in waiting(run):
        waits = ", ".join(map(str, waiting(run))) or "none"
        taken = next((path for path in reply_paths(run, number) if path.exists()), None)
        what = f"has a reply already, {taken}" if taken else "does not wait for a reply"
        raise RequestError(f"request {number} of {run} {what}", f"requests that wait for a reply: {waits}")
    try:
        text = read_text(file)
    except FileNotFoundError as error:
        raise RequestError(f"no reply file at {file}", "give a Markdown file with the module, or the module") from error
    except (UnicodeDecodeError, OSError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text in UTF-8"
        raise RequestError(f"{file}: {why}", "give a Markdown file with the module, or the module") from error
    reply = FileReply(text, is_module=file.suffix == ".py")
    try:
        checked(text if reply.is_module else code_in(text))
    except Unusable as unusable:
        raise RequestError(f"{file} cannot be used: {unusable}", "correct it and hand it in again") from unusable
    markdown, module = reply_paths(run, number)
    target = module if reply.is_module else markdown
    write_file(run, f"{FOLDER}/{target.name}", text, durable=True)
    return target


def withdraw(run: Path, number: int) -> None:
    """Answer a request without a candidate, so that a run can end; its trial then says so."""
    markdown, _ = reply_paths(run, number)
    write_file(run, f"{FOLDER}/{markdown.name}", f"{WITHDRAWN}\n", durable=True)


def write_whole(path: Path, text: str) -> None:
    """Write a file atomically: a reader sees all of it or nothing, even after a power failure. Raises
    `RunFolderError`."""
    content = text.encode()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunFolderError(f"cannot write {path}: {error.strerror or error}") from error
    write_file(path.parent, path.name, content, durable=True)


def read_kept(run: Path, path: Path) -> str:
    """The text of a file in the mailbox; invalid UTF-8 is replaced. Raises `RunFolderError` where it was removed."""
    found = read_file(run, f"{FOLDER}/{path.name}")
    if found is None:
        raise RunFolderError(f"{path} was removed while the run is at work", "put it back, or begin another run")
    return found.decode("utf-8-sig", "replace")


class MailboxAdvisor(Advisor):
    """An advisor whose question and answer are files."""

    def complete(self, system: tuple[str, ...], prompt: str) -> None:
        return None
