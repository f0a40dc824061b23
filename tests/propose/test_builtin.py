"""The built-in proposer: which configs it proposes, and how soon it finds a good one."""

from __future__ import annotations

import math
import re

import msgspec
import pytest

from kernelwright.model import Candidate, Evaluation, Operator, Request, Status
from kernelwright.propose.builtin import Builtin, next_config, tune
from kernelwright.propose.protocol import NothingLeft
from kernelwright.source import apply_config, default_config, find_tunables
from kernelwright.spaces.space import Config, Parameter, Space, key
from proposing import KERNEL, OTHER, context, failed, passed, search, starter, trial
from samples import resources

BUILTIN = Builtin()
KEYS = ("BLOCK", "double_kernel.num_stages", "double_kernel.num_warps")


def improve(number: int, *parents: int) -> Request:
    return Request(number=number, operator=Operator.IMPROVE, parents=parents or (0,))


def config_of(request: Request, *trials: object, **more: object) -> dict[str, int]:
    proposal = BUILTIN.propose(request, context(*trials, **more))  # type: ignore[arg-type]
    assert proposal.candidate is not None, proposal.error
    return proposal.candidate.config


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
    trials = search(BUILTIN.propose, lambda config: 100.0, size - 1, source)
    configs = [tuple(sorted(one.proposal.candidate.config.items())) for one in trials[1:] if one.proposal.candidate]
    assert len(set(configs)) == len(configs) == size - 1, "all but the default, which the starter was"
    why = rf"every config of the source of trial 0 was tried \({size}\)"
    with pytest.raises(NothingLeft, match=why):
        BUILTIN.propose(improve(size), context(*trials))
    assert re.fullmatch(why, str(tune(improve(size), context(*trials)).error))


def test_where_every_config_of_the_parent_was_tried_the_best_other_source_is_varied() -> None:
    none = "def kernel_function(x):\n    return x\n"
    slow, fast = trial(1, OTHER, evaluation=passed(90.0)), trial(2, KERNEL, evaluation=passed(40.0))
    broken = trial(3, KERNEL.replace("256", "128"), evaluation=failed())
    proposal = BUILTIN.propose(improve(4), context(trial(0, none), slow, fast, broken))
    assert proposal.candidate is not None
    assert proposal.candidate.source == KERNEL
    assert proposal.note.startswith("trial 2: ")


def test_what_failed_or_is_under_way_is_not_proposed_again() -> None:
    for number in range(1, 10):
        first = config_of(improve(number), starter())
        tried = trial(number + 100, config=first, evaluation=failed())
        assert config_of(improve(number), starter(), tried) != first
        assert config_of(improve(number), starter(), in_flight=(Candidate(source=KERNEL, config=first),)) != first


def test_a_config_that_spells_out_the_defaults_counts_as_the_default() -> None:
    first = config_of(improve(1), trial(0, config=default_config(KERNEL)))
    assert first == config_of(improve(1), starter()) != default_config(KERNEL)


def test_a_kernel_that_no_call_launches_is_not_tuned() -> None:
    idle = KERNEL + "\n\n@triton.jit\ndef idle_kernel(x, OTHER_BLOCK: tl.constexpr):\n    tl.store(x, 1.0)\n"
    idle += "\n\ndef unused(x):\n    idle_kernel[(1,)](x, OTHER_BLOCK=64, num_warps=2)\n"
    assert "idle_kernel.OTHER_BLOCK" in default_config(idle)
    launched = msgspec.structs.replace(resources(), kernel="double_kernel")
    evaluation = msgspec.structs.replace(passed(100.0), kernels=(launched,))
    assert set(config_of(improve(1), trial(0, idle, evaluation=evaluation))) == set(KEYS)
    assert "idle_kernel.OTHER_BLOCK" in config_of(improve(1), trial(0, idle)), "not known before it is compiled"


