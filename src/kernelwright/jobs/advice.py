"""Asks a model once for configs to try first, before `tune` searches; question and answer are files.

An answer is a file before it is used, and where that file exists nothing is asked. So a reply is paid for once, and a
person or a program can write it as well. The cost of a reply is a file too; it counts for the reply that it names.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import msgspec

from kernelwright import codec
from kernelwright.errors import RequestError
from kernelwright.jobs.worker import Notify
from kernelwright.llm.received import assumed
from kernelwright.model import Environment, ProblemInfo, Record, Scalar, Usage
from kernelwright.propose.advice import advice_prompt, rows_in
from kernelwright.propose.conversation import whole
from kernelwright.propose.mailbox import write_whole
from kernelwright.propose.protocol import Advisor
from kernelwright.propose.reply import Unusable
from kernelwright.propose.table import build_advisor
from kernelwright.spaces.space import Space
from kernelwright.spaces.stated import configs_from
from kernelwright.tune import Advice

NamedAdvisor = tuple[Advisor, str]
"""An advisor, and its name for the report."""

QUESTION, ANSWER, COST = "advice.prompt.md", "advice.reply.md", "advice.cost.json"


class Cost(Record, frozen=True, kw_only=True):
    """The cost of the reply with this hash."""

    reply: str
    usage: Usage


def choose_advisor(
    name: str | None, options: Mapping[str, Scalar], model: str | None = None, base_url: str | None = None
) -> NamedAdvisor | None:
    """The advisor of this name; None where none is named.

    model, base_url: two of its options. Raises `RequestError` for one that is given twice, and for options without an
    advisor; `ConfigError` for an unknown advisor and for an option that does not fit.
    """
    given = dict(options)
    for option, value in (("model", model), ("base_url", base_url)):
        if value is not None:
            if option in given:
                raise RequestError(f"{option} is given twice", f"leave --advisor-option {option}=… out")
            given[option] = value
    if name is None:
        if given:
            raise RequestError(f"{', '.join(given)} is for an advisor, and none is named", "name one with --advisor")
        return None
    return build_advisor(name, given)


def advised(
    asked: NamedAdvisor,
    folder: Path,
    source: str,
    space: Space,
    problem: ProblemInfo | str,
    where: Environment,
    notify: Notify,
) -> Advice | None:
    """The advisor's configs; None where its answer has yet to come. Raises `ProviderError` where it gives none."""
    advisor, author = asked
    answer = folder / ANSWER
    known = answer.exists()
    if not known:
        prompt = advice_prompt(source, space, problem, where)
        write_whole(folder / QUESTION, whole(prompt))
        notify(f"asking {author} for configs to begin with: {folder / QUESTION}")
        with contextlib.closing(advisor):
            reply = advisor.complete(prompt.system, prompt.text)
        if reply is None:
            return None
        if reply.doubt:
            notify(f"the reply states {reply.doubt}, so its cost is assumed")
            reply = replace(reply, usage=assumed(reply, prompt.text, Usage()))
        write_whole(folder / COST, codec.encode(Cost(reply=codec.sha(reply.text), usage=reply.usage)).decode())
        write_whole(answer, reply.text)
    text = read_answer(answer)
    usage = cost_of(folder / COST, text)
    try:
        configs, useless = configs_from(rows_in(text), space)
    except Unusable as unusable:
        if known:
            raise RequestError(
                f"{answer} cannot be used: {unusable}", "correct it, or remove it and ask again"
            ) from None
        return Advice(author=author, configs=(), useless=0, usage=usage, reason=str(unusable))
    return Advice(author=author, configs=tuple(configs), useless=useless, usage=usage)


def read_answer(file: Path) -> str:
    """Raises `RequestError` where it is no text."""
    try:
        return file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RequestError(f"{file} is not text in UTF-8 (byte {error.start})", "correct it, or remove it") from error


def cost_of(file: Path, reply: str) -> Usage:
    """The cost of a reply, also where an earlier call paid for it; nothing for one that was written by hand."""
    if not file.exists():
        return Usage()
    try:
        cost = codec.decode(file.read_bytes(), Cost)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise RequestError(f"{file} does not say what a reply cost: {error}", "remove it") from error
    return cost.usage if cost.reply == codec.sha(reply) else Usage()
