"""The tree of candidates: every trial under the one it was written from, with what changed between them.

It ranks nothing. The rule: every trial stands in it exactly once, failed ones and those still under way included.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from kernelwright.model import Request, Trial
from kernelwright.report.convergence import kind_of
from kernelwright.report.evaluation import evaluation_text
from kernelwright.report.lineage import lineage
from kernelwright.report.page.profiles import profile_texts
from kernelwright.report.trials import outcome, readable_source, usage_text, why
from kernelwright.report.units import duration_text, time_text, times_text
from kernelwright.report.view import RunView

CONTEXT_LINES = 3

MAX_DEPTH = 40
"""What descends from deeper trials hangs beside them: browsers stop nesting at 512 elements, and a chain of
improvements can be hundreds long."""


@dataclass(frozen=True)
class DiffLine:
    """kind: "added", "removed", "kept" or "place" (which lines follow)."""

    kind: str
    text: str


@dataclass(frozen=True)
class Diff:
    """From a parent to its child; no lines where only what cannot be seen in the text differs."""

    parent: int
    added: int
    removed: int
    lines: tuple[DiffLine, ...]


@dataclass(frozen=True)
class Node:
    """One trial. role: "starter", "best", "leader", "parent" (of one of them) or "". status: "open" while it is under
    way. share: its speed as a fraction of the fastest's, for a bar; None where it has no time."""

    number: int
    round: int
    operator: str
    parents: tuple[int, ...]
    author: str
    status: str
    role: str
    time: str
    gain: str
    share: float | None
    note: str
    finished: str
    usage: str
    confirmation: str
    profile: str
    diffs: tuple[Diff, ...]
    source: str | None
    details: str
    prompt: str | None
    reply: str | None
    children: tuple[Node, ...] = ()


def tree_of(view: RunView) -> tuple[Node, ...]:
    """The roots, in the order asked, with all that descends from them."""
    trials = {trial.number: trial for trial in view.trials}
    requests = {request.number: request for request in view.open_requests}
    requests |= {number: trial.request for number, trial in trials.items()}
    below: dict[int | None, list[int]] = {}
    above: dict[int, int | None] = {}
    depth: dict[int | None, int] = {None: 0}
    for number in sorted(requests):
        parent = next((one for one in requests[number].parents if one in above), None)
        above[number] = parent if depth[parent] < MAX_DEPTH or parent is None else above[parent]
        depth[number] = depth[above[number]] + 1
        below.setdefault(above[number], []).append(number)
    roles = _roles(view)
    made: dict[int, Node] = {}
    # Parents come before their children, so backwards every child is there when its parent is made.
    for number in sorted(requests, reverse=True):
        children = tuple(made[child] for child in below.get(number, []))
        trial = trials.get(number)
        role = roles.get(number, "")
        made[number] = (
            _node(trial, view, trials, role, children) if trial is not None else _under_way(requests[number], children)
        )
    return tuple(made[number] for number in below.get(None, []))


def diff_between(parent: Trial, child: Trial) -> Diff | None:
    """From the parent's source to the child's, each with its config written in; None where one has no candidate."""
    if parent.proposal.candidate is None or child.proposal.candidate is None:
        return None
    before, after = readable_source(parent).splitlines(), readable_source(child).splitlines()
    lines = []
    for line in list(difflib.unified_diff(before, after, lineterm="", n=CONTEXT_LINES))[2:]:
        kind = {"+": "added", "-": "removed", "@": "place"}.get(line[:1], "kept")
        lines.append(DiffLine(kind, line if kind == "place" else line[1:]))
    counts = [line.kind for line in lines]
    return Diff(parent.number, counts.count("added"), counts.count("removed"), tuple(lines))


def _node(trial: Trial, view: RunView, trials: dict[int, Trial], role: str, children: tuple[Node, ...]) -> Node:
    proposal, evaluation, seed, leader = trial.proposal, trial.evaluation, view.seed, view.leader
    parents = [trials[number] for number in trial.request.parents if number in trials]
    diffs = [diff for parent in parents if (diff := diff_between(parent, trial)) is not None]
    confirmed = view.confirmed.get(trial.number)
    score_us, kind = trial.score_us, kind_of(view)
    usage = proposal.usage
    return Node(
        number=trial.number,
        round=trial.request.round,
        operator=trial.request.operator.value.replace("_", " "),
        parents=trial.request.parents,
        author=proposal.author,
        status=outcome(trial).replace("_", " "),
        role=role,
        time=time_text(score_us, kind) if score_us is not None else "",
        gain=times_text(seed.score_us / score_us) if score_us and seed and seed.score_us and trial is not seed else "",
        share=leader.score_us / score_us if score_us and leader and leader.score_us else None,
        note=proposal.note if trial.passed else why(trial),
        finished=duration_text(view.finished_s[trial.number]) if trial.number in view.finished_s else "",
        usage=usage_text(usage) if usage.requests or usage.input_tokens else "",
        confirmation=evaluation_text(confirmed, view.info.problem.cases) if confirmed is not None else "",
        profile=profile_texts(view, trial),
        diffs=tuple(diffs),
        source=readable_source(trial) if proposal.candidate is not None else None,
        details=evaluation_text(evaluation, view.info.problem.cases) if evaluation is not None else "",
        prompt=view.blob(proposal.prompt) if proposal.prompt is not None else None,
        reply=view.blob(proposal.reply) if proposal.reply is not None else None,
        children=children,
    )


def _under_way(request: Request, children: tuple[Node, ...]) -> Node:
    return Node(
        number=request.number,
        round=request.round,
        operator=request.operator.value.replace("_", " "),
        parents=request.parents,
        author="",
        status="open",
        role="",
        time="",
        gain="",
        share=None,
        note="",
        finished="",
        usage="",
        confirmation="",
        profile="",
        diffs=(),
        source=None,
        details="",
        prompt=None,
        reply=None,
        children=children,
    )


def _roles(view: RunView) -> dict[int, str]:
    """The one on top wins: the starter may be the best, too."""
    leader = view.best or view.leader
    roles = dict.fromkeys(lineage(view, leader), "parent")
    if leader is not None:
        roles[leader.number] = "best" if view.best is not None else "leader"
    if view.seed is not None:
        roles[view.seed.number] = "starter"
    return roles
