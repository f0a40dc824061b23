"""`python -m PACKAGE.benchmark`: the kernel through this package against plain PyTorch, on a GPU; `--write` keeps the
figures as the ones that the dispatcher goes by.

For each case: one awaited call (`call_us`), calls in a row (`stream_us`), device time in a CUDA graph over inputs that
do not fit the L2 cache (`device_us`), and what a call takes of the host (`issue_us`, by which the others are judged for
a slower host, too), plainly and under torch.compile; medians, both sides in turn. The kernel is taken in calls where
all of them win, and with `graphs=True` where device time does. The rule: what is timed is what a program calls,
dispatching and host code included, and a kernel that is not right here never wins.
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import json
import statistics
import sys
import time
from pathlib import Path

import torch

from . import arguments, check, instance, op, reference, wins
from .dispatch import device_name
from .forward import key_of
from .kernel_host import Built
from .module import Module

ROUNDS = 5
"""Of each figure, both sides in turn; the median counts."""
CALLS = 25
"""Awaited calls in a round."""
ISSUED = 20
"""Calls issued without waiting, to time the host alone: few enough that the GPU's queue does not fill."""
ROW_US = 3000.0
"""Length of calls in a row: long against the last one's end."""
COLD_FACTOR = 4
"""Input sets together hold this many times the L2 cache, so that each call finds its inputs in memory."""
MOST_SETS = 64


def measured(case, compile=True):
    """The figures of one case as `wins.json` has them; an answer that is not right has none."""
    init, inputs = instance.drawn(case, "cuda")
    theirs = instance.module(reference.Model, init, "cuda", case["dtype"])
    ours = instance.module(Module, init, "cuda", case["dtype"])
    found = described(case, init, inputs, theirs)
    problem = unfit(ours, theirs, inputs)
    if problem:
        return found | {why: dict.fromkeys(wins.REGIMES, problem) for why in wins.WHY.values()}
    force(ours, inputs)
    pairs = {"eager": (ours, theirs)}
    if compile:
        pairs["compiled"] = (torch.compile(Forced(ours)), torch.compile(theirs))
    for regime, pair in pairs.items():
        found |= zip(wins.REGIMES[regime], compared(*pair, inputs), strict=True)
    torch.compiler.reset()
    return found | {
        why: {regime: wins.reason(found, regime, use) for regime in wins.REGIMES} for use, why in wins.WHY.items()
    }


def described(case, init, inputs, theirs):
    held = [(name, instance.found(theirs, name)) for name in arguments.PARAMETERS]
    return {
        "case": case["name"],
        "params": case["params"],
        "dtype": case["dtype"],
        "init": init,
        "inputs": [spec(value) if isinstance(value, torch.Tensor) else value for value in inputs],
        "parameters": {name: spec(tensor) for name, tensor in held},
    }


def spec(tensor):
    return {"shape": list(tensor.shape), "dtype": str(tensor.dtype).removeprefix("torch.")}


def unfit(ours, theirs, inputs):
    """Why the kernel may not be used here, "" where it may."""
    tensors = [one for one in inputs if isinstance(one, torch.Tensor)]
    if not all(one.is_contiguous() for one in tensors):
        return "the inputs are not contiguous"
    with torch.no_grad():
        exact = check.exactly(theirs, inputs)
        own = [check.error(one, wide) for one, wide in zip(check.outputs(theirs(*inputs)), exact, strict=True)]
        try:
            force(ours, inputs)
            check.close(ours(*inputs), exact, own)
            torch.cuda.synchronize()
        except AssertionError as error:
            return f"not right: {error}"
        except Exception as error:  # whatever the candidate's host code or Triton makes of this size
            return f"failed: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    return ""


def force(ours, inputs):
    """Make the dispatcher take the kernel for these inputs, whatever was measured."""
    state, key = ours.fast_state, key_of(*inputs)
    if state.kernel is None:
        state.kernel = Built(state.init)
    state.expected[key] = tuple(tensor.dtype for tensor in state.parameters(ours))
    state.known[key] = True
    state.least = 0


