"""The one question that `tune` asks a model before it searches, kept as files in the tuning's folder.

What is asked and read is `propose.advice`. The rule: an answer is a file before it is used, and where that file is
there nothing is asked, so a reply is paid for once and a person or a program can write it just as well. What a reply
cost is a file too, which counts for the reply that it names.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from kernelwright import codec
from kernelwright.cli import options
from kernelwright.cli.output import note
from kernelwright.errors import RequestError
from kernelwright.model import Environment, ProblemInfo, Record, Scalar, Usage
from kernelwright.spaces.space import Space

if TYPE_CHECKING:
    from kernelwright.propose.advisors import Advisor
    from kernelwright.tune import Advice

QUESTION, ANSWER, COST = "advice.prompt.md", "advice.reply.md", "advice.cost.json"


class Cost(Record, frozen=True, kw_only=True):
    """What the reply with this hash cost."""

    reply: str
    usage: Usage


def advisor_from(
    name: str | None, model: str | None, base_url: str | None, texts: tuple[str, ...]
) -> tuple[Advisor, str] | None:
    """The advisor, from the options as typed. None where none was asked for."""
    from kernelwright.propose.advisors import build_advisor

    given: dict[str, Scalar] = options.pairs(texts, "--advisor-option")
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
    asked: tuple[Advisor, str], folder: Path, source: str, space: Space, problem: ProblemInfo | str, where: Environment
) -> Advice | None:
    """What the advisor said; None where its answer is yet to come. Raises `ProviderError` when none came."""
    from kernelwright.llm.received import assumed
    from kernelwright.propose.advice import advice_prompt, rows_in
    from kernelwright.propose.conversation import whole
    from kernelwright.propose.mailbox import write_whole
    from kernelwright.propose.reply import Unusable
    from kernelwright.spaces.stated import configs_from
    from kernelwright.tune import Advice

    advisor, author = asked
    answer = folder / ANSWER
    known = answer.exists()
    if not known:
        prompt = advice_prompt(source, space, problem, where)
        write_whole(folder / QUESTION, whole(prompt))
        note(f"asking {author} for configs to begin with: {folder / QUESTION}")
        with contextlib.closing(advisor):
            reply = advisor.complete(prompt.system, prompt.text)
        if reply is None:
            return None
        if reply.doubt:
            note(f"the reply states {reply.doubt}, so its cost is assumed")
            reply = replace(reply, usage=assumed(reply, prompt.text, Usage()))
        write_whole(folder / COST, codec.encode(Cost(reply=codec.sha(reply.text), usage=reply.usage)).decode())
        write_whole(answer, reply.text)
    text = read_answer(answer)
    usage = cost_of(folder / COST, text)
    try:
        configs, useless = configs_from(rows_in(text), space)
    except Unusable as unusable:
        if known:
            raise RequestError(f"{answer} cannot be used: {unusable}", "mend it, or remove it to ask again") from None
        return Advice(author=author, configs=(), useless=0, usage=usage, reason=str(unusable))
    return Advice(author=author, configs=tuple(configs), useless=useless, usage=usage)


def read_answer(file: Path) -> str:
    """Raises `RequestError` where it is no text."""
    try:
        return file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RequestError(f"{file} is not text in UTF-8 (byte {error.start})", "mend it, or remove it") from error


def cost_of(file: Path, reply: str) -> Usage:
    """What a reply cost, also when an earlier call paid for it; nothing where somebody wrote it by hand."""
    if not file.exists():
        return Usage()
    try:
        cost = codec.decode(file.read_bytes(), Cost)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise RequestError(f"{file} does not say what a reply cost: {error}", "remove it") from error
    return cost.usage if cost.reply == codec.sha(reply) else Usage()
