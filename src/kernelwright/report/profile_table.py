"""The profile before and after, for a page: what a profiler read of the starter and of the best, side by side.

Both columns are of the same case. They are the profiled kernels nearest to the first and to the last of the best's
ancestry; their headings name them.
"""

from __future__ import annotations

from kernelwright.diagnosis.format import SHOWN, value_text
from kernelwright.model import Trial
from kernelwright.report.profiled import Profiled, profiled, profiled_text
from kernelwright.report.view import RunView
from kernelwright.text.table import Grid, Section


def profile_section(view: RunView) -> Section | None:
    """None where no kernel on the way to the best was profiled."""
    found = _ends(view)
    if not found:
        return None
    launches = [launch for _, one in found if (launch := one.profile.main) is not None]
    counters = {name for launch in launches for name in [counter.name for counter in launch.counters]}
    header = ["counter", *(_heading(trial, view) for trial, _ in found), "read by"]
    rows = []
    for name in (name for name in SHOWN if name in counters):
        values, tools = [], dict[str, None]()
        for launch in launches:
            counter = next((one for one in launch.counters if one.name == name), None)
            values.append("-" if counter is None else value_text(counter.value, counter.unit))
            if counter is not None:
                tools[counter.tool] = None
        rows.append((name.replace("_", " "), *values, ", ".join(tools)))
    return Section(
        id="profile",
        title="Profile before and after" if len(found) > 1 else "Profile",
        grid=Grid(tuple(header), tuple(rows), frozenset({"read by"})),
        notes=tuple(_note(trial, one) for trial, one in found),
    )


def profile_texts(view: RunView, trial: Trial) -> str:
    """Every profile of a trial with its diagnosis; "" where it has none."""
    return "\n\n".join(profiled_text(one) for one in _diagnosed(view, trial))


def _ends(view: RunView) -> list[tuple[Trial, Profiled]]:
    """The first and the last profiled kernel on the way to the best, on the same case; one alone where there is no
    other.
    """
    line = [view.by_number[number] for number in view.lineage(view.shown)]
    found = [(trial, one) for trial in line for one in _diagnosed(view, trial)]
    if not found:
        return []
    case = found[-1][1].profile.case
    same = [entry for entry in found if entry[1].profile.case == case]
    return [same[0], same[-1]] if same[0][0] is not same[-1][0] else [same[-1]]


def _diagnosed(view: RunView, trial: Trial) -> list[Profiled]:
    cases = {info.case.name: info for info in view.info.problem.cases}
    timings = {result.case: result.timing for result in trial.evaluation.results} if trial.evaluation else {}
    return [
        profiled(f"trial {trial.number}", cases[one.case], timings.get(one.case), one, view.info.environment)
        for one in view.profiles.get(trial.number, ())
        if one.case in cases and one.launches
    ]


def _heading(trial: Trial, view: RunView) -> str:
    if trial is view.seed:
        return f"{view.seed_name} ({trial.number})"
    return f"best ({trial.number})" if trial is view.best else f"trial {trial.number}"


def _note(trial: Trial, one: Profiled) -> str:
    tool = one.profile.tool or "the compiler alone; nothing ran"
    several = f", the longest of {len(one.profile.launches)} launches" if len(one.profile.launches) > 1 else ""
    bottleneck = one.diagnosis.bottleneck
    return (
        f"Trial {trial.number}, case {one.profile.case}{several}: {bottleneck.limit.value.replace('_', ' ')}: "
        f"{bottleneck.summary} (counters: {tool})"
    )
