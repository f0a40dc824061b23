"""The finals: who takes part, who wins, and what a tie comes to."""

from __future__ import annotations

import msgspec
import pytest

from kernelwright.export.history import history_text
from kernelwright.export.t4 import t4_document
from kernelwright.model import Status
from kernelwright.spaces.samplers.simple import exhaustive
from kernelwright.spaces.space import Config, configs
from kernelwright.tune import tune
from kernelwright.tune.finals import FINALISTS, finalists, joint_of, ranked, reference_of
from kernelwright.tune.records import FinalCase, Outcome, Ratio, Settings
from tuned import BEST, DEFAULT, SOURCE, SPACE, FakeDevice, problem, steps


def tuned(device: FakeDevice, **settings: object) -> Outcome:
    given = Settings(sampler="exhaustive", **settings)  # type: ignore[arg-type]
    info = problem(*device.cases)
    return tune(device, SPACE, problem=info, candidate=SOURCE, settings=given, sampler=exhaustive)


def test_the_best_config_wins_where_it_is_faster() -> None:
    outcome = tuned(FakeDevice())
    assert outcome.joint is not None
    assert outcome.joint.config == BEST
    assert outcome.joint.time_us == pytest.approx(100.0)
    assert outcome.joint.default_us == pytest.approx(121.0)
    assert outcome.joint.ratio.speedup == pytest.approx(1.21)
    assert outcome.joint.why == "faster than the default"
    assert outcome.joint.confirmed is True


def test_the_default_is_always_in_the_finals_and_is_what_they_refer_to() -> None:
    device = FakeDevice()
    outcome = tuned(device)
    assert outcome.reference == outcome.default.number == 0
    assert outcome.finals[0].number == 0
    assert ("finals", "128/4") in device.calls


def test_a_tie_goes_to_the_default_whatever_the_search_saw() -> None:
    """The search's times say that others are faster; sampled in turn they are not."""
    outcome = tuned(FakeDevice(true_of=lambda config, case: 100.0))
    assert outcome.joint is not None
    assert outcome.joint.config == DEFAULT
    assert outcome.joint.why == "no config is faster than the default"
    assert outcome.joint.confirmed is True


def test_a_tie_among_the_faster_goes_to_the_smallest_footprint() -> None:
    def true_of(config: Config, case: str) -> float:
        return 90.0 if config == DEFAULT else 80.0 + 0.01 * config["BLOCK"] / 512

    device = FakeDevice(true_of=true_of)
    outcome = tuned(device)
    assert outcome.joint is not None
    racing = [one.number for one in outcome.finals if one.number != outcome.reference]
    shared = {one.number: one.config["BLOCK"] * 4 for one in outcome.tried}
    assert shared[outcome.joint.number] == min(shared[number] for number in racing)
    assert "the smallest of 4 that are equally fast" in outcome.joint.why


def test_a_default_that_fails_is_replaced_as_the_reference_and_the_choice_says_so() -> None:
    device = FakeDevice(fails=lambda config: (Status.WRONG, "off") if config == DEFAULT else None)
    outcome = tuned(device)
    assert outcome.joint is not None
    assert outcome.joint.config == BEST
    assert outcome.joint.default_us is None
    assert "the default failed" in outcome.joint.why


def test_a_default_that_fails_in_the_finals_hands_on_to_the_next() -> None:
    late = FakeDevice(fails_late=lambda config: (Status.CRASHED, "died") if config == DEFAULT else None)
    outcome = tuned(late)
    assert outcome.joint is not None
    assert outcome.joint.config == BEST
    assert sum(what == "finals" for what, _ in late.calls) == 2


def test_a_finalist_that_fails_in_the_finals_is_not_chosen() -> None:
    outcome = tuned(FakeDevice(fails_late=lambda config: (Status.WRONG, "late") if config == BEST else None))
    assert outcome.joint is not None
    assert steps(outcome.joint.config) == 1


def test_what_is_not_confirmed_is_not_chosen_and_the_next_best_is() -> None:
    device = FakeDevice(fails_again=lambda config: (Status.WRONG, "fresh seed") if config == BEST else None)
    outcome = tuned(device)
    assert outcome.joint is not None
    assert steps(outcome.joint.config) == 1
    assert list(outcome.refused.values()) == ["wrong: fresh seed"]
    assert sum(call == ("confirm", "256/8") for call in device.calls) == 1


def test_where_nothing_else_is_confirmed_the_default_stands() -> None:
    outcome = tuned(FakeDevice(fails_again=lambda config: None if config == DEFAULT else (Status.WRONG, "never")))
    assert outcome.joint is not None
    assert outcome.joint.config == DEFAULT
    assert outcome.joint.why == "no config that passed again is faster than the default"
    assert len(outcome.refused) == FINALISTS


def test_where_all_finalists_are_refused_finals_are_held_of_the_next_best() -> None:
    ranked = [config for config in configs(SPACE) if config != DEFAULT]
    wrong = ranked[:FINALISTS]
    device = FakeDevice(
        time_of=lambda config, case: 200.0 if config == DEFAULT else 50.0 + 2 * ranked.index(config),
        fails_again=lambda config: (Status.WRONG, "odd") if config in wrong else None,
    )
    outcome = tuned(device)
    assert outcome.joint is not None
    assert outcome.joint.config == ranked[FINALISTS]
    assert len(outcome.refused) == FINALISTS
    assert sum(what == "finals" for what, _ in device.calls) == 2


