"""The built-in proposer: which configs it proposes, and how soon it finds a good one."""

from __future__ import annotations

import math

import pytest

from kernelwright.model import Candidate, Evaluation, Operator, Request, Status
from kernelwright.propose.builtin import Builtin
from kernelwright.source import apply_config, default_config, find_tunables
from proposing import KERNEL, OTHER, context, failed, passed, search, starter, trial

BUILTIN = Builtin()
KEYS = ("BLOCK", "double_kernel.num_stages", "double_kernel.num_warps")


def improve(number: int, *parents: int) -> Request:
    return Request(number=number, operator=Operator.IMPROVE, parents=parents or (0,))


def config_of(request: Request, *trials: object, **more: object) -> dict[str, int]:
    proposal = BUILTIN.propose(request, context(*trials, **more))  # type: ignore[arg-type]
    assert proposal.candidate is not None, proposal.error
    return proposal.candidate.config


def test_the_kernel_of_these_tests_has_three_tunables() -> None:
    assert sorted(default_config(KERNEL)) == sorted(KEYS)


def test_an_improvement_changes_one_or_two_tunables_by_a_step() -> None:
    steps = 0
    for number in range(1, 60):
        config = config_of(improve(number), starter())
        old = default_config(KERNEL)
        changed = [key for key in old if config[key] != old[key]]
        choices = {tunable.key: tunable.choices for tunable in find_tunables(KERNEL)}
        if all(abs(choices[key].index(config[key]) - choices[key].index(old[key])) == 1 for key in changed):
            assert len(changed) in (1, 2)
            steps += 1
    assert steps > 45, "the rest are restarts, which are to be rare"


def test_the_source_stays_and_the_config_can_be_applied() -> None:
    proposal = BUILTIN.propose(improve(1), context(starter()))
    assert proposal.candidate is not None
    assert proposal.candidate.source == KERNEL
    assert apply_config(KERNEL, proposal.candidate.config) != KERNEL
    assert proposal.author == "builtin"


def test_the_note_says_what_changed() -> None:
    proposal = BUILTIN.propose(improve(1), context(starter()))
    assert proposal.candidate is not None
    (key, value), *_ = [
        (key, value) for key, value in proposal.candidate.config.items() if value != default_config(KERNEL)[key]
    ]
    assert f"{key} {default_config(KERNEL)[key]} → {value}" in proposal.note


def test_nothing_is_tried_twice_and_the_end_is_said() -> None:
    source = KERNEL.replace("BLOCK = 256", "BLOCK = 240")
    size = math.prod(len(tunable.choices) for tunable in find_tunables(source))
    assert size == 25, "warps and stages: 240 is no power of two"
    trials = search(BUILTIN.propose, lambda config: 100.0, size + 2, source)
    configs = [tuple(sorted(one.proposal.candidate.config.items())) for one in trials[1:] if one.proposal.candidate]
    assert len(set(configs)) == len(configs) == size - 1, "all but the default, which the starter was"
    assert trials[-1].proposal.error == f"every config of this source was tried ({size})"


def test_what_failed_or_is_under_way_is_not_proposed_again() -> None:
    for number in range(1, 10):
        first = config_of(improve(number), starter())
        tried = trial(number + 100, config=first, evaluation=failed())
        assert config_of(improve(number), starter(), tried) != first
        assert config_of(improve(number), starter(), in_flight=(Candidate(source=KERNEL, config=first),)) != first


def test_a_config_that_spells_out_the_defaults_counts_as_the_default() -> None:
    first = config_of(improve(1), trial(0, config=default_config(KERNEL)))
    assert first == config_of(improve(1), starter()) != default_config(KERNEL)


def test_configs_of_other_sources_are_free() -> None:
    first = config_of(improve(1), starter())
    assert config_of(improve(1), starter(), trial(7, OTHER, config=first)) == first


def test_the_proposal_depends_on_seed_and_number() -> None:
    assert config_of(improve(3), starter()) == config_of(improve(3), starter())
    assert len({str(config_of(improve(number), starter())) for number in range(1, 20)}) > 5
    assert len({str(config_of(improve(3), starter(), seed=seed)) for seed in range(20)}) > 5


def test_tuning_draws_from_the_whole_space() -> None:
    configs = [
        config_of(Request(number=number, operator=Operator.TUNE, parents=(0,)), starter()) for number in range(1, 200)
    ]
    for tunable in find_tunables(KERNEL):
        assert {config[tunable.key] for config in configs} == set(tunable.choices)


def test_a_seed_without_parents_starts_from_the_first_candidate() -> None:
    request = Request(number=1, operator=Operator.SEED)
    proposal = BUILTIN.propose(request, context(starter(failed())))
    assert proposal.candidate is not None
    assert proposal.candidate.source == KERNEL


def test_without_any_kernel_it_says_what_it_lacks() -> None:
    proposal = BUILTIN.propose(Request(number=0, operator=Operator.SEED), context())
    assert proposal.error == (
        "the built-in proposer varies the numbers of an earlier kernel, and this run has none yet"
    )


