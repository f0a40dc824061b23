"""Prices of models in US dollars per million tokens.

Costs from here are upper estimates: cached input is counted at its full price. A cost that the provider sends is used
instead. A model that is not listed has no cost (None, "not known"), never a guessed one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Price:
    """up_to: the most input tokens for which it holds (longer prompts cost more); None: any."""

    input_usd_per_mtok: float
    output_usd_per_mtok: float
    up_to: int | None = None

    def cost_usd(self, input_tokens: int, output_tokens: int) -> float | None:
        if self.up_to is not None and input_tokens > self.up_to:
            return None
        return (input_tokens * self.input_usd_per_mtok + output_tokens * self.output_usd_per_mtok) / 1e6


# A: platform.claude.com/docs, page "What's new in Claude Opus 5", table of the current models (read 2026-11-21).
# L: github.com/simonw/llm-prices, data/anthropic.json and data/openai.json (read 2026-11-21).
# O: L, and morphllm.com/openai-api-pricing quoting developers.openai.com/api/docs/pricing of June 2026.
PRICES = {
    "claude-fable-5-1": Price(10.0, 50.0),  # A, L
    "claude-opus-5-5": Price(4.0, 20.0),  # A, L
    "claude-opus-5": Price(5.0, 25.0),  # A, L
    "claude-opus-4-8": Price(5.0, 25.0),  # L
    "claude-opus-4-7": Price(5.0, 25.0),  # L
    "claude-opus-4-6": Price(5.0, 25.0),  # L
    "claude-opus-4-5": Price(5.0, 25.0),  # L
    "claude-sonnet-5-5": Price(2.0, 10.0),  # A, L
    "claude-sonnet-5": Price(2.0, 10.0),  # L
    "claude-sonnet-4-5": Price(3.0, 15.0, up_to=200_000),  # L
    "claude-haiku-4-5": Price(1.0, 5.0),  # L
    "gpt-5.5-pro": Price(30.0, 180.0, up_to=272_000),  # O
    "gpt-5.5": Price(5.0, 30.0, up_to=272_000),  # O
    "gpt-5.4": Price(2.5, 15.0, up_to=272_000),  # O
    "gpt-5.4-mini": Price(0.75, 4.5),  # O
    "gpt-5.4-nano": Price(0.2, 1.25),  # O
    "gpt-5.2": Price(1.75, 14.0),  # L
    "gpt-5.1": Price(1.25, 10.0),  # L
    "gpt-5": Price(1.25, 10.0),  # L
    "gpt-5-mini": Price(0.25, 2.0),  # L
    "gpt-5-nano": Price(0.05, 0.4),  # L
    "gpt-4.1": Price(2.0, 8.0),  # L
    "gpt-4.1-mini": Price(0.4, 1.6),  # L
    "gpt-4o": Price(2.5, 10.0),  # L
    "gpt-4o-mini": Price(0.15, 0.6),  # L
}


def price_of(model: str) -> Price | None:
    """The price of a model by its name, which may end in a date ("-20250929", "-2025-04-14"); None: not known."""
    return PRICES.get(re.sub(r"-(\d{8}|\d{4}-\d{2}-\d{2})$", "", model))