def test_configs_of_other_sources_are_free() -> None:
    first = config_of(improve(1), starter())
    assert config_of(improve(1), starter(), trial(7, OTHER, config=first)) == first


def test_the_proposal_depends_on_seed_and_number() -> None:
    assert config_of(improve(3), starter()) == config_of(improve(3), starter())
    assert len({str(config_of(improve(number), starter())) for number in range(1, 20)}) > 5
    assert len({str(config_of(improve(3), starter(), seed=seed)) for seed in range(20)}) > 5


def test_random_configs_come_from_the_whole_space() -> None:
    proposals = [
        Builtin("random").propose(Request(number=number, operator=Operator.TUNE, parents=(0,)), context(starter()))
        for number in range(1, 200)
    ]
    configs = [proposal.candidate.config for proposal in proposals if proposal.candidate is not None]
    for tunable in find_tunables(KERNEL):
        assert {config[tunable.key] for config in configs} == set(tunable.choices)


def test_a_tuning_for_a_proposer_that_writes_code_begins_with_one_step_in_one_tunable() -> None:
    request = Request(number=1, operator=Operator.TUNE, parents=(0,))
    candidate = tune(request, context(starter())).candidate
    assert candidate is not None
    changed = [one for one in find_tunables(KERNEL) if candidate.config[one.key] != one.default]
    assert len(changed) == 1
    choices, default = changed[0].choices, changed[0].default
    assert abs(choices.index(candidate.config[changed[0].key]) - choices.index(default)) == 1


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
    with pytest.raises(NothingLeft, match="the source of trial 1 has no tunables to vary"):
        BUILTIN.propose(improve(2, 1), context(trial(1, "def kernel_function(x):\n    return x\n")))
    unknown = BUILTIN.propose(improve(9, 5), context(starter()))
    assert unknown.error is not None
    assert "trials (5,) are not known" in unknown.error


def test_a_repair_first_goes_back_to_the_defaults() -> None:
    broken = trial(1, config={"BLOCK": 1024, "double_kernel.num_warps": 16}, evaluation=failed(Status.CRASHED))
    request = Request(number=2, operator=Operator.REPAIR, parents=(1,))
    assert config_of(request, broken) == default_config(KERNEL)


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
        request = Request(number=number, operator=Operator.TUNE, parents=(0,))
        candidate = Builtin("random").propose(request, context(parent)).candidate
        assert candidate is not None
        assert apply_config(source, candidate.config) == source
        seen.add(candidate.config["autotune:double_kernel"])
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


def test_restrictions_hold_for_every_config() -> None:
    """Nothing of the space is left once each config that the restriction allows was proposed."""
    parameters = (Parameter(name="A", choices=(1, 2, 4), default=1), Parameter(name="B", choices=(1, 2, 4), default=1))
    space = Space(parameters=parameters, restrictions=("A * B <= 4",))
    tried: list[tuple[Config, float | None]] = []
    while (config := next_config("model", space, f"0:{len(tried)}", tried, [])) is not None:
        tried.append((config, 10.0 + config["A"]))
    assert sorted(key(space, config) for config, _ in tried) == [(1, 1), (1, 2), (1, 4), (2, 1), (2, 2), (4, 1)]


def test_a_model_of_times_finds_more_than_random_draws() -> None:
    """The sampler is told the times: otherwise both would find the same."""

    def best(sampler: str) -> float:
        found = [search(Builtin(sampler).propose, bowl, 15, seed=seed) for seed in range(5)]
        return sum(min(one.score_us for one in trials if one.score_us) for trials in found) / len(found)

    assert best("model") < 0.9 * best("random")


def test_a_passing_trial_of_unknown_time_is_neither_good_nor_bad() -> None:
    unknown = Evaluation(status=Status.NOT_VERIFIED)
    config = config_of(improve(5), starter(passed(10.0)), trial(1, config={"BLOCK": 512}, evaluation=unknown))
    assert config != {**default_config(KERNEL), "BLOCK": 512}