class Forced(torch.nn.Module):
    """The operator without a choice, for a graph."""

    def __init__(self, ours):
        super().__init__()
        self.init_text = ours.fast_state.init_text
        self.held = [instance.found(ours, name) for name in arguments.PARAMETERS]

    def forward(self, *inputs):
        return op.call(*arguments.operator_arguments(inputs, self.held, self.init_text))


def compared(mine, plain, inputs, device_only=False):
    """Figures of both, taken in turn. device_only: of a replayed graph and of nothing else."""
    of_calls = {} if device_only else {"call_us": call_us, "stream_us": stream_us, "issue_us": issue_us}
    sets = rotating(inputs)
    with torch.no_grad():
        for one in (mine, plain):
            for _ in range(3):
                one(*inputs)
        torch.cuda.synchronize()
        graphs = [captured(one, sets) for one in (mine, plain)]
        taken = [{"call_us": [], "stream_us": [], "device_us": [], "issue_us": []} for _ in graphs]
        for turn in range(ROUNDS):
            for place in (0, 1) if turn % 2 == 0 else (1, 0):
                for name, figure in of_calls.items():
                    taken[place][name].append(figure((mine, plain)[place], inputs))
                if None not in graphs:
                    taken[place]["device_us"].append(graphs[place]())
    return tuple(
        {name: round(statistics.median(values), 3) for name, values in figures.items() if values} for figures in taken
    )


def call_us(one, inputs):
    """One call, awaited."""
    taken = []
    for _ in range(CALLS):
        torch.cuda.synchronize()
        start = time.perf_counter_ns()
        one(*inputs)
        torch.cuda.synchronize()
        taken.append((time.perf_counter_ns() - start) / 1000)
    return statistics.median(taken)


def stream_us(one, inputs):
    """A call among many in a row: what costs more, issuing or running."""
    torch.cuda.synchronize()
    start = time.perf_counter_ns()
    for _ in range(4):
        one(*inputs)
    torch.cuda.synchronize()
    count = max(4, min(400, int(ROW_US / max((time.perf_counter_ns() - start) / 4000, 1.0))))
    start = time.perf_counter_ns()
    for _ in range(count):
        one(*inputs)
    torch.cuda.synchronize()
    return (time.perf_counter_ns() - start) / 1000 / count


def issue_us(one, inputs):
    """What a call takes of the host."""
    torch.cuda.synchronize()
    start = time.perf_counter_ns()
    for _ in range(ISSUED):
        one(*inputs)
    taken = (time.perf_counter_ns() - start) / 1000 / ISSUED
    torch.cuda.synchronize()
    return taken


def rotating(inputs):
    """Copies of the inputs, together several times the L2 cache."""
    nbytes = max(1, sum(one.nbytes for one in inputs if isinstance(one, torch.Tensor)))
    properties = torch.cuda.get_device_properties(0)
    free, _ = torch.cuda.mem_get_info()
    count = min(COLD_FACTOR * properties.L2_cache_size // nbytes + 1, free // 4 // nbytes, MOST_SETS)
    return [[one.clone() if isinstance(one, torch.Tensor) else one for one in inputs] for _ in range(max(1, count))]


def captured(one, sets):
    """A function that gives the device time of one call in microseconds; None where a graph cannot be captured."""
    stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    try:
        with torch.cuda.stream(stream):
            one(*sets[0])
            stream.synchronize()
            with torch.cuda.graph(graph, stream=stream):
                for inputs in sets:
                    one(*inputs)
    except RuntimeError:
        torch.cuda.synchronize()
        return None
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)

    def device_us():
        samples = []
        for _ in range(4):
            start.record()
            graph.replay()
            end.record()
            end.synchronize()
            samples.append(start.elapsed_time(end) * 1000 / len(sets))
        return statistics.median(samples[1:])

    device_us.keeps = (graph, sets, stream)
    return device_us


def varied(texts, dtypes):
    """Further cases: every combination of `--vary NAME=V,V` and `--dtypes`."""
    lists = {}
    for text in texts:
        name, _, values = text.partition("=")
        lists[name] = [int(value) for value in values.split(",")]
    found = []
    for dtype in dtypes or [None]:
        for values in itertools.product(*lists.values()):
            params = dict(zip(lists, values, strict=True))
            name = "x".join(map(str, values)) + (f"_{dtype}" if dtype else "")
            found.append({"name": name, "params": params, "dtype": dtype, "small": False, "held_out": False})
    return found


