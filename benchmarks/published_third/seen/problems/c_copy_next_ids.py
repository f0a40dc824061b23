"""New tokens written behind those that requests have, beyond their prompts."""

import torch
import torch.nn as nn

requests = 64
longest = 700

CASES = [
    dict(name="full", requests=64, longest=700),
    dict(name="odd", held_out=True, requests=7, longest=77),
    dict(name="small", small=True, requests=3, longest=12),
]

MUTATES = ("all_ids",)


class Model(nn.Module):
    def forward(self, all_ids, cached, lengths, prompts, next_ids, accepted):
        at = torch.arange(all_ids.shape[1], device=all_ids.device)
        behind = at - (cached + lengths)[:, None]
        count = (accepted[1:] - accepted[:-1])[:, None]
        inside = (behind >= 0) & (behind < count) & (at >= prompts[:, None])
        source = torch.where(inside, accepted[:-1, None] + behind, 0)
        all_ids.copy_(torch.where(inside, next_ids[source], all_ids))


def get_inputs():
    accepted = torch.cat([torch.zeros(1, dtype=torch.int64), (torch.arange(requests) % 3 + 1).cumsum(0)])
    return [
        torch.randint(0, 9999, (requests, longest)),
        torch.arange(requests) % (longest // 3),
        torch.arange(requests) % 4 + 1,
        torch.arange(requests) % (longest // 2),
        torch.randint(0, 9999, (3 * requests,)),
        accepted,
    ]


def get_init_inputs():
    return []
