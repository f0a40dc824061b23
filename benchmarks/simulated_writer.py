"""A writer of kernels that is arithmetic, for comparing what strategies do with operators. No model, no GPU, no kernel.

Nothing here was measured of a model; it stands for one only in that each operator helps, harms or fails at a stated
rate. A candidate's time is that of its ideas times that of its numbers, and only these can be tuned.

A structure has eight ideas, each of which multiplies its time by exp(-idea). To improve changes one of them, mostly
for the worse; to merge takes each from one of two parents, mostly the better; to rewrite simply forgets some. The
numbers of a new structure are its author's guess: a config drawn from the recorded space, as a tuning is.
"""

from __future__ import annotations

import json
import math
import random
from dataclasses import dataclass

from kernelwright.model import (
    Candidate,
    CaseResult,
    Evaluation,
    Operator,
    Proposal,
    Request,
    Status,
    Timing,
    Trial,
)

IDEAS = 8
START_US = 100.0
NOISE = 0.005
"""Half the 95 % interval of a measurement, as a share."""


@dataclass(frozen=True)
class Habits:
    """How a writer works. gains: how often an improvement is one, when it runs at all. …_fails: how often what the
    operator writes does not run; mended: how often a repair does."""

    gains: float
    improve_fails: float
    merge_fails: float
    rewrite_fails: float
    mended: float


HABITS = {
    # 21 % of 140 candidates of KernelAgent's published traces improved on their parent.
    "one in five improves, mergers run half the time": Habits(0.21, 0.2, 0.5, 0.3, 0.5),
    "mergers nearly always run": Habits(0.21, 0.2, 0.1, 0.3, 0.5),
    "mergers and rewrites never run": Habits(0.21, 0.2, 1.0, 1.0, 0.5),
    "half of all improvements improve": Habits(0.5, 0.1, 0.5, 0.3, 0.8),
}


def numbers_us(places: int, times_us: list[float]) -> float:
    """How much slower than with its best numbers a structure is with those of this place."""
    return times_us[places % len(times_us)] / min(times_us)


def propose(request: Request, trials: dict[int, Trial], habits: Habits, configs: int, seed: int) -> Proposal:
    """A candidate whose source is its ideas (and whether it runs), whose config is a place in the recorded space."""
    chance = random.Random(f"{seed} {request.number}")
    parents = [trials[number].proposal.candidate for number in request.parents]
    known = [(json.loads(parent.source), parent) for parent in parents if parent is not None]
    guess = {"place": int(chance.random() * configs)}
    if request.operator is Operator.TUNE:
        return Proposal(author="simulated", candidate=Candidate(source=known[0][1].source, config=guess))
    ideas = list(known[0][0]["ideas"]) if known else [0.0] * IDEAS
    fails = habits.improve_fails
    if request.operator is Operator.IMPROVE:
        at = int(chance.random() * IDEAS)
        better = chance.random() < habits.gains
        ideas[at] += abs(chance.gauss(0.0, 0.15)) * (1 if better else -1)
    elif request.operator is Operator.MERGE:
        fails = habits.merge_fails
        pairs = zip(ideas, known[1][0]["ideas"], strict=True)
        ideas = [max(pair) if chance.random() < 0.8 else min(pair) for pair in pairs]
    elif request.operator is Operator.REWRITE_SIMPLY:
        fails = habits.rewrite_fails
        ideas = [0.0 if chance.random() < (0.7 if idea < 0 else 0.3) else idea for idea in ideas]
    elif request.operator is Operator.REPAIR:
        fails = 1.0 - habits.mended
    source = json.dumps({"ideas": ideas, "runs": chance.random() >= fails, "number": request.number})
    return Proposal(author="simulated", candidate=Candidate(source=source, config=guess))


def evaluate(number: int, candidate: Candidate, times_us: list[float], seed: int) -> Evaluation:
    """Measured with noise, as a clock would."""
    structure = json.loads(candidate.source)
    if not structure["runs"]:
        return Evaluation(status=Status.COMPILE_ERROR, reason="simulated")
    slower = numbers_us(candidate.config.get("place", 0), times_us)
    noise = math.exp(random.Random(f"{seed} noise {number}").gauss(0.0, NOISE / 2))
    time_us = START_US * math.exp(-sum(structure["ideas"])) * slower * noise
    timing = Timing(kind="measured", median_us=time_us, ci95_us=(time_us * (1 - NOISE), time_us * (1 + NOISE)))
    return Evaluation(
        status=Status.PASSED,
        results=(CaseResult(case="simulated", status=Status.PASSED, timing=timing),),
        score_us=time_us,
        timing_kind="measured",
        compiled=candidate.id,
    )