def known():
    """The sizes that were measured before, as cases."""
    return [
        {"name": case["case"], "params": case["params"], "dtype": case["dtype"], "small": False, "held_out": False}
        for case in wins.read().cases
    ]


def distinct(cases):
    """The first of each size."""
    seen = {}
    for case in cases:
        seen.setdefault(name_of(case), case)
    return list(seen.values())


def document(found):
    return {
        "schema_version": 1,
        "source": "measured through this package",
        "device": device_name(torch.cuda.current_device()),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "driver": driver(),
        "triton": __import__("triton").__version__,
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "cases": found,
    }


def driver():
    """The GPU driver's version, None where NVML is not there to ask."""
    try:
        import pynvml

        pynvml.nvmlInit()
        found = pynvml.nvmlSystemGetDriverVersion()
    except Exception:  # NVML missing, or not answering: the version is only for people
        return None
    return found if isinstance(found, str) else found.decode()


def row(case):
    def pair(name, other):
        if name not in case or other not in case:
            return f"{'-':>22}"
        return " ".join(f"{case[other][key] / case[name][key]:6.2f}x" for key in wins.MARGINS if key in case[name])

    both = [f"{pair(*wins.REGIMES[regime]):<25}{taken_in(case, regime):<14}" for regime in wins.REGIMES]
    return f"{case['case']:<28} {' '.join(both)} {case['why']['eager']}"


def taken_in(case, regime):
    """Who uses the kernel at this size: calls, programs that replay graphs (`graphs=True`), or nobody."""
    return ", ".join(use for use, why in wins.WHY.items() if case[why][regime] == "faster") or "-"


def main(words=None):
    parser = argparse.ArgumentParser(prog=f"python -m {__package__}.benchmark", description=__doc__)
    parser.add_argument(
        "--write",
        action="store_true",
        help="let the dispatcher go by these figures; sizes that were measured before stay",
    )
    parser.add_argument("--json", metavar="FILE", help="write them there too")
    parser.add_argument("--vary", action="append", default=[], metavar="NAME=V,V", help="further sizes; repeatable")
    parser.add_argument("--dtypes", default="", metavar="D,D", help="dtypes of the further sizes")
    parser.add_argument("--again", action="store_true", help="every size that wins.json holds, and nothing else")
    parser.add_argument("--no-cases", action="store_true", help="leave the problem's own cases out")
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    options = parser.parse_args(words)
    if not torch.cuda.is_available():
        print("no GPU here: nothing can be measured, and the dispatcher stays as it is", file=sys.stderr)
        return 2
    cases = known() if options.again else [] if options.no_cases else instance.cases()
    cases += varied(options.vary, [one for one in options.dtypes.split(",") if one]) if options.vary else []
    both = [f"{how:<25}{'taken in':<14}" for how in ("call / in a row / device", "the same, compiled")]
    print(f"{'case':<28} {' '.join(both)} plain")
    found = []
    for case in distinct(cases):
        try:
            found.append(measured(case, compile=not options.no_compile))
        except torch.OutOfMemoryError:
            print(f"{case['name']:<28} left out: it does not fit the GPU's memory")
            continue
        print(row(found[-1]), flush=True)
        torch.cuda.empty_cache()
    if options.json:
        Path(options.json).write_text(text_of(document(found)), encoding="utf-8")
    if options.write:
        wins.FILE.write_text(text_of(document(merged(found))), encoding="utf-8")
    return 0


def merged(found):
    """What was measured before by the same means, other sizes, and what was measured now."""
    before, now = wins.read().document, document(found)
    if any(before.get(key) != now[key] for key in ("source", "device", "torch", "triton")):
        return found
    new = {name_of(case) for case in found}
    return [case for case in before["cases"] if name_of(case) not in new] + found


def name_of(case):
    return json.dumps([case["params"], case["dtype"]], sort_keys=True)


def text_of(content):
    return json.dumps(content, indent=1) + "\n"


if __name__ == "__main__":
    sys.exit(main())
