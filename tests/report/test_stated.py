"""What a problem set states, shown beside what was found here."""

from __future__ import annotations

import msgspec

from fakes import PROBLEM, run_info
from kernelwright.model import StatedBySet
from kernelwright.report.stated import stated_text

STATED = StatedBySet(
    set="SOL-ExecBench",
    name="rows",
    facts={"kind": "rmsnorm"},
    cases={
        "a": {"uuid": "1", "max_atol": 0.01, "max_rtol": 0.5, "allow_negative_inf": True},
        "b": {"uuid": "2", "max_atol": 0.03, "max_rtol": 0.5},
    },
)


def test_tolerances_are_a_range_where_workloads_differ() -> None:
    assert stated_text(STATED).splitlines() == [
        "stated by SOL-ExecBench for rows (kernelwright judges by its own measure):",
        "  kind: rmsnorm",
        "  workloads: 2",
        "  max_atol: 0.01 to 0.03",
        "  max_rtol: 0.5",
        "  allow_negative_inf: True",
    ]


def test_a_problem_of_a_set_survives_the_journal_and_an_older_one_states_nothing() -> None:
    info = msgspec.structs.replace(run_info().problem, stated=STATED)
    assert msgspec.json.decode(msgspec.json.encode(info), type=type(PROBLEM)) == info
    old = msgspec.to_builtins(PROBLEM)
    del old["stated"]
    assert msgspec.convert(old, type(PROBLEM)).stated is None
