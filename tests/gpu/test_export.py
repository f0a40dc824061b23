"""What only a device can show of an exported package: that it measures itself, and holds in a CUDA graph and compiled.

Run by hand on a machine with one: `pytest -m gpu`. The rule: the package's own checks are the test, in their process.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from exported import GALLERY, win
from on_device import needs_device

pytestmark = needs_device()


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", ["softmax", "rmsnorm"])
def test_an_export_measures_itself_and_its_kernel_holds_in_graphs(name: str, tmp_path: Path) -> None:
    words = [
        "export",
        str(GALLERY / name / "best.py"),
        "--problem",
        str(GALLERY / name),
        "--out",
        str(tmp_path / "out"),
    ]
    done = subprocess.run(
        [sys.executable, "-m", "kernelwright", *words], capture_output=True, text=True, check=False, timeout=580
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "FAILED" not in done.stderr
    assert "ok      the kernel is right in a cuda graph" in done.stderr
    assert "ok      the kernel is right when compiled" in done.stderr
    wins = json.loads((tmp_path / "out" / f"fast_{name}" / "wins.json").read_text())
    assert wins["source"] == "measured through this package"
    assert any(case["why"]["eager"] == "faster" for case in wins["cases"])
    assert all({"call_us", "stream_us"} <= case["kernel"].keys() for case in wins["cases"] if "kernel" in case)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", ["swiglu", "add_rms_norm"])
def test_an_export_of_a_backward_measures_training_steps_and_its_gradients_hold(name: str, tmp_path: Path) -> None:
    folder, out = GALLERY / f"{name}_backward", tmp_path / "out"
    words = ["export", str(folder / "best.py"), "--problem", str(folder), "--out", str(out)]
    done = subprocess.run(
        [sys.executable, "-m", "kernelwright", *words], capture_output=True, text=True, check=False, timeout=580
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "FAILED" not in done.stderr
    assert "ok      the gradients are right where the kernels are used" in done.stderr
    assert "ok      the gradients are right when compiled" in done.stderr
    wins = json.loads((out / f"fast_{name}_backward" / "wins.json").read_text())
    # In graphs only the GPU's time counts; outside of them a slow host may launch too slowly for the kernels to win.
    assert any(case["why_in_graphs"]["training"] == "faster" for case in wins["cases"])
    assert all({"call_us", "stream_us", "device_us"} <= case["kernel_training"].keys() for case in wins["cases"])


@pytest.mark.timeout(600)
def test_a_shape_first_met_in_a_capture_is_pytorchs_and_the_kernels_later(tmp_path: Path) -> None:
    words = ["export", str(GALLERY / "softmax" / "best.py"), "--problem", str(GALLERY / "softmax"), "--no-measure"]
    subprocess.run([sys.executable, "-m", "kernelwright", *words, "--out", str(tmp_path / "out")], check=True)
    home = tmp_path / "out"
    # large enough that a busy machine, whose calls take longer, changes nothing
    (home / "use.py").write_text(CAPTURE)
    asked = [sys.executable, "-m", "fast_softmax.benchmark", "--write", "--no-cases", "--no-compile"]
    more = ["--vary=rows=65536", "--vary=cols=4096", "--dtypes=float32"]
    subprocess.run([*asked, *more], cwd=home, check=True)
    done = subprocess.run([sys.executable, "use.py"], cwd=home, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["True", "False", "True", "True"], done.stderr


@pytest.mark.timeout(600)
def test_patched_for_graphs_a_model_replays_the_kernel_where_device_time_alone_wins(tmp_path: Path) -> None:
    words = ["export", str(GALLERY / "softmax" / "best.py"), "--problem", str(GALLERY / "softmax"), "--no-measure"]
    subprocess.run([sys.executable, "-m", "kernelwright", *words, "--out", str(tmp_path / "out")], check=True)
    pair = {"call_us": 30.0, "device_us": 5.0}, {"call_us": 10.0, "device_us": 10.0}
    names = ("kernel", "eager", "kernel_compiled", "compile")
    case = win([[1024, 2048]], 1.0, 1.0, **dict(zip(names, (*pair, *pair), strict=True)))
    stated = {"schema_version": 1, "device": "the one that is here", "cases": [case]}
    (tmp_path / "out" / "fast_softmax" / "wins.json").write_text(json.dumps(stated))
    (tmp_path / "out" / "use.py").write_text(REPLAY)
    done = subprocess.run(
        [sys.executable, "use.py"], cwd=tmp_path / "out", capture_output=True, text=True, check=False, timeout=580
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    assert found["for calls"] == {"called": 0, "captured": 0, "replayed": 0, "right": True}
    assert found["for graphs"] == {"called": 1, "captured": 2, "replayed": 2, "right": True}
    assert found["compiled"]["right"] == [True] * 8
    assert found["compiled"]["calls"][-1] > 0
    assert len(set(found["compiled"]["calls"][4:])) == 1, "reduce-overhead did not replay a graph"


REPLAY = """
import json, pathlib
import torch

file = pathlib.Path("fast_softmax/wins.json")
file.write_text(json.dumps(json.loads(file.read_text()) | {"device": torch.cuda.get_device_name()}))
import fast_softmax

run, calls = fast_softmax.arguments.run, []


def counted(*given):
    calls.append(given[1][0].shape)
    return run(*given)


fast_softmax.arguments.run = fast_softmax.forward.run = counted


def patched(graphs):
    net = torch.nn.Sequential(torch.nn.Softmax(-1))
    fast_softmax.patch(net, torch.nn.Softmax, graphs=graphs)
    return net


def replayed(net):
    calls.clear()
    x, new = torch.randn(2, 1024, 2048, device="cuda")
    x = x.clone()
    found = {}
    net(x)
    found["called"] = len(calls)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = net(x)
    found["captured"] = len(calls)
    x.copy_(new)
    graph.replay()
    torch.cuda.synchronize()
    return found | {"replayed": len(calls), "right": bool(torch.allclose(y, torch.softmax(new, -1)))}


def compiled(net):
    calls.clear()
    made = torch.compile(net, mode="reduce-overhead")
    found = {"right": [], "calls": []}
    for _ in range(8):
        x = torch.randn(1024, 2048, device="cuda")
        found["right"].append(bool(torch.allclose(made(x), torch.softmax(x, -1))))
        found["calls"].append(len(calls))
    return found


with torch.no_grad():
    found = {"for calls": replayed(patched(False)), "for graphs": replayed(patched(True))}
    found["compiled"] = compiled(patched(True))
print(json.dumps(found))
"""

CAPTURE = """
import torch, fast_softmax

m, x = fast_softmax.Module(), torch.randn(65536, 4096, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.no_grad():
    torch.softmax(x, -1)
    with torch.cuda.graph(graph):
        y = m(x)
    graph.replay()
    torch.cuda.synchronize()
    print(torch.allclose(y, torch.softmax(x, -1)), bool(m.fast_state.known))
    print(torch.allclose(m(x), torch.softmax(x, -1)), any(m.fast_state.known.values()))
"""
