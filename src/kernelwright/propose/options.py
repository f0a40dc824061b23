"""Options of each proposer: one record of options per proposer.

`table.py` makes proposers of them. They are kept in the journal; keys come from the environment.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from kernelwright.model import Record


class BuiltinOptions(Record, frozen=True, kw_only=True):
    sampler: str = "model"
    """What chooses the configs: a name in `spaces.SAMPLERS`, the same as `tune --sampler`."""


class MailboxOptions(Record, frozen=True, kw_only=True):
    settle_s: Annotated[float, Meta(ge=0)] = 5.0
    """A reply that is not whole counts as unusable after this long without a change."""


class ReplayOptions(Record, frozen=True, kw_only=True):
    run: str
    """The folder of the recorded run."""


class ScriptOptions(Record, frozen=True, kw_only=True):
    file: str
    """JSON lines, or a Python file with REPLIES."""


class ModelOptions(Record, frozen=True, kw_only=True):
    """Shared by the HTTP providers. None: the provider's own default, or not known."""

    model: Annotated[str, Meta(min_length=1)]
    """The provider's name of the model; none is guessed."""
    base_url: str | None = None
    """Where the interface is; None: the environment's, else the provider's own."""
    key_env: Annotated[str, Meta(pattern=r"^[A-Za-z][A-Za-z0-9_]*(KEY|TOKEN|key|token)$")] | None = None
    """The environment variable that holds the key, where it is not the usual one."""
    max_tokens: Annotated[int, Meta(ge=1)] | None = None
    """The most that a reply may hold, thinking included."""
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    timeout_s: Annotated[float, Meta(gt=0)] = 600.0
    """For one attempt; all attempts of a request together get three times as long."""
    edits: Literal["whole", "diff"] = "whole"
    """How a kernel that exists is changed: written again whole, or by a diff, which is asked for once more where it
    does not apply. Seeds, mergers and simple rewrites are always whole."""
    plan: bool = False
    """Whether a plan in words is asked for before each kernel, which costs a second request."""
    reflect: bool = True
    """Whether the model is asked about surprises: one request for each trial that did what was not expected."""
    attempts: Annotated[int, Meta(ge=1, le=20)] = 6
    """How often a request is made before the run stops on a failure that may pass."""
    input_usd_per_mtok: Annotated[float, Meta(ge=0)] | None = None
    output_usd_per_mtok: Annotated[float, Meta(ge=0)] | None = None
    """The price, where the built-in table does not know it or is out of date. Both or neither."""
    cached_usd_per_mtok: Annotated[float, Meta(ge=0)] | None = None
    """With these two, the price of input that is read from a cache; None: that of other input."""
