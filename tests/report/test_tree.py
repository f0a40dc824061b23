"""The tree of candidates and the differences between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from kernelwright.model import Operator, Request, RunInfo, Trial
from kernelwright.report.tree import MAX_DEPTH, Node, Tunings, diff_between, tree_of
from kernelwright.report.view import RunView
from samples import BLOCK, passed, run_view, short_run, trial


def every(nodes: Sequence[Node]) -> Iterator[Node]:
    for node in nodes:
        yield node
        yield from every(node.children)


def shape(nodes: Sequence[Node]) -> dict[int, object]:
    return {node.number: shape(node.children) for node in nodes}


def test_every_trial_stands_under_the_one_it_was_written_from() -> None:
    nodes = tree_of(run_view(short_run(), confirmed={4: passed(26.0)}))
    assert shape(nodes) == {0: {1: {4: {}, 5: {}}, 2: {3: {}}}}
    assert {node.number: node.role for node in every(nodes)} == {
        0: "starter", 1: "parent", 2: "", 3: "", 4: "best", 5: "",
    }  # fmt: skip
    assert {node.number: node.status for node in every(nodes)}[5] == "no candidate"


def test_what_is_under_way_stands_in_the_tree_too() -> None:
    view = run_view(short_run())
    waiting = Request(number=6, operator=Operator.IMPROVE, round=3, parents=(4,))
    open_view = RunView(**{**vars(view), "open_requests": (waiting,)})
    node = next(node for node in every(tree_of(open_view)) if node.number == 6)
    assert (node.status, node.parents) == ("open", (4,))


def test_a_difference_is_between_sources_with_their_configs_written_in() -> None:
    trials = short_run()
    diff = diff_between(trials[0], trials[1])
    assert diff is not None
    changed = [(line.kind, line.text.strip()) for line in diff.lines if line.kind in ("added", "removed")]
    assert changed == [
        ("removed", "softmax_kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=1024, num_warps=4)"),
        ("added", "softmax_kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=2048, num_warps=4)"),
        ("removed", "# trial 0"),
        ("added", "# trial 1"),
    ]
    assert (diff.added, diff.removed) == (2, 2)
    assert diff_between(trials[1], trials[5]) is None, "a proposal without a candidate differs from nothing"


def test_a_repair_is_compared_with_each_of_its_parents() -> None:
    nodes = {node.number: node for node in every(tree_of(run_view(short_run())))}
    assert [diff.parent for diff in nodes[3].whole.diffs] == [2, 0]


def test_a_chain_of_hundreds_of_improvements_does_not_nest_without_end() -> None:
    chain = [short_run()[0]]
    chain += [trial(n, passed(40.0 - n / 100), round=n, parents=(n - 1,), config={BLOCK: 2048}) for n in range(1, 600)]
    nodes = tree_of(run_view(tuple(chain)))

    def depth(nodes: Sequence[Node]) -> int:
        return 1 + max((depth(node.children) for node in nodes), default=0)

    assert depth(nodes) - 1 == MAX_DEPTH
    assert sorted(node.number for node in every(nodes)) == list(range(600))


def test_tunings_that_did_not_lead_to_the_best_fold_under_their_source() -> None:
    def tuning(number: int, score_us: float, parents: tuple[int, ...]) -> Trial:
        made = trial(number, passed(score_us), parents=parents, config={BLOCK: 2**number})
        candidate = msgspec.structs.replace(made.proposal.candidate, source=first.proposal.candidate.source)
        return msgspec.structs.replace(made, proposal=msgspec.structs.replace(made.proposal, candidate=candidate))

    first = short_run()[0]
    written = trial(5, passed(33.0), parents=(1,))
    tunings = [tuning(n, 40.0 - n, parents) for n, parents in ((1, (0,)), (2, (0,)), (3, (2,)), (4, (0,)))]
    (root,) = tree_of(run_view((first, *tunings, tuning(6, 20.0, (4,)), written), confirmed={6: passed(20.0)}))
    shown = [node.number for node in root.branches if isinstance(node, Node)]
    (folded,) = [node for node in root.branches if isinstance(node, Tunings)]
    assert shown == [1, 4], "below 1 stands another source, and 4 leads to the best"
    assert [node.number for node in folded.children] == [2]
    assert folded.text == "2 tunings, the best 37.00 µs (estimate) (trial 3)"


def test_a_parent_that_is_not_there_makes_a_root() -> None:
    view = run_view((trial(7, passed(30.0), parents=(3,)),))
    assert isinstance(view.info, RunInfo)
    assert shape(tree_of(view)) == {7: {}}
