"""The control arm of a run: a random search over the configs of its starter, without a model, with the same GPU time.

It is a run in the folder `control_arm` of the run's folder. It may take as many GPU seconds as the run's own trials
took, so the difference between the two results is the gain of the strategy and the model.
"""

from __future__ import annotations

import msgspec

from kernelwright.errors import RunFolderError
from kernelwright.evaluator.protocol import Worker
from kernelwright.folders import make_folder
from kernelwright.jobs.worker import Display, Notify
from kernelwright.journal import NAME, Journal
from kernelwright.model import Budget, RunSettings, Scalar
from kernelwright.propose import build_proposer
from kernelwright.report.control_arm import FOLDER
from kernelwright.report.view import read_run
from kernelwright.run import optimize
from kernelwright.run.replay import replay
from kernelwright.search import build_strategy

SAMPLER: dict[str, Scalar] = {"sampler": "random"}
"""Options of the built-in proposer with which it draws configs at random."""


def run_control(journal: Journal, worker: Worker, *, notify: Notify, display: Display) -> None:
    """Run the control arm of a run, or continue it where the run has taken more GPU time since."""
    view = read_run(journal)
    info, seed = view.info, view.seed
    if seed is None or seed.proposal.candidate is None:
        notify("no control arm: no kernel passed that it could vary")
        return
    budget = Budget(gpu_seconds=round(view.gpu_s, 1))
    settings = RunSettings(
        problem=info.settings.problem,
        strategy="random",
        strategy_options={"operator": "tune"},
        proposer_options=SAMPLER,
        seed=info.settings.seed,
        budget=budget,
        in_flight=info.settings.in_flight,
        dtype=info.settings.dtype,
        unqualified=info.settings.unqualified,
        library=info.settings.library,
    )
    starter = seed.proposal.candidate
    folder = make_folder(journal.folder, FOLDER)
    if (folder / NAME).exists():
        control = Journal.open(folder, writable=True)
    else:
        control = Journal.create(folder, msgspec.structs.replace(info, settings=settings, starter=starter))
    with control:
        if control.info.starter != starter:
            raise RunFolderError(f"the control arm in {folder} began with another kernel", "remove that folder")
        notify(f"control arm: {budget.gpu_seconds:.1f} s of GPU time, in {folder}")
        strategy = build_strategy(settings.strategy, starter, settings.seed, settings.strategy_options)
        state, proposer = replay(control.history(), strategy, folder), build_proposer("builtin", SAMPLER)
        with display(control.info, state) as on_event:
            optimize(control, strategy, proposer, worker, budget=budget, state=state, on_event=on_event)
