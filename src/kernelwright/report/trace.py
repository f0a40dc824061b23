"""`RUN/trace/`: one folder per round, in the layout that the beam-search artifacts made known, from the journal.

    trace/README.txt                     which files there are, and why others are not
    trace/round_NN/input_resources.json  what the compiler says of the kernel that the round's best was made from
    trace/round_NN/input_ncu_metrics.json  what Nsight Compute counted of that kernel, where it did
    trace/round_NN/input_profile.json    all that was read of it, each figure with its tool
    trace/round_NN/bottleneck.txt        the rules' conclusion: one bottleneck with its evidence
    trace/round_NN/strategy.json         what the strategy asked for in this round
    trace/round_NN/opt_prompt.txt        the prompt and the reply behind the round's best, where a model or a
    trace/round_NN/opt_reply.txt           person wrote it
    trace/round_NN/plan_prompt.txt       likewise for what was asked beside it: a plan, a diff again (mend), why another
    trace/round_NN/plan_reply.txt          trial was a surprise (reflect)
    trace/round_NN/reflexion.txt         what was learned from the round's best, where it was a surprise
    trace/round_NN/optimized_resources.json  what the compiler says of the round's best
    trace/round_NN/optimized_ncu_metrics.json, optimized_profile.json  as above, of the round's best
    trace/round_NN/kernel.py             the round's best kernel, its config written in
    trace/round_NN/benchmark_results.json    its times, the starter's and the best so far
    trace/round_NN/others/NNN_*.py       every other candidate of the round, losers and repairs, with its outcome

It is written round by round during a search, and can be written again from the journal at any time. A file without data
in the journal is absent, and README.txt says why.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kernelwright.codec import document_text, plain
from kernelwright.folders import make_folder, remove_file, remove_folder, write_file
from kernelwright.model import Operator, Profile, Trial
from kernelwright.report.kernel import kernel_text
from kernelwright.report.profile_table import profile_texts
from kernelwright.report.trials import outcome
from kernelwright.report.view import RunView
from kernelwright.search.convergence import Round, convergence
from kernelwright.templates import rendered
from kernelwright.text.escape import legible, legible_json, legible_source

README = "README.txt"
FOLDER = "trace"
Stamp = tuple[int, int, int]
"""The state of a round: its finished trials, their lessons, and their profiles, their parents' included."""

NCU = "ncu"
"""The tool whose figures `*_ncu_metrics.json` holds, under its own names. Those in `*_profile.json` name their tool."""


def trace_files(view: RunView) -> dict[str, str]:
    """Texts by path relative to the run's `trace` folder."""
    files = {README: readme(view)}
    for row in convergence(view.trials):
        files |= {f"{folder_of(row.round)}/{name}": text for name, text in round_files(view, row).items()}
    return files


def folder_of(round: int) -> str:
    return f"round_{round:02d}"


def round_files(view: RunView, row: Round) -> dict[str, str]:
    """Texts by path relative to the round's folder; nothing in them can act on a terminal."""
    trials = view.by_round[row.round]
    best = view.by_number[row.best] if row.best is not None else None
    files = {"strategy.json": _json(_strategy(view, trials))}
    if best is not None:
        files |= _best_files(view, row, best)
    for trial in trials:
        if trial is not best:
            files |= _other_files(trial, view)
    return {name: _fit(name, text) for name, text in files.items()}


def _fit(name: str, text: str) -> str:
    if name.endswith(".json"):
        return legible_json(text)
    return legible_source(text) if name.endswith(".py") else legible(text)


def _best_files(view: RunView, row: Round, best: Trial) -> dict[str, str]:
    assert best.evaluation is not None
    files = {
        "kernel.py": kernel_text(best, view),
        "optimized_resources.json": _json([plain(kernel) for kernel in best.evaluation.kernels]),
        "benchmark_results.json": _json(_benchmark(view, row, best)),
        **{name: _json(content) for name, content in profile_files("optimized", best, view).items()},
        **_exchange("opt_prompt.txt", "opt_reply.txt", best, view),
        **_asides("", best, view),
        **_reflexion("reflexion.txt", best, view),
    }
    parents = sorted(number for number in best.request.parents if number in view.by_number)
    parent = view.by_number[parents[0]] if parents else None
    if parent is not None and parent.evaluation is not None and parent.evaluation.kernels:
        files["input_resources.json"] = _json([plain(kernel) for kernel in parent.evaluation.kernels])
    files |= {name: _json(content) for name, content in profile_files("input", parent, view).items()}
    if parent is not None and (text := profile_texts(view, parent)):
        files["bottleneck.txt"] = f"{text}\n"
    return files


def _other_files(trial: Trial, view: RunView) -> dict[str, str]:
    stem = f"others/{trial.number:03d}_{trial.request.operator.value}_{outcome(trial)}"
    files = {
        **_exchange(f"{stem}.prompt.txt", f"{stem}.reply.txt", trial, view),
        **_asides(f"{stem}.", trial, view),
        **_reflexion(f"{stem}.reflexion.txt", trial, view),
    }
    if trial.proposal.candidate is None:
        return {**files, f"{stem}.txt": f"{trial.proposal.error}\n"}
    return {**files, f"{stem}.py": kernel_text(trial, view)}


def _exchange(prompt_name: str, reply_name: str, trial: Trial, view: RunView) -> dict[str, str]:
    shas = {prompt_name: trial.proposal.prompt, reply_name: trial.proposal.reply}
    return {name: view.blob(sha) for name, sha in shas.items() if sha is not None}


