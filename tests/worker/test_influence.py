"""No more is derived than matters: each element that counts as read changes the output for some value.

Every element of every tensor is changed in turn, and those that make a difference are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from kernelwright.worker.bounds.work import least_work, taped
from kernelwright.worker.reference.instance import Instance


def r(*shape: int) -> Tensor:
    return torch.rand(*shape, generator=torch.Generator().manual_seed(sum(shape))) + 0.1


def ids(*numbers: int) -> Tensor:
    return torch.tensor(numbers)


def rotary(x: Tensor) -> Tensor:
    even, odd = x[..., ::2], x[..., 1::2]
    return torch.stack([even - 2 * odd, odd + 3 * even], -1).flatten(-2)[:, :2]


def last_position(x: Tensor, w: Tensor) -> Tensor:
    q, k, v = (x @ w).split(4, -1)
    return ((q @ k.transpose(-2, -1)).softmax(-1) @ v)[:, -1]


def cached(cache: Tensor, x: Tensor, at: Tensor) -> Tensor:
    made = cache.clone()
    made.index_copy_(1, at, x)
    return made[:, :4].sum(-1)


def experts(x: Tensor, w: Tensor, which: Tensor) -> Tensor:
    made = torch.zeros_like(x)
    for expert in range(2):
        made[which == expert] = x[which == expert] @ w[expert]
    return made


def recurrent(x: Tensor, w: Tensor) -> Tensor:
    state = torch.zeros(2, 4)
    for step in range(2):
        state = torch.tanh(x[:, step] @ w + state)
    return state


def in_place(x: Tensor) -> Tensor:
    made = x.clone()
    made.relu_()
    made[:, 0].mul_(2)
    return made[:, :2]


def set_rows(x: Tensor, y: Tensor) -> Tensor:
    made = x.clone()
    made[1:3] = y
    return made


FORWARDS: dict[str, tuple[Callable[..., Any], Sequence[Tensor]]] = {
    "rotary": (rotary, (r(2, 3, 4),)),
    "the last position of attention": (last_position, (r(2, 3, 5), r(5, 12))),
    "a cache that is written to": (cached, (r(2, 8, 3), r(2, 2, 3), ids(5, 1))),
    "experts": (experts, (r(4, 3), r(3, 3, 3), ids(0, 1, 1, 0))),
    "a recurrence": (recurrent, (r(2, 3, 5), r(5, 4))),
    "changes in place": (in_place, (r(3, 5),)),
    "rows that are set": (set_rows, (r(5, 3), r(2, 3))),
    "scattered": (lambda x, i, y: x.scatter(1, i, y), (r(2, 6), torch.tensor([[1, 2], [0, 5]]), r(2, 2))),
    "rolled": (lambda x: x.roll(1, 0)[0] * 2, (r(3, 4),)),
    "flipped": (lambda x: x.flip(0)[0], (r(3, 4),)),
    "padded": (lambda x: F.pad(x, (1, 2), value=7.0)[:, :3], (r(3, 4),)),
    "a triangle": (lambda x: x.tril(), (r(4, 4),)),
    "a mask as index": (lambda x, m: x[m] * 2, (r(4, 3), torch.tensor([True, False, True, False]))),
    "repeated": (lambda x: x.repeat(2, 1)[:1], (r(3, 4),)),
    "shuffled pixels": (lambda x: F.pixel_shuffle(x, 2)[..., :1], (r(1, 4, 2, 2),)),
    "nearest neighbours": (lambda x: F.interpolate(x, size=2), (r(1, 1, 6, 6),)),
    "indices in the middle": (lambda x, i, j: x[i, :, j][0], (r(4, 5, 6), ids(1, 2), ids(3, 3))),
    "negative indices": (lambda x, i: x[i], (r(9, 2), ids(-1, 8))),
    "indices of a topk": (lambda x: x.gather(1, x.topk(1)[1]), (r(3, 4),)),
    "bags": (lambda w, i, o: F.embedding_bag(i, w, o, mode="mean"), (r(9, 4), ids(1, 2, 2, 5), ids(0, 2))),
    "ignored targets": (lambda x, t: F.cross_entropy(x, t, reduction="sum"), (r(4, 6), ids(1, -100, 2, 3))),
    "weighted targets": (lambda x, t, w: F.nll_loss(x, t, w), (r(4, 6), ids(1, 0, 2, 2), r(6))),
    "targets of pixels": (lambda x, t: F.nll_loss(x, t, reduction="none"),
            (r(1, 4, 2, 2), torch.tensor([[[1, 0], [3, 2]]]))),
    "strided convolution": (lambda x, w: F.conv2d(x, w, stride=2), (r(1, 2, 5, 5), r(3, 2, 1, 1))),
    "dilated convolution of one row": (lambda x, w: F.conv2d(x, w, dilation=2)[:, :, :1],
            (r(1, 1, 6, 6), r(1, 1, 2, 2))),
    "strided pooling": (lambda x: F.avg_pool2d(x, 3, stride=4), (r(1, 1, 8, 8),)),
    "pooling of one channel": (lambda x: F.max_pool2d(x, 2)[:, :1], (r(2, 3, 4, 4),)),
    "start of a scan": (lambda x: x.cumsum(1)[:, 1:3], (r(3, 4),)),
    "one row of a reduction": (lambda x: x.mean((0, 2))[:1], (r(3, 4, 5),)),
    "one row of log-sum-exp": (lambda x: x.logsumexp(-1)[:1], (r(3, 4),)),
    "one query": (lambda q, k, v: F.scaled_dot_product_attention(q, k, v)[:, :, :1],
            (r(1, 2, 3, 8), r(1, 2, 4, 8), r(1, 2, 4, 8))),
    "one head of several": (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True)[:, :1],
                            (r(1, 4, 3, 8), r(1, 2, 4, 8), r(1, 2, 4, 8))),
    "one column of a product": (lambda b, x, w: torch.addmm(b, x, w)[:, :1], (r(5), r(3, 4), r(4, 5))),
    "one of a batch": (lambda b, x: torch.baddbmm(b, x, x)[:1], (r(3, 4, 4), r(3, 4, 4))),
    "one part of a split": (lambda x: x.split([1, 3], 1)[1].sum(1), (r(2, 4),)),
    "one row of a stack": (lambda x, y: torch.stack([x, y], 1)[:, 1], (r(4), r(4))),
    "normalised and looked up": (lambda w, i: F.embedding(i, F.normalize(w)), (r(9, 4), ids(1, 3))),
}  # fmt: skip


class Forward(nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Any) -> Any:
        return self.function(*inputs)


def influences(function: Callable[..., Any], inputs: Sequence[Tensor], at: int) -> int:
    """How many bytes of an input the output depends on; an index that becomes invalid counts, too."""
    expected, given, count = function(*inputs), inputs[at], 0
    for place in range(given.numel()):
        count += any(_differs(function, inputs, at, place, change, expected) for change in range(4))
    return count * given.element_size()


def _differs(
    function: Callable[..., Any], inputs: Sequence[Tensor], at: int, place: int, change: int, expected: Tensor
) -> bool:
    changed = inputs[at].clone()
    old = changed.view(-1)[place]
    if changed.is_floating_point():
        changed.view(-1)[place] = (old + 0.37, old - 0.61, -1000.5, 1000.0)[change]
    else:
        changed.view(-1)[place] = (old ^ 1, 0, 1, 2)[change]
    try:
        found = function(*inputs[:at], changed, *inputs[at + 1 :])
    except (IndexError, RuntimeError):
        return True
    return found.shape != expected.shape or not torch.equal(found, expected)


@pytest.mark.parametrize("name", FORWARDS)
def test_no_more_is_read_than_the_output_depends_on(name: str) -> None:
    function, inputs = FORWARDS[name]
    names = tuple(f"i{at}" for at in range(len(inputs)))
    work = least_work(taped(Instance(Forward(function).eval(), tuple(inputs), (), names, (), Path("problem.py"))))
    found = {read.name: read.bytes for read in work.reads}
    assert found == {f"input i{at}": influences(function, inputs, at) for at in range(len(inputs))}
