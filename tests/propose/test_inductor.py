"""The inductor proposer: the first kernel is converted, the others are tunings of it."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from generated import MM, of, of_product, of_rows
from kernelwright.inductor import candidate_texts
from kernelwright.inductor.products import SIZES_ARE_ARGUMENTS
from kernelwright.model import Candidate, Evaluation, Generated, Operator, Proposal, Request, Status, Trial
from kernelwright.propose import Context
from kernelwright.propose.inductor import Inductor, InductorFirst, ordered
from kernelwright.propose.protocol import NothingLeft
from proposing import Blobs, context, passed

SEED = Request(number=0, operator=Operator.SEED)


def around(*trials: Trial, generated: Generated | None = None, blobs: Blobs | None = None) -> Context:
    found = of_rows() if generated is None else generated
    return replace(context(*trials, blobs=blobs), generate=lambda: found)


def first() -> Trial:
    proposal = Inductor().propose(SEED, around())
    return Trial(request=SEED, proposal=proposal, evaluation=passed(100.0))


def test_the_first_kernel_is_what_torch_compile_generates() -> None:
    blobs = Blobs()
    proposal = Inductor().propose(SEED, around(blobs=blobs))
    assert proposal.author == "inductor"
    assert proposal.candidate is not None
    assert "def layer_norm_relu_reduce(" in proposal.candidate.source
    assert "(kernels: 1; sizes from shapes; " in proposal.note
    assert not blobs
    assert "async_compile" not in proposal.note + proposal.candidate.source


def test_after_that_its_numbers_are_varied() -> None:
    trial = first()
    tuned = Inductor().propose(Request(number=1, operator=Operator.IMPROVE, parents=(0,)), around(trial))
    assert trial.proposal.candidate is not None
    assert tuned.candidate is not None
    assert tuned.candidate.source == trial.proposal.candidate.source
    assert tuned.candidate.config != trial.proposal.candidate.config


def test_the_first_improvement_is_another_variant_of_inductors() -> None:
    whole = of(lambda text: text.replace("tmp1 = ", "tmp1 = 1.0 * ")).captures
    both = msgspec.structs.replace(of_rows(), rows=whole)
    seed = Inductor().propose(SEED, around(generated=both))
    trial = Trial(request=SEED, proposal=seed, evaluation=passed(100.0))
    request = Request(number=1, operator=Operator.IMPROVE, parents=(0,), round=1)
    special = Inductor().propose(request, around(trial, generated=both))
    assert seed.candidate is not None
    assert special.candidate is not None
    assert (special.author, "1.0 * " in special.candidate.source) == ("inductor", True)
    assert "1.0 * " not in seed.candidate.source
    done = Trial(request=request, proposal=special, evaluation=passed(90.0))
    tuned = Inductor().propose(msgspec.structs.replace(request, number=2), around(trial, done, generated=both))
    assert tuned.author == "builtin"
    later = Request(number=3, operator=Operator.IMPROVE, parents=(0,), round=2)
    assert Inductor().propose(later, around(trial, generated=both)).author == "builtin"


def test_it_is_not_proposed_twice() -> None:
    with pytest.raises(NothingLeft, match=r"every kernel that torch\.compile generates was tried"):
        Inductor().propose(Request(number=1, operator=Operator.SEED), around(first()))


def on_gpu(*trials: Trial) -> Context:
    found = around(*trials, generated=of_product(1024))
    return replace(found, environment=msgspec.structs.replace(found.environment, device="NVIDIA H100", target="sm_90"))


def ways(*evaluations: Evaluation, operator: Operator) -> list[str]:
    """How the kernels that follow each other multiply. evaluations: of all but the last. operator: of those that follow
    a failure, as the strategies ask."""
    trials: list[Trial] = []
    for number in range(len(evaluations) + 1):
        failed = number > 0 and trials[-1].score_us is None
        asked = operator if failed else Operator.IMPROVE if number else Operator.SEED
        parents = () if asked is Operator.SEED else (trials[-1].number if failed else 0,)
        request = Request(number=number, operator=asked, parents=parents, round=0 if failed else min(number, 1))
        proposal = Inductor().propose(request, on_gpu(*trials))
        assert proposal.candidate is not None, proposal.error
        trials.append(Trial(request=request, proposal=proposal, evaluation=[*evaluations, passed(1.0)][number]))
    sources = [one.proposal.candidate.source for one in trials if one.proposal.candidate]
    return [next(way for way in ("split_factor", "tf32x3", "allow_tf32=False") if way in source) for source in sources]


@pytest.mark.parametrize("operator", [Operator.SEED, Operator.REPAIR])
def test_an_exact_product_follows_where_the_judge_refuses_a_split_one(operator: Operator) -> None:
    wrong = Evaluation(status=Status.WRONG)
    assert ways(wrong, operator=operator) == ["split_factor", "allow_tf32=False"]
    assert ways(wrong, passed(100.0), operator=operator)[:2] == ["split_factor", "allow_tf32=False"]


def test_exact_products_are_left_out_where_split_ones_are_right() -> None:
    wrong = Evaluation(status=Status.WRONG)
    assert ways(passed(100.0), passed(90.0), operator=Operator.SEED) == ["split_factor", "tf32x3", "split_factor"], (
        "tuned"
    )
    assert (
        ordered(
            candidate_texts(of_product(1024), "finish", split=True), [first_on_gpu(passed(100.0)), first_on_gpu(wrong)]
        )
        == candidate_texts(of_product(1024), "finish", split=True)[:2]
    ), "a failed tuning of a right kernel changes nothing"


def test_a_kernel_with_sizes_as_arguments_follows_one_that_fails() -> None:
    """The compiler may have broken the first."""
    split, other, exact = candidate_texts(of_product(1024), "finish", split=True)
    plain = f"{other}#{SIZES_ARE_ARGUMENTS}\n"
    texts = [split, plain, exact]
    assert ordered(texts, []) == texts
    assert ordered(texts, [first_on_gpu(Evaluation(status=Status.WRONG))]) == [plain, exact, split]
    assert ordered([split, other, exact], [first_on_gpu(Evaluation(status=Status.WRONG))]) == [exact, split, other]


def first_on_gpu(evaluation: Evaluation) -> Trial:
    return Trial(request=SEED, proposal=Inductor().propose(SEED, on_gpu()), evaluation=evaluation)


def test_the_library_mode_of_the_problem_decides() -> None:
    product = of_rows(MM)
    proposal = Inductor().propose(SEED, around(generated=product))
    assert proposal.error is not None
    assert "aten.mm, which needs LIBRARY" in proposal.error


def test_why_nothing_was_generated_is_the_error() -> None:
    proposal = Inductor().propose(SEED, around(generated=Generated(reason="inputs are nested")))
    assert (proposal.candidate, proposal.error) == (None, "inputs are nested")
    assert Candidate(source="") != proposal.candidate


class Writer:
    author, shows_profiles = "writer", True

    def __init__(self) -> None:
        self.asked: list[Request] = []
        self.is_closed = False

    def answers_at_once(self, request: Request) -> bool:
        return False

    def propose(self, request: Request, context: Context) -> Proposal | None:
        self.asked.append(request)
        return Proposal(author=self.author, error="wrote nothing")

    def close(self) -> None:
        self.is_closed = True


def test_a_model_goes_on_from_the_first_kernel_of_torch_compile() -> None:
    writer = Writer()
    proposer = InductorFirst(writer)
    seed = proposer.propose(SEED, around())
    assert seed is not None
    assert (seed.author, seed.error) == ("inductor", None)
    others = [Request(number=1, operator=Operator.SEED), Request(number=2, operator=Operator.IMPROVE, parents=(0,))]
    for request in others:
        proposer.propose(request, around(first()))
    assert writer.asked == others
    proposer.close()
    assert writer.is_closed
    assert (proposer.author, proposer.shows_profiles) == ("writer", True)


def test_a_model_writes_the_first_kernel_where_none_can_be_converted() -> None:
    asked: list[int] = []

    def refused() -> Generated:
        asked.append(1)
        return Generated(reason="inputs are nested")

    writer = Writer()
    proposer = InductorFirst(writer)
    for _ in range(3):  # as a request that waits for a reply is proposed again
        proposer.propose(SEED, replace(context(), generate=refused))
    assert (writer.asked, asked) == ([SEED] * 3, [1])
