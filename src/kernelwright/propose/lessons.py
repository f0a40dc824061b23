"""Lessons for later runs: one Markdown card each, in a folder that people read, edit and clean up.

A card says what was learned, when, on which problem and device, and from which figures. Only a measured lesson whose
claims hold becomes a card. An existing card is never overwritten, so edits stay.

    # Fewer, wider rows per program spill
    - date: YEAR-MONTH-DAY
    - problem: rmsnorm
    - device: NVIDIA H200 (sm_90)
    - library: none
    - by: anthropic:some-model
    - evidence: trial 7 of trial 3: 1.9 µs → 2.4 µs; registers 64 → 255, spill_bytes 0 → 312
    - run: runs/rmsnorm

The text below the list is for people. Prompts show the title, date, problem, device, the library steps that the problem
allowed, and the evidence.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from pathlib import Path

from kernelwright.codec import sha
from kernelwright.errors import RunFolderError
from kernelwright.model import Environment, ProblemInfo, Reflection, Trial
from kernelwright.propose.mailbox import write_whole
from kernelwright.propose.reflection import counters, moved, parent_of
from kernelwright.text.markdown import shortened
from kernelwright.textfile import read_given

MOST_CARDS = 12
"""Maximum cards in a prompt; the latest ones are used, so that a full folder does not crowd out the problem."""
EVIDENCE_CHARACTERS = 200
FIELD = re.compile(r"^- (\w+): (.+)$", re.M)
TITLE = re.compile(r"^# (.+)$", re.M)


def read_cards(folder: Path) -> tuple[str, ...]:
    """One line for each of the latest cards, the latest first. A missing folder has no cards.

    Raises `RunFolderError` for a card that cannot be read or has no title.
    """
    found = []
    for path in sorted(folder.glob("*.md")):
        text = read_given(path, RunFolderError, "correct or remove it", "lesson card ")
        title = TITLE.search(text)
        if title is None:
            raise RunFolderError(
                f"lesson card {path} has no title", "begin it with a line such as '# What was learned', or remove it"
            )
        fields = dict(FIELD.findall(text))
        where = ", ".join(fields[name] for name in ("date", "problem", "device") if name in fields)
        where += f", library steps: {fields['library']}" if "library" in fields else ""
        evidence = f" Evidence: {shortened(fields['evidence'], EVIDENCE_CHARACTERS)}." if "evidence" in fields else ""
        found.append((fields.get("date", ""), f"{title[1].strip()} ({where or 'no date'}).{evidence}"))
    return tuple(line for _, line in sorted(found, key=lambda card: card[0], reverse=True)[:MOST_CARDS])


def write_cards(
    folder: Path, trials: Sequence[Trial], problem: ProblemInfo, environment: Environment, run: str
) -> tuple[Path, ...]:
    """Write a card for each measured lesson whose claims hold and that has no card yet; returns the new files."""
    by_number = {trial.number: trial for trial in trials}
    written = []
    for trial in trials:
        reflection = trial.proposal.reflection
        about = by_number.get(reflection.trial) if reflection is not None else None
        before = parent_of(about, by_number) if about is not None else None
        if reflection is None or about is None or before is None or not reflection.claims_hold:
            continue
        if about.evaluation is None or about.evaluation.timing_kind != "measured":
            continue
        name = f"{problem.name}-{sha(f'{run} {reflection.trial} {reflection.lesson}')[:8]}.md"
        if list(folder.glob(f"*{name}")):
            continue
        today = datetime.datetime.now(datetime.UTC).date().isoformat()
        path = folder / f"{today}-{name}"
        write_whole(path, card(reflection, trial.proposal.author, before, about, problem, environment, run, today))
        written.append(path)
    return tuple(written)


def card(
    reflection: Reflection,
    author: str,
    before: Trial,
    about: Trial,
    problem: ProblemInfo,
    environment: Environment,
    run: str,
    date: str,
) -> str:
    changes = ", ".join(moved(counters(before), counters(about))) or "no compiler counter moved"
    times = f"{before.score_us:.4g} µs → {about.score_us:.4g} µs"
    lines = [
        f"# {reflection.lesson}",
        f"- date: {date}",
        f"- problem: {problem.title}",
        f"- device: {environment.device or 'no GPU'} ({environment.target})",
        f"- library: {problem.library}",
        f"- by: {author}",
        f"- evidence: trial {about.number} of trial {before.number}: {times}; {changes}",
        "- claims: " + ", ".join(f"{claim.counter} {claim.direction}" for claim in reflection.claims),
        f"- run: {run}",
    ]
    return "\n".join(lines) + "\n"
