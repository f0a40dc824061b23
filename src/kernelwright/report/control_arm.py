"""The control arm (a random search with the same GPU time) beside the run: were strategy and model worth their cost?"""

from __future__ import annotations

from typing import Any, Literal

from kernelwright.journal import NAME, Journal
from kernelwright.report.view import RunView, read_run
from kernelwright.search.ranking import beats
from kernelwright.text.units import count_text, time_text, times_text

FOLDER = "control_arm"
"""Of a run's folder."""


def read_control(view: RunView) -> RunView | None:
    """The control arm of a run, None where there is none. Its texts are not read."""
    folder = view.folder / FOLDER
    if view.info.settings.control is None or not (folder / NAME).is_file():
        return None
    with Journal.open(folder) as journal:
        return read_run(journal)


def control_text(view: RunView, control: RunView) -> str:
    """What it did and what that says."""
    took = f"{count_text(len(control.trials), 'trial')} in {control.gpu_s:.1f} s of GPU time"
    lines = [
        "configs of the starter drawn at random, no model",
        f"{took}; this run: {count_text(len(view.trials), 'trial')} in {view.gpu_s:.1f} s",
    ]
    for name, one in (("control", control), ("this run", view)):
        best = one.best
        figure = one.figure(best)
        if best is None or figure is None or figure.score_us is None:
            lines.append(f"{name}: no confirmed kernel")
        else:
            unchanged = " (the starter)" if best is one.seed else ""
            lines.append(f"{name}: {time_text(figure.score_us, figure.timing_kind)}{unchanged}")
    verdict, ratio = compared(view, control)
    if verdict == "tie":
        lines.append("a tie: this run found nothing that chance did not find too")
    elif verdict is not None and ratio is not None:
        lines.append(f"this run's kernel is {times_text(ratio)} as fast as the control's")
    return "\n".join(lines)


def control_document(view: RunView) -> dict[str, Any] | None:
    control = read_control(view)
    if control is None:
        return None
    verdict, ratio = compared(view, control)
    figure = control.figure(control.best)
    return {
        "strategy": control.info.settings.strategy,
        "trials": len(control.trials),
        "gpu_s": control.gpu_s,
        "score_us": figure.score_us if figure is not None else None,
        "timing_kind": figure.timing_kind if figure is not None else None,
        "verdict": verdict,
        "speedup": ratio,
    }


Verdict = Literal["faster", "tie", "slower"]


def compared(view: RunView, control: RunView) -> tuple[Verdict | None, float | None]:
    """The run's kernel against the control's; None where either has none."""
    ours, theirs = view.figure(view.best), control.figure(control.best)
    if ours is None or theirs is None or ours.score_us is None or theirs.score_us is None:
        return None, None
    verdict: Verdict = "faster" if beats(ours, theirs) else "slower" if beats(theirs, ours) else "tie"
    return verdict, theirs.score_us / ours.score_us
