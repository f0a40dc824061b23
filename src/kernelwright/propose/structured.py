"""Structures that match parts of the reference, in a prompt: where a trial has one its number, else its kernels."""

from __future__ import annotations

from contextlib import suppress

from kernelwright.errors import ProblemError
from kernelwright.model import Generated, Structure
from kernelwright.propose.protocol import Context
from kernelwright.propose.sections import sentences
from kernelwright.text.markdown import fenced


def structures(context: Context) -> str:
    """Every structure that matches, once; "" where none does."""
    generated = Generated()
    with suppress(ProblemError):  # another check says what is wrong with the problem
        generated = context.generate()
    parts = [part for capture in generated.structures[:1] for part in capture.parts]
    found = {one.structure.function: one.structure for part in parts for one in reversed(part.structures)}
    return "\n\n".join([sentences().structures, *(_shown(one, context) for one in found.values())]) if found else ""


def _shown(structure: Structure, context: Context) -> str:
    """A structure's idea, and the first trial with its kernels, or their text."""
    has_it = f"\ndef {structure.function}_kernel("
    tried = [one for one in context.trials if one.proposal.candidate and has_it in one.proposal.candidate.source]
    begin = f"- **{structure.function}.** {structure.idea}"
    if tried:
        return f"{begin} Trial {tried[0].number} has it."
    tunables = [f"{structure.function.upper()}_{key} = {value}" for key, value in structure.config.items()]
    return f"{begin} No trial has it yet:\n\n" + fenced("\n".join([structure.source, "", "", *tunables]))
