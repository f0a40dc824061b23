"""Problem files with faults: at import, in forward, in what makes inputs, in cases; each a text.

Each is a file that somebody could have written, by mistake or to see what happens.
"""

from __future__ import annotations

import random

TEMPLATE = '''"""A problem."""
import math, os, signal, sys, threading, time
import torch

{top}

class Model(torch.nn.Module):
    def __init__(self{parameters}):
        super().__init__()
        {init}

    def forward(self, x):
        {forward}


def get_inputs():
    {inputs}


def get_init_inputs():
    {init_inputs}
'''

TOP = [
    "",
    "",
    "",
    "n = 1 / 0",
    "raise BaseException('stop')",
    "raise KeyboardInterrupt",
    "sys.exit(3)",
    "os._exit(4)",
    "import nowhere_at_all",
    "os.kill(os.getpid(), 9)",
    "os.kill(os.getpid(), 11)",
    "os.abort()",
    "def again(): again()\nagain()",
    "sys.setrecursionlimit(10**9)\ndef again(): again()\nagain()",
    "x" * 3,
    "class Odd(Exception):\n    def __str__(self): raise self\nraise Odd()",
    "raise Exception('\\ud800')",
    "class Odd(Exception):\n    def __str__(self): return 5\nraise Odd()",
    "class Odd(BaseException):\n    pass\nraise Odd",
    "print('x' * 100_000_000)",
    "for _ in range(300): print('x' * 1_000_000)",
    "sys.stderr.write('\\0' * 50_000_000)",
    "CASES = 5",
    "CASES = [5]",
    "CASES = []",
    "CASES = [dict(name='a', nothing=1)]",
    "CASES = [dict(name='\\ud800')]",
    "CASES = [dict(name='a', small=True)]",
    "CASES = [dict(name='a'), dict(name='a')]",
    "CASES = [dict(name='a', dtype='qint8')]",
    "CASES = [dict(name='a', n=10**30)]\nn = 4",
    "CASES = [dict(name='a', n=-1)]\nn = 4",
    "CASES = (dict(name=str(i)) for i in 'ab')",
    "CASES = [{'name': 'a', 1: 2}]",
    "class Cases(list):\n    def __iter__(self): raise ValueError('no')\nCASES = Cases([1])",
    "os.chdir('/')",
    "os.close(1); os.close(2)",
    "os.closerange(0, 100)",
    "os.remove(__file__)",
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)",
    "signal.alarm(1)",
    "signal.setitimer(signal.ITIMER_REAL, 0.05)",
    "threading.Thread(target=time.sleep, args=(1000,)).start()",
    "threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()",
    "threading.Thread(target=lambda: 1 / 0).start()",
    "import atexit; atexit.register(time.sleep, 1000)",
    "import subprocess; subprocess.Popen(['sleep', '100'])",
    "if os.fork() == 0: time.sleep(100)",
    "os.fork()",
    "sys.stdout = None; sys.stderr = None",
    "sys.modules.clear()",
    "import builtins; del builtins.len",
    "torch.set_default_dtype(torch.float64)",
    "torch.set_default_device('meta')",
    "torch.manual_seed(0)",
    "torch.set_num_threads(1)",
    "torch.use_deterministic_algorithms(True)",
    "warnings = __import__('warnings'); warnings.simplefilter('error')",
    "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))",
    "import resource; resource.setrlimit(resource.RLIMIT_AS, (1, 1))",
    "def work(): return 5",
    "def work(): return {'flop': -1}",
    "def work(): return {'bytes': float('nan')}",
    "def work(n): return {}",
    "__doc__ = 5",
    "__doc__ = '\\ud800'",
    "globals().clear()",
    "async def get(): pass",
    "sys.settrace(lambda *a: 1 / 0)",
    "sys.setprofile(lambda *a: None)",
    "gc = __import__('gc'); gc.disable()",
    "a = b'' + ''",
    "assert False, 'said so'",
    "time.sleep = None",
    "torch.Tensor.to = None",
    "x = [0] * 10**11",
]
INIT = [
    "pass",
    "pass",
    "pass",
    "self.w = torch.nn.Parameter(torch.randn(64))",
    "self.w = torch.nn.LazyLinear(3)",
    "1 / 0",
    "sys.exit(1)",
    "self.w = torch.nn.Parameter(torch.tensor(float('nan')))",
    "self.register_buffer('b', torch.ones(2, device='meta'))",
    "self.register_buffer('b', torch.ones(3).to_sparse())",
    "self.training = 5",
    "del self._parameters",
    "self.register_forward_hook(lambda *a: 1 / 0)",
    "self.eval = None",
]
FORWARD = [
    "return 2 * x",
    "return 2 * x",
    "return 2 * x",
    "return x[x > 0]",
    "return x.nonzero()",
    "return ()",
    "return []",
    "return None",
    "return 5",
    "return 'x'",
    "return {'a': x}",
    "return [[x]]",
    "return x, 5",
    "return x.to_sparse()",
    "yield x",
    "return (y for y in [x])",
    "return x.sum() if x.sum() > 0 else x",
    "raise BaseException('no')",
    "raise SystemExit(0)",
    "raise KeyboardInterrupt",
    "os._exit(0)",
    "os._exit(7)",
    "os.kill(os.getpid(), 9)",
    "return self.forward(x)",
    "1 / 0",
    "return x.numpy()",
    "return x.to('meta')",
    "return torch.empty(int(x.abs().sum()))",
    "x += 1; return x",
    "return x.cuda()",
    "return x.view(3, 5)",
    "return torch.unique(x)",
    "return x + torch.rand(1)",
    "self.n = getattr(self, 'n', 0) + 1; return x[: self.n]",
    "self.n = getattr(self, 'n', 0) + 1; return x * self.n",
    "class Odd(Exception):\n            def __str__(self): raise self\n        raise Odd()",
    "raise Exception('\\ud800')",
    "raise Exception('x' * 10**7)",
    "return torch.quantize_per_tensor(x, 0.1, 0, torch.quint8)",
    "return x.to(torch.complex64)",
    "return x > 0",
    "return x.expand(1000, -1)",
    "return torch.nested.nested_tensor([x, x])",
    "return torch.zeros(0)",
    "return x.double()",
    "return x.fill_(float('nan')).clone()",
    "return x * float('nan')",
    "return torch.full_like(x, float('inf'))",
    "return x.t().t()",
    "return x.tolist()",
    "return x if time.sleep(0.01) else x",
    "while True: x = x * 1.0",
    "return torch.empty(10**13)",
    "print('y' * 50_000_000); return x",
    "return x.requires_grad_().sum().backward()",
    "os.close(0); return x",
    "os.closerange(3, 64); return x",
    "threading.Thread(target=time.sleep, args=(99,)).start(); return x",
    "return torch.nn.functional.dropout(x)",
    "return x.clone().detach_().resize_(3)",
    "return super().forward(x)",
    "return x @ x",
]
INPUTS = [
    "return [torch.randn(64)]",
    "return [torch.randn(64)]",
    "return [torch.randn(64)]",
    "return [torch.randn(__import__('random').randint(1, 64))]",
    "return [torch.randn(int(torch.randint(1, 64, (1,))))]",
    "return torch.randn(64)",
    "return []",
    "return [torch.randn(64), 3]",
    "return None",
    "return {}",
    "return [torch.randn(64).to_sparse()]",
    "return ['x']",
    "return [[torch.randn(3)]]",
    "return [b'x']",
    "return [None]",
    "yield torch.randn(64)",
    "return (torch.randn(64) for _ in range(1))",
    "os._exit(0)",
    "raise SystemExit",
    "raise BaseException",
    "return [torch.randn(10**13)]",
    "torch.manual_seed(1); return [torch.randn(64)]",
    "return [torch.empty(0)]",
    "return [torch.randn(64).cuda()]",
    "return [torch.randn(64, device='meta')]",
    "return [torch.randn(64, requires_grad=True)]",
    "return [torch.nn.Parameter(torch.randn(64))]",
    "return [torch.randint(0, 9, (64,))]",
    "return [torch.randn(64).numpy()]",
    "return [float('nan')]",
    "return [10**400]",
    "return [torch.full((64,), float('nan'))]",
    "while True: time.sleep(1)",
    "return get_inputs()",
    "import gc; gc.collect(); return [torch.randn(8)]",
    "return [torch.randn(2) if time.time() % 2 > 1 else torch.randn(3)]",
    "return [torch.randn(64).expand(3, 64)]",
    "return [torch.randn(64, dtype=torch.complex64)]",
    "return [torch.tensor('x')]",
]
INIT_INPUTS = [
    "return []",
    "return []",
    "return []",
    "return []",
    "return [1]",
    "return None",
    "return 5",
    "raise ValueError('no')",
    "os._exit(2)",
    "return [object()]",
]
WHOLE = [
    "",
    "\0",
    "def f(:\n",
    "x = " + "(" * 500,
    "x = " + "+".join(["1"] * 9000),
    "import torch\n",
    "class Model: pass\n",
    "\ufeff",
    "# only a comment\n",
    "Model = 5\nget_inputs = 5\nget_init_inputs = 5\n",
    "from torch.nn import Module as Model\ndef get_inputs(): return []\ndef get_init_inputs(): return []\n",
    "# -*- coding: latin-1 -*-\nx = 'é'\n",
    "# -*- coding: nonsense -*-\n",
    "if True:\n" + "\n".join(" " * i + "if True:" for i in range(1, 120)) + "\n" + " " * 120 + "pass\n",
]


def problem(chance: random.Random) -> str:
    """Mostly one fault at a time: two hide each other."""
    if chance.random() < 0.06:
        return chance.choice(WHOLE)
    parts = {
        "top": "",
        "init": "pass",
        "forward": "return 2 * x",
        "inputs": "return [torch.randn(64)]",
        "init_inputs": "return []",
    }
    lists = {"top": TOP, "init": INIT, "forward": FORWARD, "inputs": INPUTS, "init_inputs": INIT_INPUTS}
    for part in chance.sample(list(lists), chance.choice([1, 1, 1, 2])) if chance.random() < 0.95 else []:
        parts[part] = chance.choice(lists[part])
    if chance.random() < 0.3:
        parts["top"] = (
            "CASES = [dict(name='small', n=8, small=True), dict(name='large', n=64)]\nn = 64\n" + parts["top"]
        )
    return TEMPLATE.format(parameters=chance.choice(["", "", "", ", k=2"]), **parts)
