"""The search loop: keeps up to `thinking` proposals and `in_flight` evaluations running and advances each trial.

The strategy decides what to try, `stopping` how long. Each event is in the journal before anything follows from it
(`passes`). A proposal and an answer may have cost money, so the thread that received them writes them at once.
Everything else is written by the one thread that runs the loop, and only that thread uses the strategy.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Set
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

import msgspec

from kernelwright.evaluator.protocol import Worker
from kernelwright.journal import Event, Journal, Profiles, RunState
from kernelwright.model import KNOWN, Answered, Budget, Candidate, Evaluation, Proposal, Request
from kernelwright.propose import varies_numbers
from kernelwright.propose.lessons import read_cards
from kernelwright.propose.protocol import Context, NothingLeft, Proposer
from kernelwright.propose.withheld import without_source
from kernelwright.run.clock import SessionClock
from kernelwright.run.confirm import confirmation
from kernelwright.run.control import LOOK_S, first_done, is_paused
from kernelwright.run.passes import LaneNews, Passes
from kernelwright.run.profiling import case_beside_seed, lacking, take_profiles
from kernelwright.run.stopping import Obstacle, StopReason, obstacle
from kernelwright.run.verdicts import Verdicts
from kernelwright.search.protocol import Strategy

log = logging.getLogger(__name__)

T = TypeVar("T")

FINAL = (StopReason.TRIALS, StopReason.FINISHED)
"""Reasons to start no new request that do not pass."""


class Loop:
    def __init__(
        self,
        journal: Journal,
        strategy: Strategy,
        proposer: Proposer,
        worker: Worker,
        budget: Budget,
        on_event: Callable[[Event], None],
        state: RunState,
        spent_s: float,
        verdicts: Verdicts | None = None,
        most_waiting: int | None = None,
    ) -> None:
        """state and strategy: as replayed. spent_s: time of the run's earlier sessions. verdicts: of earlier runs.
        most_waiting: see `optimize`."""
        self._verdicts = verdicts
        self.state = state
        self.waiting: set[int] = set()
        self._journal = journal
        self._strategy = strategy
        self._proposer = proposer
        self._worker = worker
        self._budget = budget
        self._settings = journal.info.settings
        self._lessons = read_cards(Path(self._settings.lessons)) if self._settings.lessons is not None else ()
        self._most_thinking = self._settings.thinking or self._settings.in_flight
        self._thinkers = ThreadPoolExecutor(self._most_thinking, thread_name_prefix="propose")
        self._threads = ThreadPoolExecutor(self._settings.in_flight, thread_name_prefix="evaluate")
        self._passes = Passes(journal, state, on_event)
        self.record = self._passes.record
        self._ready: deque[int] = deque()
        """Trials whose candidate waits for a free evaluation slot."""
        self._thinking: dict[int, int] = {}
        """Trials that are being proposed, or will be when the pass is committed, and how many results they know."""
        self._measuring: set[int] = set()
        """Trials that are being evaluated, or will be when the pass is committed."""
        self._looking: set[int] = set()
        """Trials that are being profiled, or will be when the pass is committed."""
        self._proposing: dict[Future[Event | None], int] = {}
        self._evaluating: dict[Future[Evaluation], int] = {}
        self._profiling: dict[Future[Profiles], int] = {}
        self._answered: SimpleQueue[Event] = SimpleQueue()
        self.clock = SessionClock(budget, spent_s)
        self._lanes = LaneNews()
        worker.watch(self._lanes.put)
        self._most_waiting = most_waiting
        self._advanced_s: dict[int, float] = {}
        self._trials_s: list[float] = []
        self._obstacle: Obstacle | None = None
        self._asked = sum(map(self._settings.counts, state.requests.values()))
        """Requests that the limit of trials counts."""
        self._is_held = False
        self._next: Request | None = None
        """A request for which the proposer has nothing until the trials under way are finished; not recorded yet."""
        self._kept: tuple[int, Proposal | None] = (-1, None)
        """The proposal for the latest request, by its number."""
        self._recording = threading.Lock()
        self._abandoned: set[int] = set()
        """Requests whose answer was given up; it is not recorded when it arrives later."""

    def search(self) -> tuple[StopReason, str]:
        """Finish the open trials, then search until no new request is allowed or left; gives the reason for the end."""
        self._judge_killed()
        with self._passes.one():
            for number in self.state.open_numbers():
                if not self.clock.is_up or number in self.state.proposals:
                    self._advance(number)
            self._fill()
        while self._proposing or self._evaluating or self._profiling or self._is_held:
            under_way: list[Future[Any]] = [*self._proposing, *self._evaluating, *self._profiling]
            if not under_way:
                self._rest()
            done = first_done([*under_way, self._lanes.arrived], self._patience_s())
            if self.clock.is_up and not all(future.done() for future in self._proposing):
                self._give_up()  # an evaluation under way has its own limits; wait for it
                self._proposer.close()
            with self._passes.one():
                self._take(done)
                self._fill()
        if self.waiting:
            what = "request waits" if len(self.waiting) == 1 else "requests wait"
            return StopReason.WAITING, f"{len(self.waiting)} {what} for a reply"
        if self._obstacle is not None:
            return self._obstacle.reason, self._obstacle.detail
        if self.clock.is_up and self.state.open_numbers():
            left = len(self.state.open_numbers())
            return StopReason.MINUTES, f"{self._budget.minutes:g} minutes are over, with {left} open requests"
        return StopReason.FINISHED, "the strategy has nothing more to ask"

    def _judge_killed(self) -> None:
        """Evaluate trials again whose compilers were killed in an earlier session, one at a time, to spare memory."""
        for trial in self.state.trials():
            candidate = trial.proposal.candidate
            if trial.evaluation is None or not trial.evaluation.killed or candidate is None or self.clock.is_up:
                continue
            given = (candidate, self._purpose(candidate), self.state.incumbent())
            evaluation = self._threads.submit(self._worker.evaluate, *given).result()
            self.record(self._journal.append_judged_again(trial.number, evaluation))
            self._strategy.tell(self.state.told[trial.number])

    def _take(self, done: Set[Future[Any]]) -> None:
        """Process the futures that are done."""
        stages: list[tuple[dict[Future[Any], int], Callable[[int, Any], None]]] = [
            (self._proposing, self._take_proposal),
            (self._evaluating, self._take_evaluation),
            (self._profiling, self._take_profiles),
        ]
        for under_way, take in stages:
            for future in [one for one in under_way if one in done]:
                take(under_way.pop(future), future.result())

    def confirm(self, number: int, candidate: Candidate) -> Evaluation:
        """A fresh evaluation on every case, journaled unless its compilers were killed. It runs in a thread, so that an
        interrupt is noticed at once."""
        evaluation = self._threads.submit(confirmation, self._worker, candidate, self.state.seed).result()
        if evaluation.killed:
            log.warning("trial %d is not confirmed in this session: %s", number, evaluation.reason)
        else:
            self.record(self._journal.append_confirmed(number, evaluation))
        return evaluation

    def profile(self, number: int) -> None:
        """Profile the best trial, for messages and views. It uses the case on which the seed was profiled, so that both
        can be compared. No profile is taken for a proposer that shows none."""
        case, candidate = case_beside_seed(number, self.state, self._journal.info.problem), self.state.candidate(number)
        if self._proposer.shows_profiles and case and candidate is not None and number not in self.state.profiles:
            profiles = self._threads.submit(take_profiles, self._worker, candidate, case).result()
            self.record(self._journal.append_profiled(number, profiles))

    def close(self) -> None:
        """Wait for proposals under way, which may be paid for, but not for evaluations, which can be repeated."""
        self._end_threads()
        self._take_answers()
        under_way = [future for future in self._proposing if not future.done()]
        if under_way:
            log.warning("waiting for %d answers under way; interrupt again to lose them", len(under_way))
            wait(under_way)

    def _end_threads(self) -> None:
        self._worker.watch(None)
        for threads in (self._thinkers, self._threads):
            threads.shutdown(wait=False, cancel_futures=True)

    def abandon(self, left_s: float) -> None:
        """Replaces `close` where the process has to end soon: record finished evaluations, wait at most `left_s` for
        answers under way, and record the missing ones as abandoned."""
        self._end_threads()
        for finished, number in self._evaluating.items():
            if finished.done() and not finished.cancelled() and finished.exception() is None:
                self.record(self._journal.append_evaluated(number, finished.result()))
        wait(list(self._proposing), left_s)
        self._give_up()

    def _give_up(self) -> None:
        """Record the answers under way as abandoned, at the largest usage so far. Their requests stay open."""
        self._take_answers()
        cost = msgspec.structs.replace(self.state.dearest, requests=1, assumed=1)
        with self._recording:
            for future, number in list(self._proposing.items()):
                if not future.done():
                    del self._proposing[future]
                    self._thinking.pop(number, None)
                    self._abandoned.add(number)
                    self.record(self._journal.append_abandoned(number, cost))

    # --- the limit of time ----------------------------------------------------------------------------------

    def _patience_s(self) -> float | None:
        """Maximum time to wait for a future before the pause file or the time limit is checked; None: no limit."""
        known = [LOOK_S if self._is_held else None, self.clock.left_s if self._proposing else None]
        return min((one for one in known if one is not None), default=None)

    # --- one request at a time ------------------------------------------------------------------------------

    def _fill(self) -> None:
        """Start new requests. A request that waits for a mailbox reply does not count as under way: a person who
        answers prompts gets every prompt that the strategy has, up to `most_waiting`."""
        self._is_held = False
        self._take_answers()
        # A request that was refused is not asked again: the strategy would go on with the next one.
        while self._has_room() and (self._obstacle is None or self._obstacle.reason not in FINAL):
            unanswered = [one for one in self.state.open_numbers() if one not in self.state.proposals]
            if self._most_waiting is not None and len(unanswered) >= self._most_waiting:
                return
            if is_paused(self._journal.folder):
                self._is_held = True
                return
            self._obstacle = obstacle(self._budget, self.state, self.clock.run_s, self._trials_s)
            if self._obstacle is not None:
                return
            request, self._next = self._next or self._strategy.ask(), None
            if request is None:
                return
            counts, most = self._settings.counts(request), self._budget.trials
            if counts and most is not None and self._asked >= most:
                self._obstacle = Obstacle(StopReason.TRIALS, f"{self._asked} of {most} trials")
                return
            if why := self._nothing_left(request):
                if self.state.open_numbers():
                    self._next = request
                else:
                    self._obstacle = Obstacle(StopReason.FINISHED, why)
                return
            self._asked += counts
            self.record(self._journal.append_asked(request))
            self._advance(request.number)

    def _nothing_left(self, request: Request) -> str:
        """Why a proposer of numbers has no candidate for a request that is not recorded; "" where it has one, which is
        kept, or where it takes longer to answer."""
        is_given = request.candidate is not None or not varies_numbers(self._settings.proposer)
        if is_given or not self._proposer.answers_at_once(request):
            return ""
        try:
            self._kept = request.number, self._proposer.propose(request, self._context(request.number))
        except NothingLeft as reason:
            return str(reason)
        return ""

    def _has_room(self) -> bool:
        """Whether one more proposal may start. Not while as many proposals as `in_flight` wait for their evaluation to
        end."""
        under_way = [number for number in self.state.open_numbers() if number not in self.waiting]
        proposed = sum(number in self.state.proposals for number in under_way)
        return len(under_way) - proposed < self._most_thinking and proposed < self._settings.in_flight

    def _rest(self) -> None:
        """Sleep until the pause is over. A pause does not count as time of the run."""
        self.record(self._journal.append_stopped(StopReason.PAUSED.value, self.clock.session_s))
        self.clock.stop()
        try:
            while is_paused(self._journal.folder):
                time.sleep(LOOK_S)
        finally:
            self.clock.start()
            self.record(self._journal.append_started(self._budget))

    def _advance(self, number: int) -> None:
        """Begin the next stage of a trial; called once for each stage it reaches."""
        self._advanced_s.setdefault(number, time.monotonic())
        request, proposal = self.state.requests[number], self.state.proposals.get(number)
        if proposal is None and request.candidate is not None:
            self.record(self._journal.append_proposed(number, self._given(request.candidate)))
            self._advance(number)
        elif proposal is None:
            if self._profile_parents(request):
                return
            self._ask_proposer(request)
        elif proposal.candidate is None or number in self.state.evaluations:
            self._tell(number)
        else:
            self._evaluate(number, proposal.candidate)

    def _given(self, candidate: Candidate) -> Proposal:
        """The proposal of a request that comes with its candidate (a starter or a known kernel)."""
        info = self._journal.info
        known = next((one for one in info.known if one.candidate == candidate and candidate != info.starter), None)
        if known is None:
            return Proposal(author="starter", candidate=candidate)
        return Proposal(author=KNOWN, candidate=candidate, note=f"{KNOWN}, from {known.origin}")

    def _ask_proposer(self, request: Request) -> None:
        context, number = self._context(request.number), request.number
        if self._proposer.answers_at_once(request):
            try:
                known = self._kept if self._kept[0] == number else None
                proposal = known[1] if known is not None else self._proposer.propose(request, context)
            except NothingLeft as reason:  # of a request that an earlier session recorded
                proposal = Proposal(author=self._proposer.author, error=str(reason))
            self._take_proposal(number, None if proposal is None else self._journal.append_proposed(number, proposal))
        else:
            self._thinking[number] = len(self.state.told)
            self._begin(self._proposing, number, self._thinkers, self._propose, request, context)

    def _begin(
        self, under_way: dict[Future[T], int], number: int, threads: ThreadPoolExecutor, work: Callable[..., T],
        *given: Any,
    ) -> None:  # fmt: skip
        def start() -> None:
            under_way[threads.submit(work, *given)] = number

        self._passes.act(start)

    def _profile_parents(self, request: Request) -> bool:
        """Start the profiles that the prompt of a request needs. True: the request has to wait; the last profile
        continues it."""
        wanted = lacking(request, self.state, self._proposer, self._journal.info.problem)
        for number, case in wanted.items():
            candidate = self.state.candidate(number)
            if number not in self._looking and candidate is not None:
                self._looking.add(number)
                self._begin(self._profiling, number, self._threads, take_profiles, self._worker, candidate, case)
        return bool(wanted)

    def _take_profiles(self, number: int, profiles: Profiles) -> None:
        self._looking.discard(number)
        self.record(self._journal.append_profiled(number, profiles))
        asked = [other for other in self.state.open_numbers() if other not in self.state.proposals]
        for other in asked:
            if other not in self._thinking:
                self._advance(other)

    def _propose(self, request: Request, context: Context) -> Event | None:
        """Runs in a separate thread, which interrupts do not reach, so that no answer is lost before it is recorded."""
        proposal = self._proposer.propose(request, context)
        with self._recording:
            if proposal is None or request.number in self._abandoned:
                return None
            return self._journal.append_proposed(request.number, proposal)

    def _keep_answer(self, answered: Answered) -> None:
        """Record an answer, in the thread that received it. The loop takes the event from the queue later."""
        self._answered.put(self._journal.append_answered(answered))

    def _take_answers(self) -> None:
        """Take recorded answers and lane changes into the state."""
        for change in self._lanes.take():
            self.record(self._journal.append_lane(change))
        while not self._answered.empty():
            self.record(self._answered.get())

    def _take_proposal(self, number: int, event: Event | None) -> None:
        known = self._thinking.pop(number, len(self.state.told))
        self._take_answers()
        if event is None and known < len(self.state.told):
            self._advance(number)  # what waits says all results so far
        elif event is None:
            self.waiting.add(number)
        else:
            self.record(event)
            self._advance(number)

    def _evaluate(self, number: int, candidate: Candidate) -> None:
        """Evaluate a candidate, unless another trial has the same one: then it takes that trial's result, or waits for
        it."""
        twin = self.state.twin(number)
        if twin is not None:
            first = self.state.evaluations[twin]
            reason = f"the same candidate as trial {twin}" + (f": {first.reason}" if first.reason else "")
            repeated = msgspec.structs.replace(first, reason=reason, stages_s={}, lane="")
            self.record(self._journal.append_evaluated(number, repeated))
            self._advance(number)
        elif (known := self._known_failure(number, candidate)) is not None:
            self.record(self._journal.append_evaluated(number, known))
            self._advance(number)
        elif candidate in [self.state.candidate(other) for other in self._measuring]:
            return
        elif len(self._measuring) < self._settings.in_flight:
            self._measuring.add(number)
            given = (candidate, self._purpose(candidate), self.state.incumbent())
            self._begin(self._evaluating, number, self._threads, self._worker.evaluate, *given)
        else:
            self._ready.append(number)

    def _purpose(self, candidate: Candidate) -> str:
        """Small cases judge each text once: of other configs the best is judged on all cases when it is confirmed."""
        return "tune" if candidate.source in self.state.passed_sources else "search"

    def _known_failure(self, number: int, candidate: Candidate) -> Evaluation | None:
        """An earlier run's verdict on a candidate that a proposer wrote. A starter or known kernel is always judged."""
        if self._verdicts is None or self.state.requests[number].candidate is not None:
            return None
        return self._verdicts.failure(candidate)

    def _take_evaluation(self, number: int, evaluation: Evaluation) -> None:
        judged = self.state.candidate(number)
        if self._verdicts is not None and judged is not None:
            self._verdicts.keep(judged, evaluation)
        self._measuring.discard(number)
        self.record(self._journal.append_evaluated(number, evaluation))
        candidate = self.state.candidate(number)
        same = [other for other in self.state.open_numbers() if self.state.candidate(other) == candidate]
        for other in same:
            self._advance(other)
        while self._ready and len(self._measuring) < self._settings.in_flight and not self.clock.is_up:
            ready = self._ready.popleft()
            if ready not in self.state.evaluations:
                self._advance(ready)

    def _tell(self, number: int) -> None:
        self.record(self._journal.append_told(number))
        self._strategy.tell(self.state.told[number])
        self._trials_s.append(time.monotonic() - self._advanced_s[number])
        self._trials_s[1:] = [max(self._trials_s[1:])] if self._trials_s[1:] else []
        # Their replies may have arrived since.
        again, self.waiting = self.waiting, set()
        for other in sorted(again):
            self._advance(other)

    def _context(self, number: int) -> Context:
        open_candidates = [self.state.candidate(other) for other in self.state.open_numbers() if other != number]
        context = Context(
            problem=self._journal.info.problem,
            environment=self._journal.info.environment,
            trials=self.state.trials(),
            in_flight=tuple(candidate for candidate in open_candidates if candidate is not None),
            seed=self._settings.seed,
            folder=self._journal.folder,
            put_blob=self._journal.put_blob,
            blob=self._journal.blob,
            lessons=self._lessons,
            profiles=dict(self.state.profiled),
            answers=dict(self.state.answers),
            keep_answer=self._keep_answer,
            dearest=self.state.dearest,
            siblings=self.state.siblings(number) if number in self.state.requests else 0,
            generate=self._worker.generate,
        )
        return without_source(context) if self._settings.no_source else context
