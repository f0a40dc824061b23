"""The table of proposers by name, and their construction from options and environment variables.

HTTP is imported only when a provider is built. A missing option, key or file is reported when the proposer is built,
before a run begins.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from kernelwright.errors import ConfigError, ProviderError
from kernelwright.model import Record, Scalar
from kernelwright.options import read_options
from kernelwright.propose.builtin import Builtin
from kernelwright.propose.inductor import Inductor
from kernelwright.propose.mailbox import Mailbox, MailboxAdvisor
from kernelwright.propose.model import ModelProposer
from kernelwright.propose.options import BuiltinOptions, MailboxOptions, ModelOptions, ReplayOptions, ScriptOptions
from kernelwright.propose.protocol import Advisor, Proposer
from kernelwright.propose.replay import Replay
from kernelwright.propose.script import Script, ScriptAdvisor

if TYPE_CHECKING:
    from kernelwright.llm.http import JsonClient
    from kernelwright.llm.prices import Price
    from kernelwright.llm.protocol import Provider
    from kernelwright.llm.served import Served

Options = Mapping[str, Scalar]
Variables = Mapping[str, str]
"""Environment variables by name."""

R = TypeVar("R", bound=Record)


class NoOptions(Record, frozen=True, kw_only=True):
    """The options of a proposer without options."""


@dataclass(frozen=True)
class Entry(Generic[R]):
    """A line of the table: how to build a proposer from its options and the environment.

    advisor: builds the model that `tune` asks for configs; None where the proposer is not a model. writes_code: whether
    candidates differ in more than numbers; strategies in rounds then choose operators and tune new structures.
    varies_numbers: whether candidates differ in numbers only, at no cost; strategies then plan rounds ahead.
    """

    options: type[R]
    proposer: Callable[[R, Variables], Proposer]
    advisor: Callable[[R, Variables], Advisor] | None = None
    writes_code: bool = False
    varies_numbers: bool = False
    provider: Callable[[R, Variables], Served] | None = None
    """Builds the provider that its prompts are sent to; None where no prompt is sent."""


def build_proposer(name: str, options: Options | None = None, variables: Variables = os.environ) -> Proposer:
    """The proposer with this name. Raises `ConfigError` for an unknown proposer, an option that does not fit and a
    missing key; `RunFolderError` for a run that cannot be replayed."""
    if name not in PROPOSERS:
        raise ConfigError(f"there is no proposer {name!r}", f"choose one of {', '.join(PROPOSERS)}")
    entry = PROPOSERS[name]
    return entry.proposer(read_options(f"proposer {name}", options or {}, entry.options), variables)


@dataclass(frozen=True)
class Shown:
    """A proposer that sends nothing: instead of calling a provider it raises `NothingSent` with the request it would
    send.

    answers: maximum number of answers per candidate; None where a person answers files. max_tokens: limit of one
    answer, None for the provider's own limit. price: None where it is not known.
    """

    proposer: Proposer
    answers: int | None = None
    max_tokens: int | None = None
    price: Price | None = None


def shown_proposer(name: str, options: Options, variables: Variables) -> Shown | None:
    """The proposer with this name, sending nothing; None for a proposer without prompts. Raises the errors of
    `build_proposer`."""
    entry = PROPOSERS[name]
    chosen = read_options(f"proposer {name}", options, entry.options)
    if isinstance(chosen, MailboxOptions):
        return Shown(entry.proposer(chosen, variables))
    if entry.provider is None:
        return None
    from kernelwright.llm.anthropic import DEFAULT_MAX_TOKENS
    from kernelwright.llm.served import Withholding

    writer = written_by(name, Withholding(entry.provider(chosen, variables)), chosen)
    answers = 1 + chosen.plan + chosen.reflect + (chosen.edits == "diff")
    most = chosen.max_tokens or (DEFAULT_MAX_TOKENS if name == "anthropic" else None)
    return Shown(writer, answers, most, price(name, chosen))


def require_askable(name: str, options: Options, usd: float | None, variables: Variables = os.environ) -> None:
    """Ask the provider whether the model of a search can be asked, before the search begins. usd: the search's limit.

    Raises `ConfigError` for a limit in USD without a price, `ProviderError` for a model that cannot be asked.
    """
    entry = PROPOSERS[name]
    if entry.provider is None:
        return
    chosen = read_options(f"proposer {name}", options, entry.options)
    if usd is not None and price(name, chosen) is None:
        raise ConfigError(
            f"the price of {chosen.model} is not known, so --usd cannot be enforced",
            "give --proposer-option input_usd_per_mtok=… and output_usd_per_mtok=…, or limit the search by --tokens",
        )
    with contextlib.closing(entry.provider(chosen, variables)) as provider:
        if why := provider.refusal():
            raise ProviderError(
                f"{chosen.model} cannot be asked: {why}", "check the model's name, the key and --base-url"
            )


def build_advisor(name: str, options: Options, variables: Variables = os.environ) -> tuple[Advisor, str]:
    """The advisor and its author name. Raises `ConfigError` for an unknown advisor, an option that does not fit, or a
    missing key."""
    entry = PROPOSERS.get(name)
    if entry is None or entry.advisor is None:
        known = [name for name, entry in PROPOSERS.items() if entry.advisor is not None]
        raise ConfigError(f"there is no advisor {name!r}", f"choose one of {', '.join(known)}")
    chosen = read_options(f"advisor {name}", options, entry.options)
    author = f"{name}:{chosen.model}" if isinstance(chosen, ModelOptions) else name
    return entry.advisor(chosen, variables), author


def writes_code(name: str) -> bool:
    """Whether the proposer with this name writes code; False for a name that this version does not know."""
    return name in PROPOSERS and PROPOSERS[name].writes_code


def varies_numbers(name: str) -> bool:
    """Whether the proposer with this name only varies numbers; False for a name that this version does not know."""
    return name in PROPOSERS and PROPOSERS[name].varies_numbers


# --- the HTTP providers and their settings ------------------------------------------------------------------


def openai_provider(chosen: ModelOptions, variables: Variables) -> Served:
    """Reads OPENAI_API_KEY (optional for another server, see base_url) and OPENAI_BASE_URL."""
    from kernelwright.llm.openai import OPENAI_URL, OpenAI

    base_url = address("openai", chosen.base_url or variables.get("OPENAI_BASE_URL") or OPENAI_URL)
    optional = base_url.rstrip("/") != OPENAI_URL and chosen.key_env is None
    return OpenAI(
        client(chosen),
        chosen.model,
        base_url,
        key=key("openai", chosen.key_env or "OPENAI_API_KEY", variables, optional),
        price=price("openai", chosen),
        max_tokens=chosen.max_tokens,
        temperature=chosen.temperature,
    )


def anthropic_provider(chosen: ModelOptions, variables: Variables) -> Served:
    """Reads ANTHROPIC_API_KEY and ANTHROPIC_BASE_URL."""
    from kernelwright.llm.anthropic import ANTHROPIC_URL, DEFAULT_MAX_TOKENS, Anthropic

    secret = key("anthropic", chosen.key_env or "ANTHROPIC_API_KEY", variables, optional=False)
    assert secret is not None
    return Anthropic(
        client(chosen),
        chosen.model,
        secret,
        address("anthropic", chosen.base_url or variables.get("ANTHROPIC_BASE_URL") or ANTHROPIC_URL),
        price=price("anthropic", chosen),
        max_tokens=chosen.max_tokens or DEFAULT_MAX_TOKENS,
        temperature=chosen.temperature,
    )


def client(chosen: ModelOptions) -> JsonClient:
    from kernelwright.llm.http import JsonClient, Patience

    return JsonClient(Patience(attempts=chosen.attempts, attempt_s=chosen.timeout_s, deadline_s=3 * chosen.timeout_s))


def key(proposer: str, variable: str, variables: Variables, optional: bool) -> str | None:
    """The API key in this environment variable; keys are read from nowhere else. None: optional and not set.

    Raises `ConfigError`, without the variable's value, where a required key is missing, or where it could not be sent
    as it is.
    """
    secret = variables.get(variable, "").strip()
    if not secret and not optional:
        raise ConfigError(
            f"proposer {proposer} needs a key, and the environment variable {variable} is not set",
            f"export {variable}=…, or work without a model: builtin, mailbox",
        )
    if not all("!" <= character <= "~" for character in secret):
        raise ConfigError(
            f"the environment variable {variable} holds no key: a key is printable ASCII without blanks",
            "export it again, without line breaks",
        )
    return secret or None


def address(proposer: str, url: str) -> str:
    """`url`, checked. Raises `ConfigError` for an invalid address, and for one with a user, password or query, because
    the journal stores options."""
    from kernelwright.llm.http import is_address, without_query

    if not is_address(url):
        raise ConfigError(f"proposer {proposer} cannot reach {without_query(url)}: it is no http or https address")
    if without_query(url) != url:
        raise ConfigError(
            f"the address for proposer {proposer} holds a name, a password, a query or odd characters",
            "give scheme, host and path only, and put the key into the environment",
        )
    return url


def price(proposer: str, chosen: ModelOptions) -> Price | None:
    """The price in the options, else the built-in table's; None: not known. Raises `ConfigError` for an incomplete
    price."""
    from kernelwright.llm.prices import ANTHROPIC_WRITES, Price, price_of

    given, written = chosen.input_usd_per_mtok, chosen.output_usd_per_mtok
    if (given is None) != (written is None):
        raise ConfigError(
            f"proposer {proposer} was given half a price", "give both input_usd_per_mtok and output_usd_per_mtok"
        )
    if given is None and chosen.cached_usd_per_mtok is not None:
        raise ConfigError(
            f"proposer {proposer} was given the price of cached input alone",
            "give input_usd_per_mtok and output_usd_per_mtok too",
        )
    if given is None or written is None:
        return price_of(chosen.model)
    writes = ANTHROPIC_WRITES if proposer == "anthropic" else 1.0
    return Price(given, written, cached_usd_per_mtok=chosen.cached_usd_per_mtok, written=writes)


def model_entry(name: str, provider: Callable[[ModelOptions, Variables], Served]) -> Entry[ModelOptions]:
    """The table entry of a model that is called over HTTP."""

    def proposer(chosen: ModelOptions, variables: Variables) -> Proposer:
        return written_by(name, provider(chosen, variables), chosen)

    return Entry(ModelOptions, proposer, provider, writes_code=True, provider=provider)


def written_by(name: str, provider: Provider, chosen: ModelOptions) -> ModelProposer:
    return ModelProposer(provider, f"{name}:{chosen.model}", chosen.edits, chosen.plan, chosen.reflect)


PROPOSERS: dict[str, Entry[Any]] = {
    "builtin": Entry(BuiltinOptions, lambda chosen, variables: Builtin(chosen.sampler), varies_numbers=True),
    "inductor": Entry(BuiltinOptions, lambda chosen, variables: Inductor(chosen.sampler), varies_numbers=True),
    "openai": model_entry("openai", openai_provider),
    "anthropic": model_entry("anthropic", anthropic_provider),
    "mailbox": Entry(
        MailboxOptions,
        lambda chosen, variables: Mailbox(chosen.settle_s),
        lambda chosen, variables: MailboxAdvisor(),
        writes_code=True,
    ),
    "replay": Entry(ReplayOptions, lambda chosen, variables: Replay(Path(chosen.run))),
    "script": Entry(
        ScriptOptions,
        lambda chosen, variables: Script(Path(chosen.file)),
        lambda chosen, variables: ScriptAdvisor(Path(chosen.file)),
    ),
}