def test_a_kernel_that_is_wrong_on_cases_that_were_not_timed_is_not_chosen_in_any_config() -> None:
    """On a GPU the search looks at the timed cases only."""
    outcome = tuned(FakeDevice(fails_again=lambda config: (Status.WRONG, "small: off by 2")))
    assert outcome.joint is None
    assert set(outcome.refused.values()) == {"wrong: small: off by 2"}
    assert outcome.default.number in outcome.refused


def test_what_is_not_confirmed_has_failed_in_all_that_is_written_of_it() -> None:
    outcome = tuned(FakeDevice(fails_again=lambda config: (Status.WRONG, "fresh seed") if config == BEST else None))
    refused = next(one for one in outcome.tried if one.config == BEST)
    assert (refused.number, refused.score_us, refused.found.status) == (*outcome.refused, None, Status.WRONG)
    rows = history_text(outcome.tried, outcome.cases, outcome.kind, outcome.device, outcome.library).splitlines()
    assert sum(",wrong," in row for row in rows) == 1
    assert [
        entry["invalidity"]
        for entry in t4_document(outcome.tried, outcome.kind, outcome.device, outcome.library)["results"]
    ].count("correctness") == 1


def test_where_nothing_passes_there_is_no_choice() -> None:
    outcome = tuned(FakeDevice(fails=lambda config: (Status.COMPILE_ERROR, "no")))
    assert (outcome.joint, outcome.finals, outcome.reference) == (None, (), None)


def test_each_case_has_its_own_choice_and_one_for_all_says_what_it_costs() -> None:
    outcome = tuned(FakeDevice(cases=("big", "wide")))
    choices = {choice.case: choice for choice in outcome.per_case}
    assert choices["big"].config == BEST
    assert choices["wide"].config["BLOCK"] == 512
    assert outcome.joint is not None
    assert outcome.cost_of_one is not None
    # Blocks of 256 and 512 cost one step on one of the two cases: the square root of 1.1 over both.
    assert outcome.cost_of_one == pytest.approx(1.1**0.5, rel=1e-6)
    assert outcome.joint.time_us == pytest.approx(100 * 1.1**0.5)


def test_one_case_has_no_cost_of_sharing() -> None:
    outcome = tuned(FakeDevice())
    assert (outcome.per_case, outcome.cost_of_one) == ((), None)


def test_without_pairs_the_intervals_of_the_search_decide() -> None:
    outcome = tuned(FakeDevice(pairs=False, kind="replayed"))
    assert outcome.joint is not None
    assert outcome.joint.config == BEST
    flat = tuned(FakeDevice(pairs=False, kind="replayed", time_of=lambda config, case: 100.0 - steps(config) * 0.01))
    assert flat.joint is not None
    assert flat.joint.config == DEFAULT


def test_the_same_seed_and_times_give_the_same_outcome() -> None:
    def picked(outcome: Outcome) -> object:
        return outcome.joint, outcome.per_case, outcome.finals, [one.config for one in outcome.tried]

    assert picked(tuned(FakeDevice(cases=("big", "wide")))) == picked(tuned(FakeDevice(cases=("big", "wide"))))


def test_two_configs_with_the_same_machine_code_are_one_finalist() -> None:
    outcome = tuned(FakeDevice())
    reference = reference_of(outcome.tried)
    assert reference is not None
    assert len(finalists(outcome.tried, ("big",), reference)) == 5
    found = msgspec.structs.replace(reference.found, compiled="one")
    twins = [msgspec.structs.replace(one, found=found) for one in outcome.tried]
    assert [one.number for one in ranked(twins)] == [0]
    assert finalists(twins, ("big",), twins[0]) == [twins[0]]


def test_a_joint_interval_needs_every_case() -> None:
    ratio = Ratio(speedup=1.2, ci95=(1.1, 1.3), verdict="faster")
    slow = Ratio(speedup=0.8, ci95=(0.75, 0.85), verdict="slower")
    good = FinalCase(case="a", status=Status.PASSED, ratio=ratio)
    joint = joint_of([good, FinalCase(case="b", status=Status.PASSED, ratio=slow)])
    assert joint is not None
    assert joint.speedup == pytest.approx(0.96**0.5)
    assert joint.ci95 == pytest.approx(((1.1 * 0.75) ** 0.5, (1.3 * 0.85) ** 0.5))
    assert joint.verdict == "tie"
    assert joint_of([good, FinalCase(case="b", status=Status.WRONG)]) is None


def test_a_joint_gain_has_to_pass_the_largest_noise_floor_of_the_cases() -> None:
    def chosen(noise_floor: float | None) -> Config:
        device = FakeDevice(
            cases=("big", "wide"),
            true_of=lambda config, case: 103.0 if config == DEFAULT else 100.0,
            noise_floors={"wide": noise_floor},
        )
        outcome = tuned(device)
        assert outcome.joint is not None
        return outcome.joint.config

    assert chosen(None) != DEFAULT
    assert chosen(0.02) != DEFAULT
    assert chosen(0.04) == DEFAULT
