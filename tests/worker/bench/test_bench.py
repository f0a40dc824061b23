"""What the bench of a GPU does for each message, with a bench that only notes its calls."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
import torch

from kernelwright import codec
from kernelwright.worker.bench import messages as to_bench
from kernelwright.worker.bench.bench import Bench, respond
from kernelwright.worker.clock import clock, nvml
from kernelwright.worker.plan.library import exact_products
from kernelwright.worker.plan.plan import Buffer, Plan

PLAN = Plan(buffers=(Buffer(id=0, nbytes=4, origin="scratch"),), steps=(), outputs=(), single=True)


class Noting:
    """Notes the name and the arguments of whatever is called."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.plans: dict[str, to_bench.AddPlan] = {}
        timed = SimpleNamespace(warm_us=lambda: 7.0, restore="restore")
        self.prepared = {"k": SimpleNamespace(timed=timed, once=SimpleNamespace(run="run"))}

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: self.calls.append((name, *arguments))


def received(message: to_bench.ToBench) -> Any:
    """The message as it comes out of a channel."""
    return codec.record(msgspec.json.decode(msgspec.json.encode(message)), to_bench.ToBench)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("message", "call"),
    [
        (to_bench.Reserve(nbytes=64), ("reserve", 64)),
        (to_bench.Run(plan="p"), ("run", "p")),
        (to_bench.Prepare(key="k", case="c", plan="p", room=8), ("prepare", "k", "c", "p", 8, (), 0)),
        (to_bench.Prepare(key="k", case="c", plan="p", restored=("x",)), ("prepare", "k", "c", "p", 0, ("x",), 0)),
        (to_bench.Prepare(key="k", case="c", plan="p", least_bytes=4), ("prepare", "k", "c", "p", 0, (), 4)),
        (to_bench.Sample(key="k", count=3), ("samples", "k", 3)),
        (to_bench.CaptureAgain(key="k"), ("capture_again", "k")),
        (to_bench.Race(key="k", against="best", most=60), ("race", "k", "best", 60)),
        (to_bench.Recall(key="k", nbytes=64, how="worn"), ("recall", "k", 64, "worn")),
        (to_bench.Forgetting(key="k", nbytes=64, wear=True), ("forgetting", "k", 64, True)),
        (to_bench.Rename(key="k", name="best"), ("rename", "k", "best")),
        (to_bench.Keep(case="c", key="k", nbytes=64), ("keep", "c", "k", 64)),
        (to_bench.Forget(key="k"), ("forget", "k")),
    ],
    ids=lambda value: value.verb if isinstance(value, to_bench.Message) else "",
)
def test_a_message_reaches_its_method(message: to_bench.ToBench, call: tuple[Any, ...]) -> None:
    bench: Any = Noting()
    respond(bench, received(message))
    assert bench.calls == [call]


def test_a_plan_is_kept_under_its_name_with_its_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    bench: Any = Noting()
    message = to_bench.AddPlan(name="p", plan=PLAN, code=("a", "b"))
    respond(bench, received(message))
    assert bench.plans == {"p": message}
    assert respond(bench, received(to_bench.Warm(key="k"))) == 7.0
    monkeypatch.setattr(clock, "call_us", lambda run, restore: (run + restore, 1.0))
    monkeypatch.setattr(nvml, "device", lambda: None)
    assert respond(bench, received(to_bench.Call(key="k"))) == ("runrestore", 1.0)
    assert respond(bench, received(to_bench.Clocks())) is None


def test_library_steps_of_a_plan_run_in_its_precision() -> None:
    bench = Bench(Path())
    empty = msgspec.structs.replace(PLAN, buffers=())
    for precision in ("tf32", "ieee"):
        message = to_bench.AddPlan(name=precision, plan=empty, code=(), precision=precision)
        respond(bench, received(message))
    try:
        for precision in ("tf32", "ieee"):
            bench.replayed_by(precision)
            flags = torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32
            assert flags == (precision == "tf32",) * 2
    finally:
        exact_products()


def test_what_is_no_message_of_a_bench_is_refused() -> None:
    for wrong in ({"verb": "add text"}, {"verb": "run"}, {"verb": "run", "plan": "p", "code": []}):
        with pytest.raises(msgspec.ValidationError):
            codec.record(wrong, to_bench.ToBench)  # type: ignore[arg-type]
