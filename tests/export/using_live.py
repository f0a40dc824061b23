"""Patches an exported package into a model of live modules, on the CPU: run in its own process, says what came of it as
JSON.

Triton interprets here and `wins.json` says "cpu", so that the kernel is taken without a GPU. Not a test:
test_live_package.py is.
"""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import fast_gate
import torch
from gates import Gate, Gated

FOUND: dict[str, Any] = {}


def main() -> None:
    model = torch.nn.ModuleDict({"first": Gate(64), "second": Gate(64), "other": torch.nn.Linear(64, 64)}).eval()
    x, pair = torch.randn(6, 64), (torch.randn(6, 64), torch.randn(6, 64))
    with torch.no_grad():
        expected = model["first"](x, pair)
        FOUND["patched"] = fast_gate.patch(model, "first")
        found = model["first"](x, pair)
        host, calls = model["first"].fast_state.kernel.function, []

        def counted(*given: Any) -> Any:
            calls.append(given)
            return host(*given)

        model["first"].fast_state.kernel.function = counted

        def taken(*given: Any, **named: Any) -> bool:
            before = len(calls)
            model["first"](*given, **named)
            return len(calls) > before

        FOUND["is right"] = bool(torch.allclose(found.hidden, expected.hidden, 1e-4, 1e-5))
        FOUND["is the module's own kind of result"] = type(found) is Gated and found.note == "plain"
        FOUND["taken"] = taken(x, pair)
        FOUND["taken: by keyword"] = taken(state=x, pair=pair)
        FOUND["taken: another flag"] = taken(x, pair, flag=False)
        FOUND["taken: a list for a tuple"] = taken(x, [*pair])
        FOUND["explained"] = fast_gate.explain(model["first"], x, *pair)
        for name, one in {"a copy": copy.deepcopy(model), "a pickled one": pickle.loads(pickle.dumps(model))}.items():
            FOUND[f"{name} is right"] = bool(torch.allclose(one["first"](x, pair).hidden, expected.hidden, 1e-4, 1e-5))
        compiled = torch.compile(model["first"], backend="eager", fullgraph=True)
        FOUND["compiled is right"] = bool(torch.allclose(compiled(x, pair).hidden, expected.hidden, 1e-4, 1e-5))
        model["first"].train()
        FOUND["taken: in training"] = taken(x, pair)
    try:
        fast_gate.patch(model, "other")
    except ValueError as error:
        FOUND["refused"] = str(error)
    FOUND["unpatched"] = fast_gate.unpatch(model)


if __name__ == "__main__":
    main()
    print(json.dumps(FOUND))
