"""The control arm of a run: what configs of its starter, drawn at random without a model, reach in the same GPU time.

It is a run of its own, in the folder `control_arm` of the run's. The rule: it may take as many GPU seconds as the run's
own trials took, not more, so that what remains between the two is what the strategy and the model were worth.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from kernelwright.cli.output import note
from kernelwright.errors import RunFolderError
from kernelwright.folders import make_folder
from kernelwright.model import Budget, RunSettings, Scalar
from kernelwright.report.control_arm import FOLDER

if TYPE_CHECKING:
    from kernelwright.evaluator.protocol import Worker
    from kernelwright.journal import Journal

SAMPLER: dict[str, Scalar] = {"sampler": "random"}
"""Options of the built-in proposer with which it draws configs at random."""


def run_control(journal: Journal, worker: Worker) -> None:
    """Make it, or go on with it where the run has taken more time since."""
    from kernelwright.cli.display import shown
    from kernelwright.journal import NAME, Journal
    from kernelwright.propose import build_proposer
    from kernelwright.report.progress import Progress
    from kernelwright.report.view import read_run
    from kernelwright.run import optimize
    from kernelwright.search import build_strategy

    view = read_run(journal)
    info, seed = view.info, view.seed
    if seed is None or seed.proposal.candidate is None:
        note("no control arm: no kernel passed that it could vary")
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
        note(f"control arm: {budget.gpu_seconds:.1f} s of GPU time, in {folder}")
        strategy = build_strategy(settings.strategy, starter, settings.seed, settings.strategy_options)
        with shown(Progress(control.info, control.history())) as on_event:
            optimize(control, strategy, build_proposer("builtin", SAMPLER), worker, budget=budget, on_event=on_event)
