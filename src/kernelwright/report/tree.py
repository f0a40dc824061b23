"""The tree of candidates: every trial under the one it was written from, with what changed between them.

Every trial is in it exactly once, failed ones and those still under way included.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace

from kernelwright.model import Request, Trial
from kernelwright.report.chosen import DETAILS_BYTES, Allowance, wanted
from kernelwright.report.evaluation import evaluation_text
from kernelwright.report.profile_table import profile_texts
from kernelwright.report.trials import outcome, readable_source, usage_text, why
from kernelwright.report.view import RunView
from kernelwright.text.markdown import shortened
from kernelwright.text.units import count_text, duration_text, time_text, times_text

CONTEXT_LINES = 3

MARKUP = '<span class="removed"></span>'
"""What the page puts around a line of a diff, which counts as much as the line."""

LINE_CHARACTERS = 100
"""Longest text on the line of a trial in a long run: its note, or its failure."""

MAX_DEPTH = 40
"""Deeper trials are shown beside their parents: browsers stop nesting at 512 elements, and a chain of improvements can
be hundreds long.
"""


@dataclass(frozen=True)
class DiffLine:
    """kind: "added", "removed", "kept" or "place" (which lines follow)."""

    kind: str
    text: str


@dataclass(frozen=True)
class Diff:
    """The changes from a parent to its child; no lines where the texts differ only in invisible characters."""

    parent: int
    added: int
    removed: int
    lines: tuple[DiffLine, ...]


@dataclass(frozen=True)
class Whole:
    """What a trial has beside its line."""

    diffs: tuple[Diff, ...] = ()
    source: str | None = None
    details: str = ""
    confirmation: str = ""
    profile: str = ""
    prompt: str | None = None
    reply: str | None = None


@dataclass(frozen=True)
class Node:
    """One trial. role: "starter", "best", "leader", "parent" (of one of them) or "". status: "open" while it is under
    way. share: its speed as a fraction of the fastest's, for a bar; None where it has no time. is_brief: on a line of a
    long run, without diffs, source, details and texts. folds: it and all below it are
    tunings (another config of their parent's source) that did not lead to the best."""

    number: int
    round: int
    operator: str
    parents: tuple[int, ...]
    children: tuple[Node, ...]
    author: str = ""
    status: str = "open"
    role: str = ""
    time: str = ""
    gain: str = ""
    share: float | None = None
    note: str = ""
    finished: str = ""
    usage: str = ""
    whole: Whole = Whole()
    is_brief: bool = False
    folds: bool = False

    @property
    def branches(self) -> tuple[Node | Tunings, ...]:
        """The children, with all that fold as one."""
        folded = tuple(child for child in self.children if child.folds)
        others = tuple(child for child in self.children if not child.folds)
        return (*others, Tunings(self.number, folded)) if folded and not self.folds else self.children


@dataclass(frozen=True)
class Tunings:
    """The tunings of one trial that did not lead to the best."""

    number: int
    children: tuple[Node, ...]

    @property
    def text(self) -> str:
        """ "41 tunings, the best 545.0 µs (trial 31)"."""
        every = list(self.children)
        for node in every:
            every += node.children
        first = max(every, key=lambda node: node.share or 0)
        return count_text(len(every), "tuning") + (
            f", the best {first.time} (trial {first.number})" if first.share else ""
        )


def tree_of(view: RunView) -> tuple[Node, ...]:
    """The roots, in the order asked, with all their descendants."""
    trials = view.by_number
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
    roles, whole = _roles(view), _whole(view)
    made: dict[int, Node] = {}
    # Parents come before their children, so backwards every child is there when its parent is made.
    for number in sorted(requests, reverse=True):
        children = tuple(made[child] for child in below.get(number, []))
        trial = trials.get(number)
        role = roles.get(number, "")
        if trial is None:
            made[number] = _under_way(requests[number], children)
        else:
            found = None if whole is None else whole.get(number, Whole())
            folds = _folds(trial, view, role, children)
            made[number] = replace(_node(trial, view, role, children, found), folds=folds)
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


def _whole(view: RunView) -> dict[int, Whole] | None:
    """By number, of the trials that are shown whole, as far as the page has room; None: all, and it has."""
    numbers = wanted(view)
    if numbers is None:
        return None
    allowance, found = Allowance(DETAILS_BYTES), {}
    for number in numbers:
        if allowance.is_spent:
            break
        whole = _whole_of(view.by_number[number], view, allowance)
        own = [line.text + MARKUP for diff in whole.diffs for line in diff.lines]
        own += [whole.source or "", whole.details, whole.confirmation, whole.profile]
        if not allowance.takes(own):
            continue
        if not allowance.takes([whole.prompt, whole.reply]):
            whole = replace(whole, prompt=None, reply=None)
        found[number] = whole
    return found


def _whole_of(trial: Trial, view: RunView, allowance: Allowance) -> Whole:
    proposal, evaluation, confirmed = trial.proposal, trial.evaluation, view.confirmed.get(trial.number)
    parents = [view.by_number[number] for number in trial.request.parents if number in view.by_number]
    diffs = [diff for parent in parents if (diff := diff_between(parent, trial)) is not None]
    return Whole(
        diffs=tuple(diffs),
        source=allowance.cut(readable_source(trial)) if proposal.candidate is not None else None,
        details=evaluation_text(evaluation, view.info.problem.cases) if evaluation is not None else "",
        confirmation=evaluation_text(confirmed, view.info.problem.cases) if confirmed is not None else "",
        profile=profile_texts(view, trial),
        prompt=allowance.cut(view.blob(proposal.prompt)) if proposal.prompt is not None else None,
        reply=allowance.cut(view.blob(proposal.reply)) if proposal.reply is not None else None,
    )


def _node(trial: Trial, view: RunView, role: str, children: tuple[Node, ...], whole: Whole | None) -> Node:
    """whole: None where it is still to be found, in a run that is shown whole."""
    proposal, seed, leader = trial.proposal, view.seed, view.leader
    found = _whole_of(trial, view, Allowance(None)) if whole is None else whole
    is_brief = found == Whole()
    score_us, kind = trial.score_us, view.timing_kind
    usage = proposal.usage
    note = proposal.note if trial.passed else why(trial)
    return Node(
        number=trial.number,
        round=trial.request.round,
        operator=trial.request.operator.value.replace("_", " "),
        parents=trial.request.parents,
        author=proposal.author,
        status=outcome(trial).replace("_", " "),
        role=role,
        time=time_text(score_us, kind) if score_us is not None else "",
        gain=gain_text(trial, seed) if kind == "measured" else "",
        share=leader.score_us / score_us if score_us and leader and leader.score_us else None,
        note=shortened(note, LINE_CHARACTERS) if is_brief and whole is not None else note,
        finished=duration_text(view.finished_s[trial.number]) if trial.number in view.finished_s else "",
        usage=usage_text(usage) if usage.requests or usage.input_tokens else "",
        children=children,
        is_brief=is_brief and whole is not None,
        whole=found,
    )


def gain_text(trial: Trial, seed: Trial | None) -> str:
    """How many times as fast as the first kernel; "" for that kernel and where one has no time."""
    if seed is None or trial is seed or not seed.score_us or not trial.score_us:
        return ""
    return times_text(seed.score_us / trial.score_us)


def _folds(trial: Trial, view: RunView, role: str, children: tuple[Node, ...]) -> bool:
    parent = view.by_number.get(trial.request.parents[0]) if trial.request.parents else None
    ours, theirs = trial.proposal.candidate, parent.proposal.candidate if parent is not None else None
    is_tuning = ours is not None and theirs is not None and ours.source == theirs.source
    return is_tuning and not role and all(child.folds for child in children)


def _under_way(request: Request, children: tuple[Node, ...]) -> Node:
    return Node(
        number=request.number,
        round=request.round,
        operator=request.operator.value.replace("_", " "),
        parents=request.parents,
        children=children,
    )


def _roles(view: RunView) -> dict[int, str]:
    """Role of each trial by number; a starter that is also the best counts as the starter."""
    leader = view.shown
    roles = dict.fromkeys(view.lineage(leader), "parent")
    if leader is not None:
        roles[leader.number] = "best" if view.best is not None else "leader"
    if view.seed is not None:
        roles[view.seed.number] = "starter"
    return roles
