"""Interpolate rigid poses (translation and unit quaternion) between keyframes and move a point set by each."""

import torch
import torch.nn as nn


def slerp(q0, q1, t):
    dot = (q0 * q1).sum(-1, keepdim=True)
    q1 = torch.where(dot < 0, -q1, q1)
    dot = dot.abs().clamp(max=1.0)
    theta = torch.acos(dot.clamp(max=1 - 1e-7))
    s = torch.sin(theta)
    a = torch.sin((1 - t) * theta) / s
    b = torch.sin(t * theta) / s
    close = dot > 0.9995
    a = torch.where(close, 1 - t, a)
    b = torch.where(close, t, b)
    q = a * q0 + b * q1
    return q / q.norm(dim=-1, keepdim=True)


def quat_to_matrix(q):
    w, x, y, z = q.unbind(-1)
    return torch.stack(
        [
            1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
            2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
            2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y),
        ],
        dim=-1,
    ).view(*q.shape[:-1], 3, 3)


class Model(nn.Module):
    def forward(self, q0, q1, t0, t1, alpha, points):
        q0 = q0 / q0.norm(dim=-1, keepdim=True)
        q1 = q1 / q1.norm(dim=-1, keepdim=True)
        alpha = alpha[:, None]
        R = quat_to_matrix(slerp(q0, q1, alpha))
        t = torch.lerp(t0, t1, alpha)
        return torch.einsum("bij,bnj->bni", R, points) + t[:, None, :]


CASES = [
    dict(name="sweeps", dtype="float32", poses=1800, points=2048),
    dict(name="many_poses", dtype="float32", poses=200_000, points=12),
]


def get_inputs(poses=1800, points=2048):
    return [
        torch.randn(poses, 4),
        torch.randn(poses, 4),
        torch.randn(poses, 3) * 10,
        torch.randn(poses, 3) * 10,
        torch.rand(poses),
        torch.randn(poses, points, 3) * 5,
    ]


def get_init_inputs():
    return []