def _asides(stem: str, trial: Trial, view: RunView) -> dict[str, str]:
    """What was asked for the sake of a trial beside its kernel."""
    return {
        f"{stem}{exchange.kind}_{part}.txt": view.blob(sha)
        for exchange in trial.proposal.exchanges
        for part, sha in (("prompt", exchange.prompt), ("reply", exchange.reply))
    }


def _reflexion(name: str, trial: Trial, view: RunView) -> dict[str, str]:
    """What was learned from a trial, with the outcome of each check."""
    lines = []
    for later in view.reflected_on.get(trial.number, ()):
        found = later.proposal.reflection
        assert found is not None
        lines.append(f"{found.lesson}\n(by {later.proposal.author}, asked with request {later.number})")
        words = {True: "holds", False: "does not hold", None: "cannot be checked"}
        lines += [f"claim: {claim.counter} {claim.direction}: {words[claim.holds]}" for claim in found.claims]
        lines.append(
            "passed on" if found.claims_hold else "not passed on: its claims do not all hold, or there is none"
        )
    return {name: "\n".join(lines) + "\n"} if lines else {}


def profile_files(prefix: str, trial: Trial | None, view: RunView) -> dict[str, Any]:
    """Contents by name: `<prefix>_ncu_metrics.json` and `<prefix>_profile.json`, where the trial was profiled."""
    profiles = view.profiles.get(trial.number, ()) if trial is not None else ()
    if not profiles:
        return {}
    files: dict[str, Any] = {f"{prefix}_profile.json": [plain(profile) for profile in profiles]}
    counted = {profile.case: ncu_metrics(profile) for profile in profiles if profile.tool == NCU}
    if counted:
        files[f"{prefix}_ncu_metrics.json"] = counted
    return files


def ncu_metrics(profile: Profile) -> list[dict[str, Any]]:
    """For each launch the metrics by their names in Nsight Compute. Values are in our units: µs, bytes, fractions."""
    return [
        {
            "kernel": launch.kernel,
            "metrics": {
                counter.metric: {"value": counter.value, "unit": counter.unit}
                for counter in launch.counters
                if counter.tool == NCU
            },
        }
        for launch in profile.launches
    ]


def _strategy(view: RunView, trials: Sequence[Trial]) -> dict[str, Any]:
    settings = view.info.settings
    asked = [
        {
            "trial": trial.number,
            "operator": trial.request.operator.value,
            "parents": list(trial.request.parents),
            "author": trial.proposal.author,
            "note": trial.proposal.note,
            "diagnosis": trial.proposal.diagnosis,
            "outcome": outcome(trial),
            "score_us": trial.score_us,
            "timing_kind": trial.evaluation.timing_kind if trial.evaluation is not None else None,
        }
        for trial in trials
    ]
    return {"strategy": settings.strategy, "options": settings.strategy_options, "seed": settings.seed, "asked": asked}


def _benchmark(view: RunView, row: Round, best: Trial) -> dict[str, Any]:
    assert best.evaluation is not None
    bounds_us = {info.case.name: info.bound.bound_us for info in view.info.problem.cases}
    seed = view.seed
    return {
        "round": row.round,
        "trial": best.number,
        "kind": best.evaluation.timing_kind,
        "starter_us": seed.score_us if seed is not None else None,
        "score_us": best.score_us,
        "best_so_far_us": row.best_so_far_us,
        "best_so_far_speedup": row.speedup,
        "repaired": best.request.operator is Operator.REPAIR,
        "cases": [
            {"case": result.case, "bound_us": bounds_us.get(result.case), **plain(result.timing)}
            for result in best.evaluation.results
            if result.timing is not None
        ],
        "environment": plain(view.info.environment),
    }


def readme(view: RunView) -> str:
    settings = view.info.settings
    text = rendered(
        "kernelwright.report",
        "trace_readme.txt.j2",
        run=view.folder.name,
        title=view.info.problem.title,
        strategy=settings.strategy,
        proposer=settings.proposer,
    )
    return legible(text)


def _json(content: Any) -> str:
    return document_text(content) + "\n"


class TraceRounds:
    """The trace of one run in `home`/trace. What an earlier session wrote is written again once."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._written: dict[int, Stamp] = {}

    def write(self, view: RunView, round: int | None = None) -> None:
        """Write one round; None: all that changed since they were written, the README, and remove whatever else lies in
        the folder. view: of one round, its trials and those before it that they name. Raises `RunFolderError`."""
        make_folder(self._home, FOLDER)
        for row in convergence(view.trials):
            stamp = stamp_of(view, row.round)
            if round not in (None, row.round) or self._written.get(row.round) == stamp:
                continue
            folder = f"{FOLDER}/{folder_of(row.round)}"
            self._clear(folder)
            for name, text in round_files(view, row).items():
                write_file(self._home, f"{folder}/{name}", text)
            self._written[row.round] = stamp
        if round is None:
            write_file(self._home, f"{FOLDER}/{README}", readme(view))
            expected = {README, *(folder_of(number) for number in view.by_round)}
            for name in {entry.name for entry in os.scandir(self._home / FOLDER)} - expected:
                self._clear(f"{FOLDER}/{name}")

    def _clear(self, name: str) -> None:
        path = self._home / name
        if path.is_dir() and not path.is_symlink():
            remove_folder(self._home, name)
        else:
            remove_file(self._home, name)


def stamp_of(view: RunView, round: int) -> Stamp:
    trials = view.by_round[round]
    concerned = {trial.number for trial in trials} | {number for one in trials for number in one.request.parents}
    return (
        len(trials),
        sum(len(view.reflected_on.get(trial.number, ())) for trial in trials),
        sum(number in view.profiles for number in concerned),
    )
