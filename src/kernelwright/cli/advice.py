"""The one question that `tune` asks a model before it searches, kept as two files in the tuning's folder.

What is asked and read is `propose.advice`. The rule: an answer is a file before it is used, and where that file is
there nothing is asked, so a reply is paid for once and a person or a program can write it just as well.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from kernelwright.cli import options
from kernelwright.cli.output import note
from kernelwright.errors import RequestError
from kernelwright.model import Environment, ProblemInfo, Scalar, Usage
from kernelwright.tuning.space import Space

if TYPE_CHECKING:
    from kernelwright.propose.advisors import Advisor
    from kernelwright.tune import Advice

QUESTION, ANSWER = "advice.prompt.md", "advice.reply.md"


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
    from kernelwright.propose.advice import advice_prompt, rows_in
    from kernelwright.propose.conversation import whole
    from kernelwright.propose.mailbox import write_whole
    from kernelwright.propose.reply import Unusable
    from kernelwright.tune import Advice
    from kernelwright.tune.stated import configs_from

    advisor, author = asked
    answer, usage = folder / ANSWER, Usage()
    known = answer.exists()
    if not known:
        prompt = advice_prompt(source, space, problem, where)
        write_whole(folder / QUESTION, whole(prompt))
        note(f"asking {author} for configs to begin with: {folder / QUESTION}")
        with contextlib.closing(advisor):
            reply = advisor.complete(prompt.system, prompt.text)
        if reply is None:
            return None
        write_whole(answer, reply.text)
        usage = reply.usage
    try:
        configs, useless = configs_from(rows_in(answer.read_text(encoding="utf-8")), space)
    except Unusable as unusable:
        if known:
            raise RequestError(f"{answer} cannot be used: {unusable}", "mend it, or remove it to ask again") from None
        return Advice(author=author, configs=(), useless=0, usage=usage, reason=str(unusable))
    return Advice(author=author, configs=tuple(configs), useless=useless, usage=usage)
