"""Validation of a server's reply: its text, and the token counts and cost that it states.

Every text is made encodable and has a maximum length. Every figure is a finite number in a plausible range, or the
reply says in `doubt` that its figures cannot be used.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from kernelwright.llm.prices import Price
from kernelwright.llm.protocol import Reply
from kernelwright.model import Usage
from kernelwright.text.escape import encodable

LARGEST_TEXT = 1 << 20
"""Maximum characters. The longest completions on offer are 128,000 tokens, about half of this."""
LARGEST_FINISH = 100
MOST_TOKENS = 10**8
"""Maximum tokens of one answer. The largest context windows on offer have some millions."""
MOST_USD = 10**4
"""Maximum cost of one answer. The largest window at the highest price of `prices` costs a thousandth of this."""


def received(text: object, finish: object, usage: Usage, doubt: str = "") -> Reply:
    """The validated reply. A text that is not a string counts as empty. doubt: why the figures of `usage` cannot be
    used, "" where they can."""
    said = encodable(text) if isinstance(text, str) else ""
    ended = encodable(finish)[:LARGEST_FINISH] if isinstance(finish, str) else ""
    if len(said) > LARGEST_TEXT:
        said, ended = said[:LARGEST_TEXT], f"longer than {LARGEST_TEXT} characters"
    return Reply(said, usage, ended, doubt)


@dataclass(frozen=True)
class Counts:
    """The figures of a reply as the server sent them, None where it sent none.

    input: its parts, which add up to all input tokens. cached and written: the parts of all input that were read from
    and written to a cache. stated_usd: the cost, which replaces the one computed from the price.
    """

    input: list[object]
    output: object
    cached: object = None
    written: object = None
    stated_usd: object = None


def usage_of(counts: Counts, price: Price | None, seconds: float, requests: int) -> tuple[Usage, str]:
    """The usage, and why its figures cannot be used; "" where they can."""
    sent = [*counts.input, counts.output, counts.cached, counts.written]
    known = [tokens(value) for value in sent]
    doubts = [f"{value!r:.40} tokens" for value, count in zip(sent, known, strict=True) if count is None]
    *inputs, output, cached, written = [count or 0 for count in known] if not doubts else [0] * len(sent)
    if cached + written > sum(inputs):
        doubts.append(f"{cached + written} cached of {sum(inputs)} tokens")
        cached = written = 0
    cost_usd = None
    if price is not None and not doubts and (any(inputs) or output):
        cost_usd = price.cost_usd(sum(inputs), output, cached, written)
    if counts.stated_usd is not None:
        stated = money(counts.stated_usd)
        cost_usd = cost_usd if stated is None else stated
        if stated is None:
            doubts.append(f"{counts.stated_usd!r:.40} USD")
    usage = Usage(
        input_tokens=sum(inputs), output_tokens=output, cost_usd=cost_usd, seconds=seconds, requests=requests,
        cached_tokens=cached, cache_written_tokens=written,
    )  # fmt: skip
    return usage, ", ".join(dict.fromkeys(doubts))


def tokens(value: object) -> int | None:
    """A token count, 0 where nothing was sent; None for an invalid one."""
    if value is None:
        return 0
    figure = _figure(value, MOST_TOKENS)
    return int(figure) if figure is not None and figure == int(figure) else None


def money(value: object) -> float | None:
    """An amount in US dollars; None for an invalid one."""
    figure = _figure(value, MOST_USD)
    return None if figure is None else float(figure)


def _figure(value: object, most: int) -> int | float | None:
    """A number from 0 to `most`; None for anything else, such as NaN, infinity and booleans."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if not (isinstance(value, float) and math.isnan(value)) and 0 <= value <= most else None


def assumed(reply: Reply, asked: str, dearest: Usage) -> Usage:
    """The assumed usage of a reply without usable figures: the largest of any answer so far (`dearest`). Where none is
    known, one token per byte, since a token has at least one byte. asked: the prompt."""
    known = dearest if dearest.tokens else Usage(
        input_tokens=len(asked.encode()), output_tokens=len(reply.text.encode())
    )  # fmt: skip
    costs_usd = [one for one in (reply.usage.cost_usd, dearest.cost_usd) if one is not None]
    return Usage(
        input_tokens=max(known.input_tokens, reply.usage.input_tokens),
        output_tokens=max(known.output_tokens, reply.usage.output_tokens),
        cost_usd=max(costs_usd, default=None),
        seconds=reply.usage.seconds,
        requests=reply.usage.requests,
        assumed=1,
    )
