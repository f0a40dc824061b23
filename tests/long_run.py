"""A run of any length as a journal, written fast: for tests and benchmarks of what reads long runs.

Nothing searches. Rounds of ten: four written by a model (prompt, reply, a source of its own), the others tune them; one
in five fails, each with a reason of its own. The same seed gives the same run.
"""

from __future__ import annotations

import bisect
import itertools
import random
from pathlib import Path

import msgspec

from kernelwright.journal import Journal
from kernelwright.model import (
    Budget,
    Candidate,
    CaseResult,
    Evaluation,
    Operator,
    Proposal,
    Request,
    Status,
    Timing,
    Usage,
)
from samples import BLOCK, SOURCE, resources, run_info

ROUND = 10
WRITTEN = 4
FAILURES = (Status.WRONG, Status.COMPILE_ERROR, Status.RUNTIME_ERROR, Status.TIMEOUT)


def write_long_run(
    folder: Path, trials: int, seed: int = 0, text_bytes: int = 4000, is_chain: bool = False, is_over: bool = True
) -> Path:
    """A run of so many trials. text_bytes: of each prompt and each reply. is_chain: every trial is made from the last
    that passed, not from one of the best eight. is_over: its best is confirmed and its session has ended."""
    rng = random.Random(seed)
    with Journal.create(folder, run_info("Fake GPU", budget=Budget(trials=trials), in_flight=4)) as journal:
        assert journal._connection is not None
        journal._connection.execute("BEGIN")  # one commit for all: twenty thousand would take minutes
        journal.append_started(Budget(trials=trials))
        scores: dict[int, float] = {}
        best: list[tuple[float, int]] = []
        sources: dict[int, str] = {}
        for number in range(trials):
            last = [max(scores)] if is_chain and scores else []
            parent = rng.choice(last or [number for _, number in best]) if scores else None
            request, proposal = _asked(number, parent, sources, rng)
            if proposal.author.startswith("openai"):
                texts = [journal.put_blob(_text(f"{part} {number}", rng, text_bytes)) for part in ("prompt", "reply")]
                usage = Usage(input_tokens=3000, output_tokens=1500, cost_usd=0.02, seconds=20.0, requests=1)
                proposal = _replaced(proposal, prompt=texts[0], reply=texts[1], usage=usage)
            journal.append_asked(request)
            journal.append_proposed(number, proposal)
            if proposal.candidate is not None:
                best_us = best[0][0] if best else 400.0
                evaluation = _evaluation(number, best_us, rng)
                if evaluation.score_us is not None:
                    scores[number] = evaluation.score_us
                    bisect.insort(best, (evaluation.score_us, number))
                    del best[8:]
                    sources[number] = proposal.candidate.source
                journal.append_evaluated(number, evaluation)
            journal.append_told(number)
        if is_over:
            first = min(scores, key=scores.__getitem__)
            journal.append_confirmed(first, _passed(scores[first]))
            journal.append_stopped("trials", 3600.0)
        journal._connection.execute("COMMIT")
    return folder


def _asked(number: int, parent: int | None, sources: dict[int, str], rng: random.Random) -> tuple[Request, Proposal]:
    generation = 0 if number == 0 else 1 + (number - 1) // ROUND
    if parent is None:
        candidate = Candidate(source=SOURCE)
        request = Request(number=number, operator=Operator.SEED, round=generation, candidate=candidate)
        return request, Proposal(author="starter", candidate=candidate)
    if (number - 1) % ROUND < WRITTEN:
        request = Request(number=number, operator=Operator.IMPROVE, round=generation, parents=(parent,))
        if rng.random() < 0.05:
            return request, Proposal(author="openai:fake", error=f"the reply has no block of Python ({number})")
        lines = [f"    # step {number}.{line}: {rng.random():.12f}" for line in range(40)]
        source = SOURCE.replace("    pass\n", "\n".join(lines) + "\n    pass\n")
        note = f"Idea {number}: keep the row in registers and use fewer barriers."
        return request, Proposal(author="openai:fake", candidate=Candidate(source=source), note=note)
    request = Request(number=number, operator=Operator.TUNE, round=generation, parents=(parent,))
    config = {BLOCK: 2 ** rng.randrange(6, 13), "num_warps": rng.choice((2, 4, 8))}
    return request, Proposal(author="builtin", candidate=Candidate(source=sources[parent], config=config))


def _evaluation(number: int, best_us: float, rng: random.Random) -> Evaluation:
    if number > 0 and rng.random() < 0.2:
        reason = f"square: element ({number}, {rng.randrange(4096)}) is off by {rng.random():.4f}, allowed 0.0010"
        status = rng.choice(FAILURES)
        log = _text(f"log {number}", rng, 300)
        return Evaluation(status=status, reason=reason, results=(CaseResult(case="tiny", status=status),), log=log)
    return _passed(best_us * (0.995 if rng.random() < 0.05 else 1 + rng.random()))


def _passed(score_us: float) -> Evaluation:
    timing = Timing(kind="measured", median_us=score_us, ci95_us=(0.998 * score_us, 1.002 * score_us))
    return Evaluation(
        status=Status.PASSED,
        results=(
            CaseResult(case="tiny", status=Status.PASSED, max_abs_error=1e-7, max_rel_error=2e-7),
            CaseResult(case="square", status=Status.PASSED, timing=timing),
        ),
        verified_on="device",
        score_us=score_us,
        timing_kind="measured",
        kernels=(resources(),),
        stages_s={"compile": 1.5, "verify": 0.4, "time": 0.6},
        confinement={"network": "none", "gpu": "not visible"},
    )


def _replaced(proposal: Proposal, **fields: object) -> Proposal:
    return msgspec.structs.replace(proposal, **fields)


def _text(head: str, rng: random.Random, size: int) -> str:
    words = ["block", "warp", "stage", "tile", "<b>", "load", "store", "mask", "& so", "row"]
    drawn = rng.choices(words, k=min(size // 6, 60))
    return f"{head}\n" + " ".join(itertools.islice(itertools.cycle(drawn), size // 6))
