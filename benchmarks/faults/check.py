"""Checks the labels of this corpus.

    TRITON_INTERPRET=1 python benchmarks/faults/check.py [NAME ...] [--only KIND] [--quiet]

For each problem: honest*.py equals the reference on every small case and on every witness's inputs; each wrong_KIND.py
differs from it on the inputs of witness_KIND.py by far more than rounding (score: error over tolerance, must pass 4;
honest must stay under 1). A wrong kernel with a line `# needs: gpu` has no witness here; it only has to run.
Column `given`: does the fault show on the small cases' plain inputs already (3 seeds)?
"""
import argparse
import copy
import importlib.util
import math
import sys
import traceback
from pathlib import Path

import torch

torch.set_num_threads(1)
HERE = Path(__file__).resolve().parent / "seen"
RESERVED = {"name", "dtype", "held_out", "small"}
_count = 0


def load(path):
    global _count
    _count += 1
    spec = importlib.util.spec_from_file_location(f"corpus_{_count}_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.pop(0)
    return module


def tree_map(f, value):
    if isinstance(value, torch.Tensor):
        return f(value)
    if isinstance(value, (list, tuple)):
        return [tree_map(f, v) for v in value]
    if isinstance(value, dict):
        return {k: tree_map(f, v) for k, v in value.items()}
    return value


def cast_to(dtype):
    def f(t):
        # keeps strides of views (transposed, padded) by casting in place of the layout
        if t.is_floating_point() and dtype is not None and t.dtype != dtype:
            new = torch.empty_strided(t.size(), t.stride(), dtype=dtype)
            new.copy_(t)
            return new
        return t
    return f


def fresh(t):
    if any(s == 0 for s in t.stride()) and t.numel():
        return t
    new = torch.empty_strided(t.size(), t.stride(), dtype=t.dtype)
    new.copy_(t)
    return new


def flatten(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in flatten(v)]
    if isinstance(value, dict):
        return [t for v in value.values() for t in flatten(v)]
    return [] if value is None else [torch.tensor(value)]


def argnames(problem):
    import inspect
    return [p for p in inspect.signature(problem.Model.forward).parameters if p != "self"]


def make_model(problem, init, dtype):
    torch.manual_seed(7)
    model = problem.Model(*init).eval()
    with torch.no_grad():
        for p in model.parameters():
            if p.numel() and (p == p.flatten()[0]).all():
                p.add_(0.1 * torch.randn_like(p))
        for b in model.buffers():
            if b.is_floating_point() and b.numel() and (b == b.flatten()[0]).all():
                noise = 0.1 * torch.randn_like(b)
                b.copy_(noise if b.flatten()[0] == 0 else b * (1 + noise.abs()))
    return model.to(dtype) if dtype is not None else model


def with_grads(problem, model, inputs):
    """For GRADIENTS: appends grad_0, ... where the inputs do not bring them."""
    if not getattr(problem, "GRADIENTS", False) or len(inputs) > len(argnames(problem)):
        return inputs
    with torch.no_grad():
        outs = flatten(model(*tree_map(fresh, inputs)))
    generator = torch.Generator().manual_seed(11)
    return [*inputs, *[torch.randn(o.shape, generator=generator).to(o.dtype) for o in outs if o.is_floating_point()]]


def run_reference(problem, model, inputs):
    inputs = tree_map(fresh, inputs)
    if getattr(problem, "GRADIENTS", False):
        n = len(argnames(problem))
        inputs, grads = inputs[:n], inputs[n:]
        wanted = [t.requires_grad_() for t in inputs if isinstance(t, torch.Tensor) and t.is_floating_point()]
        wanted += [p for p in model.parameters() if p.requires_grad]
        outs = flatten(model(*inputs))
        floats = [o for o in outs if o.is_floating_point()]
        return [o.detach() for o in outs] + list(torch.autograd.grad(floats, wanted, grads))
    with torch.no_grad():
        out = model(*inputs)
    outs = [] if out is None else flatten(out)
    names = argnames(problem)
    for name in getattr(problem, "MUTATES", ()):
        outs.append(inputs[names.index(name)])
    return outs


def run_candidate(problem, candidate, model, init, calls):
    names = argnames(problem)
    forward_names = names
    if getattr(problem, "GRADIENTS", False):
        names = names + [f"grad_{i}" for i in range(len(calls[0]) - len(names))]
    params = {n.replace(".", "_"): p for n, p in list(model.named_parameters()) + list(model.named_buffers())}
    if hasattr(candidate, "ModelNew"):
        new = candidate.ModelNew(*copy.deepcopy(init)).eval()
        new.to(next(iter(params.values())).dtype if params else torch.float32)
        state = {n.replace(".", "_"): p for n, p in list(new.named_parameters()) + list(new.named_buffers())}
        with torch.no_grad():
            for n, p in params.items():
                state[n].copy_(p)
    torch.use_deterministic_algorithms(True, warn_only=True)  # torch.empty is filled with NaN
    try:
        for inputs in calls:
            inputs = tree_map(fresh, inputs)
            originals = tree_map(lambda t: t.clone(), inputs)
            with torch.no_grad():
                if hasattr(candidate, "kernel_backward"):
                    import inspect
                    known = {**dict(zip(names, inputs)), **params}
                    saved = getattr(candidate, "SAVED", ())
                    out = candidate.kernel_function(**{k: v for k, v in known.items() if k in forward_names or k in params})
                    out = list(out) if isinstance(out, (tuple, list)) else [out]
                    n = len(out) - len(saved)
                    known.update({f"output_{i}": o for i, o in enumerate(out[:n])}, **dict(zip(saved, out[n:])))
                    taken = {k: known[k] for k in inspect.signature(candidate.kernel_backward).parameters}
                    first = tree_map(lambda t: t.clone(), out[:n])
                    candidate.kernel_backward(**taken)
                    back = candidate.kernel_backward(**taken)  # the second call counts
                    out = first + (list(back) if isinstance(back, (tuple, list)) else [back])
                elif hasattr(candidate, "ModelNew"):
                    out = new(*inputs)
                else:
                    out = candidate.kernel_function(**dict(zip(names, inputs)), **params)
    finally:
        torch.use_deterministic_algorithms(False)
    outs = [] if out is None else flatten(out)
    mutates = getattr(problem, "MUTATES", ())
    outs = outs + [inputs[names.index(n)] for n in mutates]
    for n, a, b in zip(names, inputs, originals):
        if n not in mutates:
            for s, t in zip(flatten(a), flatten(b)):
                if not torch.equal(s.nan_to_num(1.25) if s.is_floating_point() else s, t.nan_to_num(1.25) if t.is_floating_point() else t):
                    return outs, f"input {n} changed"
    return outs, None


def score(outs, native, exact):
    """The worst error over its tolerance, and where."""
    worst, where = 0.0, ""
    if len(outs) != len(exact):
        return math.inf, f"{len(outs)} outputs, not {len(exact)}"
    for i, (o, n, e) in enumerate(zip(outs, native, exact)):
        if o.shape != n.shape:
            return math.inf, f"output {i}: shape {tuple(o.shape)}, not {tuple(n.shape)}"
        if o.dtype != n.dtype:
            return math.inf, f"output {i}: dtype {o.dtype}, not {n.dtype}"
        if not o.numel():
            continue
        if not o.is_floating_point():
            bad = (o != n) & (o != e.to(o.dtype))
            if bad.any():
                return math.inf, f"output {i}: {int(bad.sum())} of {bad.numel()} whole numbers differ"
            continue
        o64, n64, e64 = o.double(), n.double(), e.double()
        finite = n64.isfinite() & e64.isfinite()
        odd = ~finite & ~n64.isnan()  # infinities of the reference must be met
        if (odd & (o64 != n64)).any():
            return math.inf, f"output {i}: an infinity is missed"
        if (finite & ~o64.isfinite()).any():
            return math.inf, f"output {i}: {int((finite & ~o64.isfinite()).sum())} not finite where the reference is"
        if not finite.any():
            continue
        eps = torch.finfo(o.dtype).eps
        o64, n64, e64 = o64[finite], n64[finite], e64[finite]
        own = (n64 - e64).abs().max()
        rms = e64.square().mean().sqrt()
        tolerance = 4 * own + eps * (4 * e64.abs() + 2 * rms) + torch.finfo(o.dtype).tiny
        ratio = ((o64 - e64).abs() / tolerance).max().item()
        if ratio > worst:
            worst, where = ratio, f"output {i}: max error {(o64 - e64).abs().max().item():.3g}, rms of the result {rms.item():.3g}"
    return worst, where


def compare(problem, candidate, init, calls, dtype):
    dtype = getattr(torch, dtype) if isinstance(dtype, str) else dtype
    calls = [tree_map(cast_to(dtype), c) for c in calls]
    model = make_model(problem, init, dtype)
    calls = [with_grads(problem, model, c) for c in calls]
    native = run_reference(problem, model, calls[-1])
    exact = run_reference(problem, copy.deepcopy(model).double(), tree_map(cast_to(torch.float64), calls[-1]))
    try:
        outs, complaint = run_candidate(problem, candidate, model, init, calls)
    except Exception as error:
        if "-v" in sys.argv:
            traceback.print_exc()
        return math.inf, f"raises {type(error).__name__}: {str(error)[:300]}", True
    if complaint:
        return math.inf, complaint, False
    return *score(outs, native, exact), False


def case_inputs(problem, case, seed=1):
    import inspect
    params = {k: v for k, v in case.items() if k not in RESERVED}
    take = lambda f: {k: v for k, v in params.items() if k in inspect.signature(f).parameters}
    torch.manual_seed(seed)
    return problem.get_init_inputs(**take(problem.get_init_inputs)), problem.get_inputs(**take(problem.get_inputs)), case.get("dtype")


def witness_calls(problem, witness):
    torch.manual_seed(0)
    calls = witness.inputs(problem)
    calls = list(calls) if isinstance(calls, tuple) else [calls]
    return getattr(witness, "INIT", None) or problem.get_init_inputs(), calls, getattr(witness, "DTYPE", None)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--only")
    parser.add_argument("--quiet", action="store_true")
    parser.add_argument("-v", action="store_true")
    args = parser.parse_args()
    failures, totals = [], dict(problems=0, honest=0, wrong=0, gpu=0, shown_as_given=0)
    for folder in sorted(p.parent for p in HERE.glob("*/problem.py")):
        if args.names and folder.name not in args.names:
            continue
        totals["problems"] += 1
        problem = load(folder / "problem.py")
        small = [case_inputs(problem, c, seed) for c in problem.CASES if c.get("small") for seed in (1, 2, 3)]
        witnesses = {p.stem[8:]: load(p) for p in sorted(folder.glob("witness_*.py"))}
        for path in sorted(folder.glob("honest*.py")):
            totals["honest"] += 1
            candidate = load(path)
            worst, text = 0.0, ""
            for label, (init, inputs, dtype) in [*((f"small {i // 3}", s) for i, s in enumerate(small))]:
                s, t, _ = compare(problem, candidate, init, [inputs], dtype)
                if s > worst:
                    worst, text = s, f"{label}: {t}"
            for kind, witness in witnesses.items():
                s, t, _ = compare(problem, candidate, *witness_calls(problem, witness))
                if s > worst:
                    worst, text = s, f"witness {kind}: {t}"
            ok = worst <= 1
            if not ok:
                failures.append(f"{folder.name}/{path.name}: {worst:.3g} {text}")
            if not args.quiet or not ok:
                print(f"{'ok  ' if ok else 'FAIL'} {folder.name}/{path.name}  score {worst:.2f}  {text}", flush=True)
        for path in sorted(folder.glob("wrong_*.py")):
            kind = path.stem[6:]
            if args.only and kind != args.only:
                continue
            totals["wrong"] += 1
            candidate = load(path)
            gpu = "\n# needs: gpu" in path.read_text()
            given = [compare(problem, candidate, i, [x], d) for i, x, d in small]
            shown = sum(s > 1 for s, _, _ in given)
            raised = [t for _, t, r in given if r]
            if gpu:
                totals["gpu"] += 1
                ok, s, t = not raised, 0, "needs a GPU" + (f" {raised[0]}" if raised else "") + ("  (shows here too)" if shown else "")
            elif kind not in witnesses:
                ok, s, t = False, 0, "no witness"
            else:
                s, t, r = compare(problem, candidate, *witness_calls(problem, witnesses[kind]))
                ok = s > 4 and not r
                if r:
                    t += "   (an exception is not a witness)"
            if raised and ok:
                ok, t = False, raised[0]
            totals["shown_as_given"] += bool(shown)
            if not ok:
                failures.append(f"{folder.name}/{path.name}: {s:.3g} {t}")
            if not args.quiet or not ok:
                print(f"{'ok  ' if ok else 'FAIL'} {folder.name}/{path.name}  score {s:.3g}  given {shown}/{len(small)}  {t}", flush=True)
        for kind in witnesses:
            if not (folder / f"wrong_{kind}.py").exists():
                failures.append(f"{folder.name}/witness_{kind}.py: no such kernel")
    print(totals)
    print(f"{len(failures)} failures")
    for f in failures:
        print("  " + f)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
