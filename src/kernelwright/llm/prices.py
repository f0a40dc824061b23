"""Prices of models in US dollars per million tokens, from `prices.toml`, which names its sources.

Where the price of cached input is not known, it counts as other input, so the computed cost is an upper estimate. A
cost that the provider sends is used instead. A model that is not listed has no cost (None, "not known"); prices are
never guessed.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass

from kernelwright.templates import shipped


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


def _read() -> dict[str, Price]:
    makers = tomllib.loads(shipped("kernelwright.llm", "prices.toml"))
    writes = {"anthropic": ANTHROPIC_WRITES, "openai": 1.0}
    return {
        model: Price(row["input"], row["output"], row.get("up_to"), row.get("cached"), writes[maker])
        for maker, rows in makers.items()
        for model, row in rows.items()
    }


PRICES = _read()


def price_of(model: str) -> Price | None:
    """The price of a model by its name, which may end in a date ("-20250929", "-2025-04-14"); None: not known."""
    return PRICES.get(re.sub(r"-(\d{8}|\d{4}-\d{2}-\d{2})$", "", model))
