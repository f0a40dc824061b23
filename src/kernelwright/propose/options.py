"""Options of each proposer: one options record per proposer."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from kernelwright.model import Record


class BuiltinOptions(Record, frozen=True, kw_only=True):
    sampler: str = "model"
    """The sampler that chooses configs: a name in `spaces.SAMPLERS`, as in `tune --sampler`."""


class MailboxOptions(Record, frozen=True, kw_only=True):
    settle_s: Annotated[float, Meta(ge=0)] = 5.0
    """An incomplete reply counts as unusable after this long without a change."""


class ReplayOptions(Record, frozen=True, kw_only=True):
    run: str
    """The folder of the recorded run."""


class ScriptOptions(Record, frozen=True, kw_only=True):
    file: str
    """JSON lines, or a Python file with REPLIES."""


class ModelOptions(Record, frozen=True, kw_only=True):
    """Options of the HTTP providers. None: the provider's own default, or not known."""

    model: Annotated[str, Meta(min_length=1)]
    """The provider's name of the model; there is no default."""
    base_url: str | None = None
    """Address of the API; None: from the environment variable, else the provider's own."""
    key_env: Annotated[str, Meta(pattern=r"^[A-Za-z][A-Za-z0-9_]*(KEY|TOKEN|key|token)$")] | None = None
    """The environment variable with the key, where it is not the usual one."""
    max_tokens: Annotated[int, Meta(ge=1)] | None = None
    """Maximum length of a reply in tokens, thinking included."""
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    timeout_s: Annotated[float, Meta(gt=0)] = 600.0
    """Timeout of one attempt; all attempts of a request together get three times as long."""
    edits: Literal["whole", "diff"] = "whole"
    """How an existing kernel is changed: by a whole new module, or by a diff, which is requested once more where it
    does not apply. Seeds, merges and simple rewrites are always whole modules."""
    plan: bool = False
    """Ask for a plan in words before each kernel, which costs a second request."""
    reflect: bool = True
    """Ask the model about surprises: one request for each trial that was much slower or faster than expected."""
    attempts: Annotated[int, Meta(ge=1, le=20)] = 6
    """Maximum attempts per request; after that a temporary failure stops the run."""
    input_usd_per_mtok: Annotated[float, Meta(ge=0)] | None = None
    output_usd_per_mtok: Annotated[float, Meta(ge=0)] | None = None
    """The price in USD per million tokens, where the built-in table has none or is out of date. Give both or
    neither."""
    cached_usd_per_mtok: Annotated[float, Meta(ge=0)] | None = None
    """Price of cached input, only together with the other two; None: the price of other input."""
