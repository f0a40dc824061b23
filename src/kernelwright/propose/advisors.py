"""Whom `tune` may ask for configs to begin with, by name. What is asked and read is `advice`.

The one rule: an advisor is a provider of one reply, or None where a person or a program answers later, by a file.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from kernelwright.errors import ConfigError
from kernelwright.llm.protocol import Reply
from kernelwright.propose.options import MailboxOptions, ModelOptions, ScriptOptions, read_options
from kernelwright.propose.script import read_script
from kernelwright.propose.table import Options, Variables, anthropic_provider, openai_provider


class Advisor(Protocol):
    def complete(self, system: str, prompt: str) -> Reply | None:
        """The answer; None: it will be put beside the question as a file. Raises `ProviderError` when none came."""
        ...

    def close(self) -> None: ...


class Later:
    """The mailbox: the question is a file, and so will be the answer."""

    def complete(self, system: str, prompt: str) -> None:
        return None

    def close(self) -> None:
        """Nothing to let go of."""


class Scripted:
    """The first reply of a script."""

    def __init__(self, file: Path) -> None:
        first = read_script(file)[0]
        if first.reply is None:
            raise ConfigError(f"the first line of the script {file} is no reply", 'write {"reply": "…"}')
        self._reply = Reply(text=first.reply, usage=first.usage, finish="stop")

    def complete(self, system: str, prompt: str) -> Reply:
        return self._reply

    def close(self) -> None:
        """Nothing to let go of."""


def openai(options: Options, variables: Variables) -> tuple[Advisor, str]:
    chosen = read_options("openai", options, ModelOptions)
    return openai_provider(chosen, variables), f"openai:{chosen.model}"


def anthropic(options: Options, variables: Variables) -> tuple[Advisor, str]:
    chosen = read_options("anthropic", options, ModelOptions)
    return anthropic_provider(chosen, variables), f"anthropic:{chosen.model}"


def mailbox(options: Options, variables: Variables) -> tuple[Advisor, str]:
    read_options("mailbox", options, MailboxOptions)
    return Later(), "mailbox"


def script(options: Options, variables: Variables) -> tuple[Advisor, str]:
    return Scripted(Path(read_options("script", options, ScriptOptions).file)), "script"


ADVISORS: dict[str, Callable[[Options, Variables], tuple[Advisor, str]]] = {
    "openai": openai,
    "anthropic": anthropic,
    "mailbox": mailbox,
    "script": script,
}


def build_advisor(name: str, options: Options, variables: Variables = os.environ) -> tuple[Advisor, str]:
    """The advisor, and who it is. Raises `ConfigError` for an unknown one, an option that does not fit, a missing
    key."""
    if name not in ADVISORS:
        raise ConfigError(f"there is no advisor {name!r}", f"choose one of {', '.join(ADVISORS)}")
    return ADVISORS[name](options, variables)
