"""What a settings file or a journal may not decide alone: where prompts and keys go, and which paths are used.

Both may come from elsewhere. So an address, the name of a key's variable and a path that lies elsewhere are used only
where the user types them, confirms them at a terminal, or did so before on this machine. What was agreed to is
remembered as an empty file each under XDG_STATE_HOME, by its hash: remove them to be asked again.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import click

from kernelwright.cli.output import note
from kernelwright.codec import encode, sha
from kernelwright.errors import RequestError
from kernelwright.model import RunSettings, Scalar
from kernelwright.text.escape import legible

HARMLESS = frozenset(
    {
        "model", "max_tokens", "temperature", "timeout_s", "edits", "plan", "reflect", "attempts", "settle_s",
        "input_usd_per_mtok", "output_usd_per_mtok",
    }
)  # fmt: skip
"""Options of proposers that decide no address, no key and no file. A new option needs consent until it is put here."""

DESTINATION = ("base_url", "key_env")
"""Together they say who gets which key, so they are agreed to together."""

PATHS = ("file", "run")
"""Options of proposers that are paths."""


@dataclass(frozen=True)
class Wish:
    """what: what would happen, for people. parts: the options that ask for it, by the words that type them."""

    what: str
    parts: Mapping[str, str]
    place: Path | None = None
    """The path that it is about; None where it is about none."""

    @property
    def key(self) -> str:
        known = {**self.parts, "place": str(self.place)}
        return sha(encode(["kernelwright", known]))


def wishes_of(settings: RunSettings) -> list[Wish]:
    """What a run's settings ask for that needs to be agreed to."""
    options = settings.proposer_options
    found = []
    destination = {name: str(options[name]) for name in DESTINATION if name in options}
    if destination:
        where = destination.get("base_url", "the usual address")
        key = f"the key in {destination['key_env']}" if "key_env" in destination else "the usual key, if it is set"
        parts = {typed_as(name, value): value for name, value in destination.items()}
        found.append(Wish(f"send prompts and {key} to {where}", {f"--proposer {settings.proposer}": "", **parts}))
    for name, value in options.items():
        if name not in HARMLESS and name not in DESTINATION:
            place = Path(str(value)).resolve() if name in PATHS else None
            found.append(Wish(f"use {name} {value}", {typed_as(name, value): str(value)}, place))
    if settings.lessons is not None:
        place = Path(settings.lessons).resolve()
        found.append(Wish(f"read and write lessons in {place}", {f"--lessons {settings.lessons}": ""}, place))
    return found


def typed_as(name: str, value: Scalar) -> str:
    return f"--base-url {value}" if name == "base_url" else f"--proposer-option {name}={value}"


def path_wish(flag: str, value: str, what: str) -> Wish:
    return Wish(f"{what} {Path(value).resolve()}", {f"{flag} {value}".strip(): ""}, Path(value).resolve())


def settle(wishes: Iterable[Wish], typed: Iterable[str], source: str, near: Collection[Path] = ()) -> None:
    """Agree to each wish, or raise `RequestError` with what to type.

    typed: in the words of `Wish.parts`. source: who asks for it. near: paths below these folders need no consent.
    """
    known = set(typed)
    for wish in wishes:
        own = {words for words in wish.parts if not words.startswith("--proposer ")}
        is_near = wish.place is not None and any(wish.place.is_relative_to(folder) for folder in near)
        if not (own <= known or is_near or was_agreed(wish) or confirmed(wish, source)):
            raise RequestError(
                f"{source} asks kernelwright to {legible(wish.what)}, which nobody typed",
                f"if that is wanted, type {' '.join(map(shell_word, sorted(own)))} too",
            )
        agree(wish)


def shell_word(words: str) -> str:
    flag, _, value = words.partition(" ")
    return f"{flag} {shlex.quote(value)}" if value else shlex.quote(flag)


def confirmed(wish: Wish, source: str) -> bool:
    """Ask at a terminal; elsewhere nobody can answer."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    return click.confirm(f"{source} asks kernelwright to {legible(wish.what)}. Allow it?", default=False, err=True)


def was_agreed(wish: Wish) -> bool:
    path = remembered_in() / wish.key
    return path.is_file() and not path.is_symlink()


def agree(wish: Wish) -> None:
    """Remember it. Where that cannot be, the user is asked again: nothing else depends on it."""
    folder = remembered_in()
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with suppress(FileExistsError):
            os.close(os.open(folder / wish.key, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))
    except OSError as error:
        note(f"what was typed cannot be remembered in {folder} ({error.strerror}): `--resume` asks for it again")


def remembered_in() -> Path:
    """XDG Base Directory Specification: state that stays on this machine."""
    state = os.environ.get("XDG_STATE_HOME", "")
    home = Path(state) if os.path.isabs(state) else Path.home() / ".local" / "state"
    return home / "kernelwright" / "agreed"
