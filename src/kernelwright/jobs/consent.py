"""The user's consent to what a settings file or a journal asks for: where prompts and keys go, which paths are used.

Both files may come from another person. So an address, the name of a key's variable and a path outside the folder are
used only where the user gives them directly, confirms them when asked, or did so before on this machine. Consent is
remembered as one empty file each under XDG_STATE_HOME, named by a hash: remove it to be asked again.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kernelwright.cache import user_folder
from kernelwright.codec import encode, sha
from kernelwright.errors import RequestError
from kernelwright.jobs.worker import Desk, Notify
from kernelwright.model import RunOptions, RunSettings, Scalar
from kernelwright.text.escape import legible

HARMLESS = frozenset(
    {
        "model", "max_tokens", "temperature", "timeout_s", "edits", "plan", "reflect", "attempts", "settle_s",
        "input_usd_per_mtok", "output_usd_per_mtok", "cached_usd_per_mtok", "sampler",
    }
)  # fmt: skip
"""Options of proposers that decide no address, no key and no file. A new option needs consent until it is put here."""

DESTINATION = ("base_url", "key_env")
"""Options that decide who gets which key, so they need consent together."""

PATHS = ("file", "run")
"""Options of proposers that are paths."""


@dataclass(frozen=True)
class Wish:
    """Something that needs consent. what: the action, in words. parts: the values of the options that ask for it, by
    the words to type for them. within: the folder for which alone consent is remembered; None: for every one.
    """

    what: str
    parts: Mapping[str, str]
    place: Path | None = None
    """The path that would be used; None where there is none."""
    within: Path | None = None

    @property
    def key(self) -> str:
        known = {**self.parts, "place": str(self.place)}
        if self.within is not None:
            known["within"] = str(self.within)
        return sha(encode(["kernelwright", known]))


def wishes_of(settings: RunSettings) -> list[Wish]:
    """The actions that need consent under a run's settings."""
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


def path_wishes(file: RunOptions, merged: RunOptions) -> list[Wish]:
    """The paths, besides lessons, that a settings file names and that were not given directly. merged: the options that
    apply.
    """
    named = (
        ("problem", "", "run the problem"),
        ("starter", "--starter", "try the kernel"),
        ("known", "--known", "run the problems of"),
        ("out", "--out", "write"),
    )
    values = [
        (flag, getattr(file, name), what) for name, flag, what in named if getattr(merged, name) == getattr(file, name)
    ]
    return [path_wish(flag, value, what) for flag, value, what in values if value is not None]


def worker_wishes(workers: tuple[str, ...] | None) -> list[Wish]:
    """The places of workers that a settings file names: each gets the problem, and `argv:` runs a command here."""
    return [Wish(f"start workers by {text}", {f"--workers {text}": ""}, within=Path.cwd()) for text in workers or ()]


def path_wish(flag: str, value: str, what: str) -> Wish:
    return Wish(f"{what} {Path(value).resolve()}", {f"{flag} {value}".strip(): ""}, Path(value).resolve())


def typed_words(given: RunOptions) -> set[str]:
    """The options that were given directly and need consent, in the words of `Wish.parts`."""
    found = {typed_as(name, value) for name, value in (given.proposer_option or {}).items()}
    found |= {f"--base-url {given.base_url}"} if given.base_url is not None else set()
    values = {name: getattr(given, name) for name in ("lessons", "out", "starter", "known")}
    found |= {f"--{name} {value}" for name, value in values.items() if value is not None}
    found |= {f"--workers {text}" for text in given.workers or ()}
    return found | ({given.problem} if given.problem is not None else set())


def settle(
    wishes: Iterable[Wish], typed: Collection[str], source: str, desk: Desk, near: Collection[Path] = ()
) -> None:
    """Get consent for each wish, or raise `RequestError` with the words to type.

    typed: in the words of `Wish.parts`. source: the file or run that asks for it. near: paths below these folders need
    no consent. They are remembered too, because a resumed run asks for them without `near`.
    """
    for wish in wishes:
        own = {words for words in wish.parts if not words.startswith("--proposer ")}
        is_near = wish.place is not None and any(wish.place.is_relative_to(folder) for folder in near)
        question = f"{source} asks kernelwright to {legible(wish.what)}"
        if not (own <= set(typed) or is_near or was_agreed(wish) or desk.ask(f"{question}. Allow it?")):
            raise RequestError(
                f"{question}, which was not typed",
                f"if that is wanted, type {' '.join(map(shell_word, sorted(own)))} too",
            )
        agree(wish, desk.notify)


def shell_word(words: str) -> str:
    flag, _, value = words.partition(" ")
    return f"{flag} {shlex.quote(value)}" if value else shlex.quote(flag)


def was_agreed(wish: Wish) -> bool:
    path = remembered_in() / wish.key
    return path.is_file() and not path.is_symlink()


def agree(wish: Wish, notify: Notify) -> None:
    """Remember the consent. If it cannot be stored, the user is asked again next time."""
    folder = remembered_in()
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with suppress(FileExistsError):
            os.close(os.open(folder / wish.key, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))
    except OSError as error:
        notify(f"what was typed cannot be remembered in {folder} ({error.strerror}): `--resume` asks for it again")


def remembered_in() -> Path:
    """The folder for consent: state that stays on this machine."""
    return user_folder("XDG_STATE_HOME", ".local/state", "agreed")
