"""A dry run: the first prompt that a search would send, and the limits of the search."""

from __future__ import annotations

from typing import Any

from kernelwright.model import Record
from kernelwright.report.evaluation import settings_text

TEXTS = ("messages", "system")
"""Fields of a request that hold the prompt."""


class DryRun(Record, frozen=True, kw_only=True):
    """proposer: who writes candidates. address: where its prompts go, None where nothing is sent. document: the first
    one, whole, as it is sent, without the key. file: the prompt that is written for a person to answer, where that is
    how this proposer asks. limits: the most that a run may take, by what is limited. remarks: what follows later."""

    problem: str
    proposer: str
    address: str | None = None
    document: dict[str, Any] | None = None
    file: str | None = None
    limits: dict[str, str]
    remarks: tuple[str, ...] = ()


def dry_run_text(found: DryRun) -> str:
    """The address and settings of the requests, the limits, the remarks and the first prompt in full."""
    parts = [f"dry run for {found.problem}: nothing was sent, no run was begun"]
    if found.document is not None:
        settings = {name: str(value) for name, value in found.document.items() if name not in TEXTS}
        parts.append(settings_text("sent to", {"address": str(found.address), **settings}))
    parts.append(settings_text("at most", found.limits))
    parts += found.remarks
    if found.document is not None:
        messages = found.document["messages"]
        system = found.document.get("system", ())
        texts = [("system", "\n\n".join(block["text"] for block in system))] if system else []
        texts += [(message["role"], message["content"]) for message in messages]
        parts += [f"--- first prompt, {role} ---\n\n{text}" for role, text in texts]
    if found.file is not None:
        parts.append(f"--- first prompt, as a file ---\n\n{found.file}")
    return "\n\n".join(parts)