def test_a_parent_without_a_candidate_or_tunables_is_an_error() -> None:
    no_candidate = BUILTIN.propose(improve(2, 1), context(starter(), trial(1, None)))
    assert no_candidate.error == "trial 1, the parent, has no candidate to vary"
    no_tunables = BUILTIN.propose(improve(2, 1), context(trial(1, "def kernel_function(x):\n    return x\n")))
    assert no_tunables.error == "the source of trial 1 has no tunables to vary"
    unknown = BUILTIN.propose(improve(9, 5), context(starter()))
    assert unknown.error is not None
    assert "trials (5,) are not known" in unknown.error


def test_a_repair_first_goes_back_to_the_defaults() -> None:
    broken = trial(1, config={"BLOCK": 1024, "double_kernel.num_warps": 16}, evaluation=failed(Status.CRASHED))
    request = Request(number=2, operator=Operator.REPAIR, parents=(1,))
    assert config_of(request, broken) == default_config(KERNEL)


def test_a_repair_beyond_the_defaults_asks_for_less() -> None:
    broken = trial(
        1, config={"BLOCK": 1024, "double_kernel.num_warps": 16, "double_kernel.num_stages": 5}, evaluation=failed()
    )
    request = Request(number=2, operator=Operator.REPAIR, parents=(1, 0))
    for number in range(2, 12):
        config = config_of(Request(number=number, operator=Operator.REPAIR, parents=(1, 0)), starter(), broken)
        assert config["BLOCK"] <= 1024
        assert config["double_kernel.num_warps"] <= 16
        assert config["double_kernel.num_stages"] <= 5
    assert config_of(request, starter(), broken) != default_config(KERNEL)


def test_a_merge_takes_each_value_from_one_of_the_parents() -> None:
    one = trial(1, config={"BLOCK": 1024, "double_kernel.num_warps": 16, "double_kernel.num_stages": 5})
    two = trial(2, config={"BLOCK": 64, "double_kernel.num_warps": 1, "double_kernel.num_stages": 1})
    for number in range(3, 20):
        config = config_of(Request(number=number, operator=Operator.MERGE, parents=(1, 2)), one, two)
        assert all(config[key] in (one_value(one, key), one_value(two, key)) for key in KEYS)
        assert config not in (one_config(one), one_config(two))


def one_config(parent: object) -> dict[str, int]:
    return parent.proposal.candidate.config  # type: ignore[attr-defined, no-any-return]


def one_value(parent: object, key: str) -> int:
    return one_config(parent)[key]


def test_a_merge_of_different_sources_varies_the_first() -> None:
    request = Request(number=3, operator=Operator.MERGE, parents=(1, 2))
    proposal = BUILTIN.propose(request, context(trial(1), trial(2, OTHER)))
    assert proposal.candidate is not None
    assert proposal.candidate.source == KERNEL


def test_computed_autotune_configs_are_varied_by_the_count_of_the_evaluation() -> None:
    source = KERNEL.replace(
        "@triton.jit", "@triton.autotune(configs=[triton.Config({'BLOCK': b}) for b in SIZES], key=[])\n@triton.jit"
    )
    evaluation = Evaluation(status=Status.PASSED, score_us=10.0, autotune={"double_kernel": 3})
    parent = trial(0, source, evaluation=evaluation)
    seen = set()
    for number in range(1, 20):
        config = config_of(Request(number=number, operator=Operator.TUNE, parents=(0,)), parent)
        assert apply_config(source, config) == source
        seen.add(config["autotune:double_kernel"])
    assert seen == {1, 2}, "0 is what the parent ran with"


def bowl(config: dict[str, int]) -> float:
    """Fastest at a block of 1024, two warps and five stages; every step away costs."""
    full = {**default_config(KERNEL), **config}
    distance = (
        abs(math.log2(full["BLOCK"] / 1024))
        + abs(math.log2(full["double_kernel.num_warps"] / 2))
        + 0.2 * abs(full["double_kernel.num_stages"] - 5)
    )
    return 10.0 * (1 + distance)


@pytest.mark.parametrize("seed", range(5))
def test_a_smooth_optimum_is_found_within_a_sixth_of_the_space(seed: int) -> None:
    trials = search(BUILTIN.propose, bowl, 20, seed=seed)
    assert min(one.score_us for one in trials if one.score_us) == pytest.approx(10.0)


def test_values_that_fail_are_avoided() -> None:
    """Blocks above 256 are wrong: at first unknown, later seldom tried again."""

    def measure(config: dict[str, int]) -> float | None:
        return None if config.get("BLOCK", 256) > 256 else bowl(config)

    failures = 0
    for seed in range(5):
        trials = search(BUILTIN.propose, measure, 30, seed=seed)
        failures += sum(one.score_us is None for one in trials[5:])
    assert failures / 5 < 8


def test_a_passing_trial_of_unknown_time_is_neither_good_nor_bad() -> None:
    unknown = Evaluation(status=Status.NOT_VERIFIED)
    config = config_of(improve(5), starter(passed(10.0)), trial(1, config={"BLOCK": 512}, evaluation=unknown))
    assert config != {**default_config(KERNEL), "BLOCK": 512}
