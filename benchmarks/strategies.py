"""Strategies and operator rules at equal budget, without a GPU: on recorded spaces, and with a simulated writer.

    python benchmarks/strategies.py recorded --seeds 20 --trials 40
    python benchmarks/strategies.py simulated --seeds 200 --trials 80

recorded: the built-in proposer with each of its samplers, asked by the strategy beam, on the spaces that kernelwright
ships, whose every config was measured on an H200; times are replayed. Only numbers change, and every parent has the
same source, so the strategy makes no difference. The figure is the mean over seeds of (shortest time of the space) /
(shortest time found). simulated: `simulated_writer.py`, arithmetic that stands for a
model; it compares what strategies do with operators and with nested tuning. The figure is the geometric mean over
seeds of the speedup over the starter. Both with standard errors, and with the same number of trials for everybody.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from simulated_writer import HABITS, evaluate, propose

from kernelwright.model import Candidate, CaseResult, Evaluation, Operator, Proposal, Request, Scalar, Timing, Trial
from kernelwright.propose.builtin import complete, configs_of, next_config
from kernelwright.search import build_strategy
from kernelwright.spaces import recorded
from kernelwright.spaces.recorded import RecordedDevice, RecordedSpace

SHIPPED = Path(recorded.__file__).parent / "files"
IN_FLIGHT = 4
"""As `optimize` has it: the requests of a round are answered before any of them is told."""

Answer = Callable[[Request, dict[int, Trial], list[Candidate]], Trial]
Arm = tuple[str, Mapping[str, Scalar]]
SAMPLERS = ("model", "local", "random")
OPERATORS: dict[str, Arm] = {
    f"{name}{', portfolio' if operators == 'portfolio' else ''}{', tuning 4' if tuning else ''}": (
        name,
        {"operators": operators, "tuning": tuning},
    )
    for name in ("beam", "greedy", "evolve")
    for operators in ("improve", "portfolio")
    for tuning in (0, 4)
} | {"random": ("random", {})}


def search(arm: Arm, starter: Candidate, seed: int, trials: int, answer: Answer, tunings_free: bool = False) -> float:
    """The shortest time found; infinite where nothing passed. tunings_free: they do not count as trials."""
    strategy = build_strategy(arm[0], starter, seed, arm[1])
    told: dict[int, Trial] = {}
    under_way: list[Trial] = []
    spent = 0
    while True:
        room = len(under_way) < IN_FLIGHT and spent < trials
        request = strategy.ask() if room else None
        if request is not None:
            spent += not (tunings_free and request.operator is Operator.TUNE)
            candidates = [one.proposal.candidate for one in under_way if one.proposal.candidate is not None]
            under_way.append(answer(request, told, candidates))
            continue
        if not under_way:
            break
        finished = under_way.pop(0)
        told[finished.number] = finished
        strategy.tell(finished)
    return min((trial.score_us for trial in told.values() if trial.score_us is not None), default=math.inf)


# --- recorded spaces ----------------------------------------------------------------------------------------


def on_record(record: RecordedSpace, seed: int, sampler: str) -> Answer:
    """The built-in proposer within the recorded space, and the record in place of a device."""
    device, space = RecordedDevice(record), record.space

    def answer(request: Request, told: dict[int, Trial], in_flight: list[Candidate]) -> Trial:
        trials = tuple(told[number] for number in sorted(told))
        proposal = Proposal(author="starter", candidate=request.candidate)
        if request.candidate is None:
            config = next_config(
                sampler, space, f"{seed}:{request.number}", *configs_of(record.candidate, space, trials, in_flight)
            )
            error = "every config was tried" if config is None else None
            candidate = Candidate(source=record.candidate, config=config) if config else None
            proposal = Proposal(author="builtin", candidate=candidate, error=error)
        if proposal.candidate is None:
            return Trial(request=request, proposal=proposal)
        found = device.measure(complete(space, proposal.candidate.config))
        timing = None
        if found.time_us is not None:
            timing = Timing(kind="measured", median_us=found.time_us, ci95_us=found.ci95_us)
        evaluation = Evaluation(
            status=found.status,
            reason=found.reason,
            results=(CaseResult(case=record.case, status=found.status, timing=timing),),
            score_us=found.time_us,
            timing_kind="measured" if timing else None,
            compiled=proposal.candidate.id,
        )
        return Trial(request=request, proposal=proposal, evaluation=evaluation)

    return answer


def compare_recorded(seeds: int, trials: int) -> None:
    records = [recorded.load(file) for file in sorted(SHIPPED.glob("*.json.gz"))]
    for record in records:
        print(f"{record.problem} {record.case}: {len(record.entries)} configs; {RecordedDevice(record).name}")
    print(f"\n{trials} trials, {seeds} seeds: share of the optimum (mean, standard error)\n")
    print(row("", [record.problem for record in records]))
    for name in SAMPLERS:
        cells = []
        for record in records:
            assert record.best_us is not None
            starter = Candidate(source=record.candidate)
            found = [
                record.best_us / search(("beam", {}), starter, seed, trials, on_record(record, seed, name))
                for seed in range(seeds)
            ]
            cells.append(f"{100 * statistics.fmean(found):.1f} ± {100 * error(found):.1f} %")
        print(row(name, cells), flush=True)


# --- the simulated writer -----------------------------------------------------------------------------------


def compare_simulated(seeds: int, trials: int, tunings_free: bool) -> None:
    record = recorded.load(SHIPPED / "softmax.json.gz")
    times_us = sorted(entry.time_us for entry in record.entries if entry.time_us is not None)
    starter = Candidate(source='{"ideas": [0, 0, 0, 0, 0, 0, 0, 0], "runs": true, "number": 0}')
    print(f"{trials} trials, {seeds} seeds: speedup over the starter (geometric mean, standard error), simulated\n")
    for number, habits in enumerate(HABITS, 1):
        print(f"{number}: {habits}")
    print("\n" + row("", [str(number) for number in range(1, len(HABITS) + 1)]))
    # A starter's numbers are a guess as well: the median of the recorded configs.
    start_at = len(times_us) // 2
    given = Candidate(source=starter.source, config={"place": start_at})
    for name, arm in OPERATORS.items():
        cells = []
        for habits in HABITS.values():
            found = []
            for seed in range(seeds):

                def answer(
                    request: Request, told: dict[int, Trial], in_flight: list[Candidate], seed: int = seed
                ) -> Trial:
                    proposal = Proposal(author="starter", candidate=request.candidate)
                    if request.candidate is None:
                        proposal = propose(request, told, habits, len(times_us), seed)  # noqa: B023
                    assert proposal.candidate is not None
                    evaluation = evaluate(request.number, proposal.candidate, times_us, seed)
                    return Trial(request=request, proposal=proposal, evaluation=evaluation)

                start_us = evaluate(0, given, times_us, seed).score_us
                assert start_us is not None
                found.append(math.log(start_us / search(arm, given, seed, trials, answer, tunings_free)))
            mean = math.exp(statistics.fmean(found))
            cells.append(f"{mean:.2f} ± {mean * error(found):.2f}")
        print(row(name, cells), flush=True)


def error(values: list[float]) -> float:
    """Standard error of the mean."""
    return statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0


def row(name: str, cells: list[str]) -> str:
    return f"{name:30}" + "".join(f"{cell:>20}" for cell in cells)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["recorded", "simulated"])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--trials", type=int, default=40)
    parser.add_argument(
        "--tunings-free", action="store_true", help="simulated: count only what a model would be paid for"
    )
    given = parser.parse_args()
    if given.what == "recorded":
        compare_recorded(given.seeds, given.trials)
    else:
        compare_simulated(given.seeds, given.trials, given.tunings_free)
    return 0


if __name__ == "__main__":
    sys.exit(main())
