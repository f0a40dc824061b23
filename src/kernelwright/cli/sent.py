"""The result of a dry run as text: address and settings of the requests, limits, and the first prompt in full."""

from __future__ import annotations

from kernelwright.jobs.dry_run import DryRun
from kernelwright.report.evaluation import settings_text

TEXTS = ("messages", "system")
"""Fields of a request that hold the prompt."""


def dry_run_text(found: DryRun) -> str:
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
