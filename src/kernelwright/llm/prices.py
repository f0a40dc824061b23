"""Prices of models in US dollars per million tokens.

Where the price of cached input is not known, it counts as other input, so the computed cost is an upper estimate. A
cost that the provider sends is used instead. A model that is not listed has no cost (None, "not known"); prices are
never guessed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Price:
    """The price of one model.

    up_to: maximum input tokens for this price (longer prompts cost more); None: any. cached_usd_per_mtok: price of
    input read from a cache, None where it is not known. written: price of input written to a cache, relative to other
    input.
    """

    input_usd_per_mtok: float
    output_usd_per_mtok: float
    up_to: int | None = None
    cached_usd_per_mtok: float | None = None
    written: float = 1.0

    def cost_usd(self, input_tokens: int, output_tokens: int, cached: int = 0, written: int = 0) -> float | None:
        """cached, written: the parts of the input that were read from and written to a cache. None above `up_to`."""
        if self.up_to is not None and input_tokens > self.up_to:
            return None
        each = self.input_usd_per_mtok
        reading = each if self.cached_usd_per_mtok is None else self.cached_usd_per_mtok
        sent = (input_tokens - cached - written) * each + cached * reading + written * each * self.written
        return (sent + output_tokens * self.output_usd_per_mtok) / 1e6

    @property
    def highest_usd_per_mtok(self) -> float:
        """The highest price of any token."""
        return max(self.input_usd_per_mtok * max(1.0, self.written), self.output_usd_per_mtok)


ANTHROPIC_WRITES = 1.25
"""Price of writing to the five-minute cache, relative to other input, for every model (Anthropic's page "Pricing",
"Prompt caching", as developersdigest.tech/blog/fable-5-prompt-caching-economics quotes it, June 2026)."""


def anthropic(sent: float, output: float, cached: float, up_to: int | None = None) -> Price:
    return Price(sent, output, up_to, cached, ANTHROPIC_WRITES)


# A: platform.claude.com/docs, page "What's new in Claude Opus 5", table of the current models (read 2026-11-21).
# L: github.com/simonw/llm-prices, data/anthropic.json and data/openai.json (read 2026-11-21).
# O: L, and morphllm.com/openai-api-pricing quoting developers.openai.com/api/docs/pricing of June 2026.
# Cached input: L's `input_cached` for every model (read 2026-11-23). For claude-sonnet-5-5 Anthropic's page has half of
# it, as docs.rs/synaps/0.10.2 quotes it; the higher one is taken. OpenAI charges nothing more for writing.
PRICES = {
    "claude-fable-5-1": anthropic(10.0, 50.0, 0.25),  # A, L
    "claude-opus-5-5": anthropic(4.0, 20.0, 0.2),  # A, L
    "claude-opus-5": anthropic(5.0, 25.0, 0.5),  # A, L
    "claude-opus-4-8": anthropic(5.0, 25.0, 0.5),  # L
    "claude-opus-4-7": anthropic(5.0, 25.0, 0.5),  # L
    "claude-opus-4-6": anthropic(5.0, 25.0, 0.5),  # L
    "claude-opus-4-5": anthropic(5.0, 25.0, 0.5),  # L
    "claude-sonnet-5-5": anthropic(2.0, 10.0, 0.2),  # A, L
    "claude-sonnet-5": anthropic(2.0, 10.0, 0.2),  # L
    "claude-sonnet-4-5": anthropic(3.0, 15.0, 0.3, up_to=200_000),  # L
    "claude-haiku-4-5": anthropic(1.0, 5.0, 0.1),  # L
    "gpt-5.5-pro": Price(30.0, 180.0, up_to=272_000),  # O
    "gpt-5.5": Price(5.0, 30.0, up_to=272_000, cached_usd_per_mtok=0.5),  # O
    "gpt-5.4": Price(2.5, 15.0, up_to=272_000, cached_usd_per_mtok=0.25),  # O
    "gpt-5.4-mini": Price(0.75, 4.5, cached_usd_per_mtok=0.075),  # O
    "gpt-5.4-nano": Price(0.2, 1.25, cached_usd_per_mtok=0.02),  # O
    "gpt-5.2": Price(1.75, 14.0, cached_usd_per_mtok=0.175),  # L
    "gpt-5.1": Price(1.25, 10.0, cached_usd_per_mtok=0.125),  # L
    "gpt-5": Price(1.25, 10.0, cached_usd_per_mtok=0.125),  # L
    "gpt-5-mini": Price(0.25, 2.0, cached_usd_per_mtok=0.025),  # L
    "gpt-5-nano": Price(0.05, 0.4, cached_usd_per_mtok=0.005),  # L
    "gpt-4.1": Price(2.0, 8.0, cached_usd_per_mtok=0.5),  # L
    "gpt-4.1-mini": Price(0.4, 1.6, cached_usd_per_mtok=0.1),  # L
    "gpt-4o": Price(2.5, 10.0, cached_usd_per_mtok=1.25),  # L
    "gpt-4o-mini": Price(0.15, 0.6, cached_usd_per_mtok=0.075),  # L
}


def price_of(model: str) -> Price | None:
    """The price of a model by its name, which may end in a date ("-20250929", "-2025-04-14"); None: not known."""
    return PRICES.get(re.sub(r"-(\d{8}|\d{4}-\d{2}-\d{2})$", "", model))
