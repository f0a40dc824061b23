"""The newest torch and Triton that kernelwright was tried with, and what is said of newer ones."""

from __future__ import annotations

from kernelwright.model import Environment

TRIED = {"torch": "2.15", "triton": "3.9"}
"""By `make newest`, on a machine without a GPU. A newer version may work: `kernelwright doctor` tries it."""


def newer_text(environment: Environment) -> str:
    """Which of torch and Triton is newer than TRIED; "" where neither is."""
    have = {"torch": environment.torch, "triton": environment.triton}
    return "; ".join(f"{name} {have[name]} is newer than {last}, the newest that was tried"
                     for name, last in TRIED.items() if _number(have[name]) > _number(last))  # fmt: skip


def _number(version: str) -> tuple[int, ...]:
    """Major and minor number; empty for a text that does not begin with them."""
    parts = version.split(".")[:2]
    return tuple(int(one) for one in parts) if all(one.isdecimal() for one in parts) else ()
